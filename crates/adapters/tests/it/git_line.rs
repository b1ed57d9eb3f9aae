//! The branch that tasks land on, against real git: merges without a checkout, and compare-and-swap.

use crate::support::World;
use drive_adapters::verify::GitCandidates;
use drive_core::forge::inert::Said;
use drive_core::ids::{BranchName, CommitSha, RemoteName, RunId, TaskId, TreeSha};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{BranchAt, CarOrder, Conflict, Coupled, LineAct, LineAnswer};
use drive_core::secrets::SecretPolicy;
use drive_engine::CancelToken;
use drive_engine::perform::{Line, OnLine};
use drive_engine::verify::{Candidates, Merging};
use std::path::PathBuf;

/// A repository with a bare remote `origin`, both with `main` at the first commit.
struct Scene {
    world: World,
    base: CommitSha,
    secrets: SecretPolicy,
}

impl Scene {
    fn new() -> Self {
        let world = World::new();
        let remote = world.path().join("remote.git");
        let remote = remote.to_str().unwrap();
        world.git(["init", "-q", "--bare", remote]);
        world.git(["remote", "add", "origin", remote]);
        world.git(["push", "-q", "origin", "main"]);
        let base = CommitSha::new(world.git(["rev-parse", "HEAD"]));
        Self {
            world,
            base,
            secrets: SecretPolicy::default(),
        }
    }

    fn try_act(&self, act: &LineAct) -> Result<OnLine, Problem> {
        let (git, run) = (self.world.builder(), RunId::new("r-1"));
        Line {
            history: &git,
            gate: None,
            secrets: &self.secrets,
            repo: &self.world.repo,
            run: &run,
            said: Said::default(),
            base: &self.base,
            merged: None,
            cancel: &CancelToken::new(),
        }
        .act(act)
    }

    fn act(&self, act: &LineAct) -> LineAnswer {
        let OnLine { answer, warning } = self.try_act(act).unwrap();
        assert_eq!(warning, None);
        answer
    }

    /// A task that changes these files, from a commit on.
    fn task(&self, name: &str, from: &CommitSha, files: &[(&str, &str)]) -> CarOrder {
        let world = &self.world;
        world.git(["checkout", "-q", "--detach", from]);
        for (path, text) in files {
            world.write(path, text);
        }
        let head = CommitSha::new(world.commit(name));
        world.git(["branch", "-f", &format!("task/{name}"), &head]);
        world.git(["checkout", "-q", "main"]);
        CarOrder {
            task: TaskId::new(name),
            title: format!("Do {name}"),
            head,
        }
    }

    fn assemble(&self, onto: &CommitSha, cars: &[&CarOrder]) -> LineAnswer {
        let cars = cars.iter().map(|car| (*car).clone()).collect();
        let onto = onto.clone();
        self.act(&LineAct::Assemble { onto, cars })
    }

    fn assembled(&self, onto: &CommitSha, cars: &[&CarOrder]) -> Vec<Coupled> {
        match self.assemble(onto, cars) {
            LineAnswer::Assembled {
                cars,
                conflict: None,
            } => cars,
            other => panic!("{other:?}"),
        }
    }

    fn local(&self, branch: &str) -> Option<CommitSha> {
        let found = self
            .world
            .git(["branch", "--list", "--format=%(objectname)", branch]);
        CommitSha::parse(&found)
    }

    fn remote(&self, branch: &str) -> Option<CommitSha> {
        let full = format!("refs/heads/{branch}");
        let found = self.world.git(["ls-remote", "origin", &full]);
        CommitSha::parse(found.split('\t').next().unwrap())
    }

    fn begin(&self, line: &BranchAt) {
        let (line, at) = (line.clone(), self.base.clone());
        let begun = self.act(&LineAct::BeginLine { line, at });
        assert_eq!(begun, LineAnswer::LineBegun);
    }

    fn land(&self, line: &BranchAt, from: &CommitSha, car: &Coupled) -> LineAct {
        LineAct::Land {
            line: line.clone(),
            from: from.clone(),
            commit: car.commit.clone(),
            tree: car.tree.clone(),
        }
    }

    /// What the remote's hook prints and answers before it takes a push.
    fn remote_hook(&self, script: &str) {
        let path = self.world.path().join("remote.git/hooks/update");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).unwrap();
    }
}

fn line(remote: Option<&str>) -> BranchAt {
    BranchAt {
        remote: remote.map(|name| RemoteName::parse(name).unwrap()),
        branch: BranchName::parse("cruise").unwrap(),
    }
}

fn moved(tip: Option<&CommitSha>) -> LineAnswer {
    LineAnswer::LineMoved { tip: tip.cloned() }
}

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

    // Once more gives the same commits, whatever the time is.
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
    // One side renames a long file, the other one changes a line of it.
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
    // An attribute that is not committed in the line counts for nothing either.
    scene.world.write(".gitattributes", "*.txt merge=union\n");
    assert_eq!(scene.assembled(&base, &[&one, &two]), plain);
    assert_eq!(clash(), refused);
}

