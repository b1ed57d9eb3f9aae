//! Tests beginning the branch and merging tasks one after another.

use super::{Scene, line};
use drive_adapters::verify::GitCandidates;
use drive_core::cruise::train::{Conflict, Coupled};
use drive_core::ids::{CommitSha, TaskId};
use drive_core::problem::Kind;
use drive_core::run::{CarOrder, LineAct, LineAnswer};
use drive_engine::verify::{Candidates, Merging};
use std::path::PathBuf;

#[test]
fn a_line_begins_here_and_on_its_remote_and_beginning_it_again_finds_it() {
    for remote in [None, Some("origin")] {
        let scene = Scene::new();
        let line = line(remote);
        scene.begin(&line);
        scene.begin(&line);
        assert_eq!(scene.local("cruise").as_ref(), Some(&scene.base));
        let expected = remote.map(|_| scene.base.clone());
        assert_eq!(scene.remote("cruise"), expected);
        // After a landing it is still the same line.
        let car = scene.task("a", &scene.base, &[("a.txt", "new\n")]);
        let made = scene.assembled(&scene.base, &[&car]);
        let landed = scene.act(&scene.land(&line, &scene.base, &made[0]));
        assert_eq!(landed, LineAnswer::CarsLanded);
        scene.begin(&line);
        assert_eq!(scene.local("cruise").as_ref(), Some(&made[0].commit));
    }
}

#[test]
fn a_line_that_was_made_here_before_a_crash_is_pushed() {
    let scene = Scene::new();
    scene.world.git(["branch", "cruise", &scene.base]);
    scene.begin(&line(Some("origin")));
    assert_eq!(scene.remote("cruise").as_ref(), Some(&scene.base));
}

#[test]
fn a_branch_elsewhere_is_not_taken_for_the_line() {
    for on_remote in [false, true] {
        let scene = Scene::new();
        scene.world.write("a.txt", "later\n");
        let at = CommitSha::new(scene.world.commit("later"));
        let refspec = format!("{}:refs/heads/cruise", scene.base);
        if on_remote {
            scene.world.git(["push", "-q", "origin", &refspec]);
        } else {
            scene.world.git(["branch", "cruise", &scene.base]);
        }
        let begin = LineAct::BeginLine {
            line: line(Some("origin")),
            at,
        };
        let problem = scene.try_act(&begin).unwrap_err();
        assert_eq!(problem.kind, Kind::BranchExists);
        let (local, remote) = (scene.local("cruise"), scene.remote("cruise"));
        assert_eq!([local.is_some(), remote.is_some()], [!on_remote, on_remote]);
    }
}

#[test]
fn cars_are_merged_one_on_another_into_the_trees_that_the_verifier_makes() {
    let scene = Scene::new();
    let one = scene.task("one", &scene.base, &[("a.txt", "one\n")]);
    let two = scene.task("two", &scene.base, &[("src/b.txt", "two\n")]);
    let before = scene.world.git(["for-each-ref"]);
    let made = scene.assembled(&scene.base, &[&one, &two]);

    let world = &scene.world;
    let scratch = world.path().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let candidates = GitCandidates::new(world.builder(), &scratch);
    let verified = |base: &CommitSha, head: &CommitSha| match candidates
        .merge(&world.repo, base, head)
        .unwrap()
    {
        Merging::Clean { tree, .. } => tree,
        Merging::Conflicts(files) => panic!("{files:?}"),
    };
    let mut tip = scene.base.clone();
    for (car, order) in made.iter().zip([&one, &two]) {
        assert_eq!((&car.task, &car.head), (&order.task, &order.head));
        assert_eq!(verified(&tip, &car.head), car.tree);
        assert_eq!(verified(&scene.base, &car.commit), car.tree);
        let parents = world.git(["show", "-s", "--format=%P", &car.commit]);
        assert_eq!(parents, format!("{tip} {}", car.head));
        tip = car.commit.clone();
    }
    let format = "--format=%an|%s|%(trailers:separator=%x2c)";
    let said = world.git(["show", "-s", format, &tip]);
    assert_eq!(said, "Ann|Merge task `two`: Do two|Drive-Run: r-1");
    // No branch, index or file changed.
    assert_eq!(world.git(["for-each-ref"]), before);
    assert_eq!(world.git(["status", "--porcelain"]), "");

    // A repetition gives the same commits, whatever the time is.
    assert_eq!(scene.assembled(&scene.base, &[&one, &two]), made);
}

