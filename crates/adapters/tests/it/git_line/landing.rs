//! Tests moving the branch, and leaving it where others moved it.

use super::{Scene, line};
use drive_core::cruise::train::Coupled;
use drive_core::ids::{CommitSha, TreeSha};
use drive_core::problem::Kind;
use drive_core::run::LineAnswer;
use drive_core::secrets::SecretPolicy;
use drive_engine::perform::OnLine;

fn moved(tip: Option<&CommitSha>) -> LineAnswer {
    LineAnswer::LineMoved {
        tip: tip.cloned(),
        is_rewritten: false,
    }
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
        // The second attempt finds that it has landed.
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
        // A branch that is ahead of the landed commit has moved as well.
        let on_top = scene.task("later", &made[0].commit, &[("c", "c\n")]).head;
        put(&on_top);
        assert_eq!(scene.act(&land), moved(Some(&on_top)));
        assert_eq!(tip().as_ref(), Some(&on_top));
        // A deleted branch is not created again.
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
    // The remote moves the branch itself while it accepts the push.
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
        // After the checkout has switched to another branch, landing again moves it.
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
    scene.secrets = SecretPolicy::new(std::slice::from_ref(&secret), &[]).unwrap();
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