#[test]
fn a_landing_moves_the_line_here_and_on_its_remote() {
    for remote in [None, Some("origin")] {
        let scene = Scene::new();
        let line = line(remote);
        scene.begin(&line);
        let one = scene.task("one", &scene.base, &[("a.txt", "one\n")]);
        let two = scene.task("two", &scene.base, &[("b", "b\n")]);
        let made = scene.assembled(&scene.base, &[&one, &two]);
        let land = scene.land(&line, &scene.base, &made[1]);
        // The second time finds it landed.
        for _ in 0..2 {
            assert_eq!(scene.act(&land), LineAnswer::CarsLanded);
            assert_eq!(scene.local("cruise").as_ref(), Some(&made[1].commit));
            let there = scene.remote("cruise");
            assert_eq!(there, remote.map(|_| made[1].commit.clone()));
        }
    }
}

#[test]
fn a_line_that_somebody_moved_is_not_moved() {
    for remote in [None, Some("origin")] {
        let scene = Scene::new();
        let line = line(remote);
        scene.begin(&line);
        let one = scene.task("one", &scene.base, &[("a.txt", "one\n")]);
        let theirs = scene.task("theirs", &scene.base, &[("b", "b\n")]).head;
        let made = scene.assembled(&scene.base, &[&one]);
        let land = scene.land(&line, &scene.base, &made[0]);
        let put = |tip: &str| match remote {
            Some(_) => {
                scene
                    .world
                    .git(["push", "-qf", "origin", &format!("{tip}:refs/heads/cruise")])
            }
            None => scene.world.git(["branch", "-qf", "cruise", tip]),
        };
        let tip = || match remote {
            Some(_) => scene.remote("cruise"),
            None => scene.local("cruise"),
        };
        put(&theirs);
        assert_eq!(scene.act(&land), moved(Some(&theirs)));
        assert_eq!(tip().as_ref(), Some(&theirs));
        // One that is on top of what landed is one that moved as well.
        let on_top = scene.task("later", &made[0].commit, &[("c", "c\n")]).head;
        put(&on_top);
        assert_eq!(scene.act(&land), moved(Some(&on_top)));
        assert_eq!(tip().as_ref(), Some(&on_top));
        // One that is gone is not made again.
        match remote {
            Some(_) => scene.world.git(["push", "-q", "origin", ":cruise"]),
            None => scene.world.git(["branch", "-qD", "cruise"]),
        };
        assert_eq!(scene.act(&land), moved(None));
        assert_eq!(tip(), None);
    }
}

#[test]
fn a_push_that_comes_between_the_look_and_the_landing_wins() {
    let scene = Scene::new();
    let line = line(Some("origin"));
    scene.begin(&line);
    let one = scene.task("one", &scene.base, &[("a.txt", "one\n")]);
    let theirs = scene.task("theirs", &scene.base, &[("b", "b\n")]).head;
    let made = scene.assembled(&scene.base, &[&one]);
    scene.world.git(["push", "-q", "origin", "task/theirs"]);
    // The remote moves the branch itself while it takes the push.
    scene.remote_hook(&format!(
        "test \"$1\" = refs/heads/cruise || exit 0\n\
         git update-ref refs/heads/cruise {theirs} {}",
        scene.base
    ));
    let land = scene.land(&line, &scene.base, &made[0]);
    assert_eq!(scene.act(&land), moved(Some(&theirs)));
    assert_eq!(scene.remote("cruise").as_ref(), Some(&theirs));
    assert_eq!(scene.local("cruise").as_ref(), Some(&scene.base));
}

#[test]
fn a_remote_that_refuses_is_a_problem_with_its_reason_and_nothing_moves() {
    let scene = Scene::new();
    let line = line(Some("origin"));
    scene.begin(&line);
    let one = scene.task("one", &scene.base, &[("a.txt", "one\n")]);
    let made = scene.assembled(&scene.base, &[&one]);
    scene.remote_hook("echo 'reviews first' >&2\nexit 1");
    let problem = scene
        .try_act(&scene.land(&line, &scene.base, &made[0]))
        .unwrap_err();
    assert_eq!(problem.kind, Kind::PushRefused);
    assert!(
        format!("{problem:?}").contains("reviews first"),
        "{problem:?}"
    );
    assert_eq!(scene.remote("cruise").as_ref(), Some(&scene.base));
    assert_eq!(scene.local("cruise").as_ref(), Some(&scene.base));
}

#[test]
fn a_crash_between_the_push_and_the_move_here_is_mended_by_landing_again() {
    let scene = Scene::new();
    let line = line(Some("origin"));
    scene.begin(&line);
    let one = scene.task("one", &scene.base, &[("a.txt", "one\n")]);
    let made = scene.assembled(&scene.base, &[&one]);
    let refspec = format!("{}:refs/heads/cruise", made[0].commit);
    scene.world.git(["push", "-q", "origin", &refspec]);
    assert_eq!(scene.local("cruise").as_ref(), Some(&scene.base));
    let land = scene.land(&line, &scene.base, &made[0]);
    assert_eq!(scene.act(&land), LineAnswer::CarsLanded);
    assert_eq!(scene.local("cruise").as_ref(), Some(&made[0].commit));
}