#[test]
fn a_title_does_not_act_on_the_forge_and_is_one_line() {
    let scene = Scene::new();
    let mut car = scene.task("one", &scene.base, &[("a.txt", "one\n")]);
    car.title = "Ask @ann\n\nSigned-off-by: x\nCloses #12".to_owned();
    let made = scene.assembled(&scene.base, &[&car]);
    let said = scene
        .world
        .git(["show", "-s", "--format=%B", &made[0].commit]);
    assert_eq!(
        said.trim_end(),
        "Merge task `one`: Ask @ ann Signed-off-by: x Closes issue 12\n\nDrive-Run: r-1"
    );
}

#[test]
fn the_first_car_that_conflicts_stops_the_train_and_those_before_it_stay() {
    let scene = Scene::new();
    let one = scene.task("one", &scene.base, &[("a.txt", "one\n")]);
    let two = scene.task("two", &scene.base, &[("a.txt", "two\n"), ("b", "b\n")]);
    let three = scene.task("three", &scene.base, &[("c", "c\n")]);
    let LineAnswer::Assembled { cars, conflict } =
        scene.assemble(&scene.base, &[&one, &two, &three])
    else {
        panic!("assembled");
    };
    assert_eq!(cars, scene.assembled(&scene.base, &[&one]));
    let expected = Conflict {
        task: TaskId::new("two"),
        files: vec!["a.txt".to_owned()],
        with: vec![TaskId::new("one")],
    };
    assert_eq!(conflict, Some(expected));
}

#[test]
fn a_head_that_is_contained_already_adds_no_commit() {
    let scene = Scene::new();
    let one = scene.task("one", &scene.base, &[("a.txt", "one\n")]);
    let two = scene.task("two", &one.head, &[("b", "b\n")]);
    let made = scene.assembled(&scene.base, &[&two, &one]);
    assert_eq!(made[1].commit, made[0].commit);
    assert_eq!(made[1].tree, made[0].tree);
    assert_eq!(made[1].task, TaskId::new("one"));
}

#[test]
fn no_setting_or_attribute_of_the_user_changes_what_a_merge_gives() {
    // One side renames a long file, the other changes a line of it.
    let text: String = (0..40).map(|line| format!("line {line}\n")).collect();
    let scene = Scene::new();
    scene.world.write("old.txt", &text);
    let base = CommitSha::new(scene.world.commit("long"));
    let changed = text.replace("line 7\n", "line seven\n");
    let one = scene.task("one", &base, &[("old.txt", &changed)]);
    scene.world.git(["checkout", "-q", "--detach", &base]);
    scene.world.git(["mv", "old.txt", "new.txt"]);
    let head = CommitSha::new(scene.world.commit("two"));
    scene.world.git(["checkout", "-q", "main"]);
    let two = CarOrder {
        head,
        ..one.clone()
    };
    let clash = [
        scene.task("three", &base, &[("a.txt", "three\n")]),
        scene.task("four", &base, &[("a.txt", "four\n")]),
    ];
    let clash = || scene.assemble(&base, &[&clash[0], &clash[1]]);
    let (plain, refused) = (scene.assembled(&base, &[&one, &two]), clash());

    for (key, value) in [
        ("merge.renames", "false"),
        ("diff.renames", "false"),
        ("merge.renameLimit", "1"),
        ("merge.directoryRenames", "false"),
        ("merge.default", "union"),
        ("diff.algorithm", "patience"),
        ("merge.conflictStyle", "diff3"),
    ] {
        scene.world.git(["config", "--global", key, value]);
    }
    let attributes = scene.world.home().join("attributes");
    std::fs::write(&attributes, "*.txt merge=union\n").unwrap();
    let attributes = attributes.to_str().unwrap();
    scene
        .world
        .git(["config", "--global", "core.attributesFile", attributes]);
    // An attribute that is not committed on the line has no effect either.
    scene.world.write(".gitattributes", "*.txt merge=union\n");
    assert_eq!(scene.assembled(&base, &[&one, &two]), plain);
    assert_eq!(clash(), refused);
}

#[test]
fn a_train_is_assembled_in_a_bare_repository_and_in_a_linked_worktree() {
    let scene = Scene::new();
    let one = scene.task("one", &scene.base, &[("a.txt", "one\n")]);
    let two = scene.task("two", &scene.base, &[("b", "b\n")]);
    let expected = scene.assembled(&scene.base, &[&one, &two]);
    let linked = scene.world.path().join("linked");
    let at = linked.to_str().unwrap();
    scene.world.git(["worktree", "add", "-q", "--detach", at]);
    let places: [PathBuf; 2] = [linked, scene.world.repo.join(".git")];
    for repo in places {
        let mut elsewhere = Scene::new();
        elsewhere.base = scene.base.clone();
        elsewhere.world.repo = repo;
        let made = elsewhere.assembled(&scene.base, &[&one, &two]);
        let trees = |cars: &[Coupled]| cars.iter().map(|car| car.tree.clone()).collect::<Vec<_>>();
        assert_eq!(trees(&made), trees(&expected));
    }
}
