//! Tests repositories whose refs are in tables instead of files.

use crate::support::{World, write};
use drive_core::ids::{CommitSha, RunId};
use drive_core::sandbox::{InProgress, Sandbox};
use drive_engine::ports::{Leftovers, Place, Sandboxes, VersionControl};

/// A repository with tables; `None` if this git does not support them.
fn tabled() -> Option<World> {
    let world = World::empty();
    let init = ["init", "-q", "-b", "main", "--ref-format=reftable", "."];
    if !world.command(&world.repo, init).status().unwrap().success() {
        eprintln!("skipped: this git has no reftable");
        return None;
    }
    world.write("a.txt", "a\n");
    world.commit("first");
    Some(world)
}

/// Leaves an unfinished operation, after a conflict in `a.txt`.
fn clash(world: &World, sandbox: &Sandbox, operation: &[String]) {
    let output = world.command(&sandbox.path, operation).output().unwrap();
    assert!(!output.status.success(), "{operation:?} must conflict");
    let text = std::fs::read_to_string(sandbox.path.join("a.txt")).unwrap();
    assert!(text.contains("<<<<<<<"), "{operation:?}: {text}");
}

#[test]
fn what_was_left_half_done_is_seen_and_kept_and_no_marker_is_committed() {
    for (operation, what) in [
        (&["cherry-pick", "UPSTREAM"][..], InProgress::CherryPick),
        (&["revert", "--no-edit", "HEAD^"], InProgress::Revert),
        (&["merge", "-q", "UPSTREAM"], InProgress::Merge),
    ] {
        let Some(world) = tabled() else {
            return;
        };
        let sandboxes = world.sandboxes();
        let sandbox = sandboxes.create(&world.spec("one")).unwrap();
        for text in ["agent\n", "agent again\n"] {
            write(&sandbox.path.join("a.txt"), text);
            world.git_in(&sandbox.path, ["commit", "-qam", "agent"]);
        }
        world.write("a.txt", "upstream\n");
        let upstream = world.commit("upstream");
        let operation: Vec<String> = operation
            .iter()
            .map(|word| word.replace("UPSTREAM", &upstream))
            .collect();
        clash(&world, &sandbox, &operation);
        let leftovers = Leftovers {
            run: RunId::new("r-one"),
            message: "leftovers".into(),
        };
        let work = world
            .builder()
            .collect_work(Place::Sandbox(&sandbox), &leftovers, &sandbox.base_sha)
            .unwrap();
        assert_eq!(work.state.in_progress, Some(what));
        assert_eq!(work.commits.len(), 2, "{what:?}");
        let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
        assert_eq!(kept.about.in_progress, Some(what));
        let parents = world.git(["show", "-s", "--format=%P", &kept.sha]);
        assert_eq!(
            parents.contains(&upstream),
            what != InProgress::Revert,
            "{what:?}: {parents}"
        );
    }
}

#[test]
fn changes_that_a_merge_put_aside_are_kept() {
    let Some(world) = tabled() else {
        return;
    };
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    write(&sandbox.path.join("a.txt"), "agent\n");
    write(&sandbox.path.join("b.txt"), "b\n");
    world.git_in(&sandbox.path, ["add", "-A"]);
    world.git_in(&sandbox.path, ["commit", "-qm", "agent"]);
    world.write("a.txt", "upstream\n");
    let upstream = world.commit("upstream");
    write(&sandbox.path.join("b.txt"), "put aside\n");
    let merge = ["merge", "-q", "--autostash", &upstream].map(str::to_owned);
    clash(&world, &sandbox, &merge);
    let kept = sandboxes.remove(&sandbox).unwrap().kept.unwrap();
    let parents = world.git(["show", "-s", "--format=%P", &kept.sha]);
    let has_it = |parent: &str| {
        let shown = ["show".to_owned(), format!("{parent}:b.txt")];
        let output = world.command(&world.repo, shown).output().unwrap();
        output.stdout == b"put aside\n"
    };
    assert!(parents.split(' ').any(has_it), "{parents}");
}

#[test]
fn a_sound_head_is_left_alone_and_one_that_is_gone_is_set_again() {
    let Some(world) = tabled() else {
        return;
    };
    let sandboxes = world.sandboxes();
    let sandbox = sandboxes.create(&world.spec("one")).unwrap();
    let head = || world.git_in(&sandbox.path, ["symbolic-ref", "HEAD"]);
    write(&sandbox.path.join("a.txt"), "agent\n");
    world.git_in(&sandbox.path, ["commit", "-qam", "agent"]);
    let tip = world.git_in(&sandbox.path, ["rev-parse", "HEAD"]);
    let nothing: Vec<String> = Vec::new();
    assert_eq!(
        sandboxes
            .mend(&sandbox, Some(&CommitSha::new(&tip)))
            .unwrap(),
        nothing
    );
    world.git_in(&sandbox.path, ["checkout", "-q", "--detach"]);
    assert_eq!(
        sandboxes
            .mend(&sandbox, Some(&CommitSha::new(&tip)))
            .unwrap(),
        nothing
    );
    std::fs::remove_file(sandbox.path.join(".git").join("HEAD")).unwrap();
    assert_eq!(
        sandboxes
            .mend(&sandbox, Some(&CommitSha::new(&tip)))
            .unwrap(),
        ["the agent left no commit checked out"]
    );
    assert_eq!(head(), "refs/heads/drive/one");
    assert_eq!(world.git_in(&sandbox.path, ["rev-parse", "HEAD"]), tip);
    assert_eq!(sandboxes.remove(&sandbox).unwrap().kept, None);
    assert_eq!(world.git(["rev-parse", "drive/one"]), tip);
}

#[test]
fn the_same_holds_for_an_ordinary_user() {
    crate::support::again_as_ordinary_user(module_path!());
}