#[test]
fn a_line_that_is_checked_out_here_is_not_moved_under_its_files() {
    for remote in [None, Some("origin")] {
        let scene = Scene::new();
        let line = line(remote);
        scene.begin(&line);
        let one = scene.task("one", &scene.base, &[("a.txt", "one\n")]);
        let made = scene.assembled(&scene.base, &[&one]);
        scene.world.git(["checkout", "-q", "cruise"]);
        let land = scene.land(&line, &scene.base, &made[0]);
        let folder = scene.world.repo.display().to_string();
        match (scene.try_act(&land), remote) {
            (Err(problem), None) => {
                assert_eq!(problem.kind, Kind::BranchInUse);
                let hint = format!("check out another branch there: `git -C '{folder}' switch -`");
                assert_eq!(problem.hint, Some(hint));
            }
            // The remote decides: the line landed.
            (Ok(OnLine { answer, warning }), Some(_)) => {
                assert_eq!(answer, LineAnswer::CarsLanded);
                assert!(warning.unwrap().contains(&folder));
                assert_eq!(scene.remote("cruise").as_ref(), Some(&made[0].commit));
            }
            (other, _) => panic!("{other:?}"),
        }
        assert_eq!(scene.local("cruise").as_ref(), Some(&scene.base));
        assert_eq!(scene.world.git(["status", "--porcelain"]), "");
        // Once the checkout is elsewhere, landing again moves it.
        scene.world.git(["checkout", "-q", "main"]);
        assert_eq!(scene.act(&land), LineAnswer::CarsLanded);
        assert_eq!(scene.local("cruise").as_ref(), Some(&made[0].commit));
    }
}

#[test]
fn a_branch_with_a_persons_commits_here_stays_while_the_remote_lands() {
    let scene = Scene::new();
    let line = line(Some("origin"));
    scene.begin(&line);
    let one = scene.task("one", &scene.base, &[("a.txt", "one\n")]);
    let theirs = scene.task("theirs", &scene.base, &[("b", "b\n")]).head;
    let made = scene.assembled(&scene.base, &[&one]);
    scene.world.git(["branch", "-qf", "cruise", &theirs]);
    let land = scene.land(&line, &scene.base, &made[0]);
    let OnLine { answer, warning } = scene.try_act(&land).unwrap();
    assert_eq!(answer, LineAnswer::CarsLanded);
    assert!(warning.unwrap().contains("has other commits here"));
    assert_eq!(scene.local("cruise"), Some(theirs));
    assert_eq!(scene.remote("cruise").as_ref(), Some(&made[0].commit));
}

#[test]
fn only_the_verified_tree_on_top_of_the_line_lands() {
    let scene = Scene::new();
    let line = line(Some("origin"));
    scene.begin(&line);
    let one = scene.task("one", &scene.base, &[("a.txt", "one\n")]);
    let two = scene.task("two", &scene.base, &[("b", "b\n")]);
    let made = scene.assembled(&scene.base, &[&one, &two]);
    let other_tree = Coupled {
        tree: made[0].tree.clone(),
        ..made[1].clone()
    };
    let tree = scene
        .world
        .git(["rev-parse", &format!("{}^{{tree}}", two.head)]);
    let elsewhere = Coupled {
        commit: two.head.clone(),
        tree: TreeSha::parse(&tree).unwrap(),
        ..made[1].clone()
    };
    for (from, car, said) in [
        (&scene.base, other_tree, "not the verified"),
        (&one.head, elsewhere, "does not build on"),
    ] {
        let refspec = format!("{from}:refs/heads/cruise");
        scene.world.git(["push", "-qf", "origin", &refspec]);
        let problem = scene.try_act(&scene.land(&line, from, &car)).unwrap_err();
        assert_eq!(problem.kind, Kind::NotMerged);
        assert!(problem.message.contains(said), "{problem}");
        assert_eq!(scene.remote("cruise").as_ref(), Some(from));
        assert_eq!(scene.local("cruise").as_ref(), Some(&scene.base));
    }
}

#[test]
fn a_secret_in_a_car_is_not_pushed() {
    let mut scene = Scene::new();
    let secret = "correct-horse-battery".to_owned();
    scene.secrets = SecretPolicy::new(&[secret.clone()], &[]).unwrap();
    let line = line(Some("origin"));
    scene.begin(&line);
    let mut one = scene.task("one", &scene.base, &[("key", &format!("{secret}\n"))]);
    one.title = format!("Use {secret}");
    let made = scene.assembled(&scene.base, &[&one]);
    let message = scene
        .world
        .git(["show", "-s", "--format=%B", &made[0].commit]);
    assert!(!message.contains(&secret), "{message}");
    let problem = scene
        .try_act(&scene.land(&line, &scene.base, &made[0]))
        .unwrap_err();
    assert_eq!(problem.kind, Kind::SecretInCommit);
    assert_eq!(scene.remote("cruise").as_ref(), Some(&scene.base));
    assert_eq!(scene.local("cruise").as_ref(), Some(&scene.base));
}

#[test]
fn a_line_begins_in_a_bare_repository_and_in_a_linked_worktree() {
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
