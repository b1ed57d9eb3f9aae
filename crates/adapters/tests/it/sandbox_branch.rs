//! Tests that the user's branch follows a sandbox's branch, unless it is checked out or others moved it.

use crate::support::{World, write};
use drive_core::ids::{CommitSha, RunId};
use drive_core::sandbox::Sandbox;
use drive_engine::ports::{Leftovers, OwnBranch, Place, Sandboxes, UsersBranch, VersionControl};

/// Commits one more file in the sandbox, and returns what happened to the user's branch.
fn works(world: &World, sandbox: &Sandbox, file: &str) -> OwnBranch {
    write(&sandbox.path.join(file), "new\n");
    let leftovers = Leftovers {
        run: RunId::new("r-one"),
        message: format!("add {file}"),
    };
    let place = Place::Sandbox(sandbox);
    let work = world
        .builder()
        .collect_work(place, &leftovers, &sandbox.base_sha)
        .unwrap();
    work.state.own.unwrap()
}

fn users(world: &World) -> CommitSha {
    CommitSha::new(world.git(["rev-parse", "drive/one"]))
}

/// A commit of a person on the branch, made without a checkout.
fn persons(world: &World) -> CommitSha {
    let commit = world.git([
        "commit-tree",
        "-p",
        "drive/one",
        "-m",
        "hers",
        "drive/one^{tree}",
    ]);
    world.git(["update-ref", "refs/heads/drive/one", &commit]);
    users(world)
}

#[test]
fn a_checkout_of_the_branch_stays_as_it_is_and_catches_up_once_it_is_left() {
    let world = World::new();
    let sandbox = world.sandboxes().create(&world.spec("one")).unwrap();
    world.git(["checkout", "-q", "drive/one"]);
    let before = users(&world);
    let (first, second) = (
        works(&world, &sandbox, "x.txt"),
        works(&world, &sandbox, "y.txt"),
    );
    for own in [&first, &second] {
        assert!(
            matches!(own.users, UsersBranch::CheckedOut { .. }),
            "{own:?}"
        );
    }
    assert_eq!(users(&world), before);
    assert_eq!(world.git(["status", "--porcelain"]), "");
    // The transferred objects survive a garbage collection although no branch contains them.
    world.git(["gc", "-q", "--prune=now"]);
    world.git(["cat-file", "-e", &second.tip]);
    world.git(["checkout", "-q", "main"]);
    let third = works(&world, &sandbox, "z.txt");
    assert_eq!(third.users, UsersBranch::Follows);
    assert_eq!(users(&world), third.tip);
}

#[test]
fn a_branch_that_follows_late_counts_as_the_sandboxs_own_when_it_is_put_back() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    world.git(["checkout", "-q", "drive/one"]);
    let first = works(&world, &sandbox, "x.txt");
    works(&world, &sandbox, "y.txt");
    world.git(["checkout", "-q", "main"]);
    sandboxes.roll_back(&sandbox, &first.tip).unwrap();
    assert_eq!(users(&world), first.tip);
}

#[test]
fn commits_of_somebody_else_are_told_and_never_dropped() {
    let world = World::new();
    let sandbox = world.sandboxes().create(&world.spec("one")).unwrap();
    let first = works(&world, &sandbox, "x.txt");
    let git = world.builder();
    assert_eq!(git.users_tip(&sandbox, &first.tip).unwrap(), None);
    let hers = persons(&world);
    assert_eq!(
        git.users_tip(&sandbox, &first.tip).unwrap(),
        Some(hers.clone())
    );
    let second = works(&world, &sandbox, "y.txt");
    assert_eq!(second.users, UsersBranch::Moved { to: hers.clone() });
    assert_eq!(users(&world), hers);
    // Nor when the sandbox is rolled back.
    let sandboxes = world.sandboxes();
    sandboxes.roll_back(&sandbox, &first.tip).unwrap();
    assert_eq!(users(&world), hers);
    // Once the sandbox contains the person's commits too, the branch follows again.
    sandboxes.roll_back(&sandbox, &hers).unwrap();
    let third = works(&world, &sandbox, "z.txt");
    assert_eq!(third.users, UsersBranch::Follows);
    assert_eq!(users(&world), third.tip);
}
