//! Tests that a damaged sandbox is repaired before an agent works in it, if it is proven to be drive's.

use crate::support::{World, write};
use drive_core::ids::CommitSha;
use drive_core::sandbox::Sandbox;
use drive_engine::ports::{Place, Sandboxes, VersionControl};
use std::fs;

/// A sandbox with its own commit, which drive has seen.
fn worked_in(world: &World, sandboxes: &dyn Sandboxes) -> (Sandbox, String) {
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("new.txt"), "work\n");
    world.git_in(&sandbox.path, ["add", "new.txt"]);
    world.git_in(&sandbox.path, ["commit", "--quiet", "--message=Mine"]);
    let state = world.builder().state(Place::Sandbox(&sandbox)).unwrap();
    (sandbox, state.head_sha.to_string())
}

/// Asserts that nothing is missing, and that git sees no changes.
fn is_whole(world: &World, sandbox: &Sandbox, head: &str) {
    assert_eq!(world.git_in(&sandbox.path, ["rev-parse", "HEAD"]), head);
    assert_eq!(
        world.git_in(&sandbox.path, ["symbolic-ref", "HEAD"]),
        "refs/heads/drive/one"
    );
    assert_eq!(world.git_in(&sandbox.path, ["status", "--porcelain"]), "");
    assert!(sandbox.path.join("new.txt").is_file());
}

fn filled(sandbox: &Sandbox) -> String {
    format!(
        "`{}` was empty; its files were restored from the branch",
        sandbox.path.display()
    )
}

#[test]
fn one_that_nobody_touched_stays_as_it_is_with_what_is_not_committed() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let (sandbox, head) = worked_in(&world, &sandboxes);
    write(&sandbox.path.join("new.txt"), "changed\n");
    let nothing: Vec<String> = Vec::new();
    assert_eq!(
        sandboxes
            .make_whole(&sandbox, Some(&CommitSha::new(&head)))
            .unwrap(),
        nothing
    );
    let text = fs::read_to_string(sandbox.path.join("new.txt")).unwrap();
    assert_eq!(text, "changed\n");
}

#[test]
fn a_folder_that_is_gone_or_empty_is_filled_from_its_branch() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let (sandbox, head) = worked_in(&world, &sandboxes);
    fs::remove_dir_all(&sandbox.path).unwrap();
    let notes = sandboxes
        .make_whole(&sandbox, Some(&CommitSha::new(&head)))
        .unwrap();
    assert_eq!(notes, [filled(&sandbox)]);
    is_whole(&world, &sandbox, &head);
    for name in ["a.txt", "src", "new.txt", ".git"] {
        let path = sandbox.path.join(name);
        fs::remove_dir_all(&path)
            .or_else(|_| fs::remove_file(&path))
            .unwrap();
    }
    let notes = sandboxes.make_whole(&sandbox, None).unwrap();
    assert_eq!(notes, [filled(&sandbox)]);
    is_whole(&world, &sandbox, &head);
}

#[test]
fn a_branch_that_is_gone_is_made_again_where_it_was() {
    let world = World::new();
    let sandboxes = world.sandboxes();
    let (sandbox, head) = worked_in(&world, &sandboxes);
    let told = |tip: &str| {
        vec![format!(
            "branch `drive/one` was deleted; it was recreated at {tip}"
        )]
    };
    world.git(["update-ref", "-d", "refs/heads/drive/one"]);
    assert_eq!(sandboxes.make_whole(&sandbox, None).unwrap(), told(&head));
    is_whole(&world, &sandbox, &head);
    // If both lost it, the sandbox's log or the caller knows it; otherwise it is the base.
    for (has_log, known, tip) in [
        (true, None, head.as_str()),
        (false, Some(head.as_str()), head.as_str()),
        (false, None, &sandbox.base_sha),
    ] {
        world.git(["update-ref", "-d", "refs/heads/drive/one"]);
        world.git_in(&sandbox.path, ["update-ref", "-d", "refs/heads/drive/one"]);
        if !has_log {
            let _ = fs::remove_file(sandbox.path.join(".git/logs/HEAD"));
        }
        let known = known.map(CommitSha::new);
        let notes = sandboxes.make_whole(&sandbox, known.as_ref()).unwrap();
        assert_eq!(notes[0], "the agent left no commit checked out");
        assert_eq!(notes[1..], told(tip));
        assert_eq!(world.git(["rev-parse", "drive/one"]), tip);
    }
}
