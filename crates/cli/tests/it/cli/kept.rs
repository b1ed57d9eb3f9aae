//! Tests `drive kept`: a user finds the saved work of a sandbox.

use crate::cli::support::World;
use serde_json::json;
use std::fs;

/// A repository with the saved work of one run.
fn world() -> World {
    let world = World::new();
    fs::write(
        world.home().join(".gitconfig"),
        "[user]\nname = Ann\nemail = ann@example.org\n",
    )
    .unwrap();
    fs::write(world.repo().join("a.txt"), "a\n").unwrap();
    world.git(&["checkout", "-q", "-b", "main"]);
    world.git(&["add", "--all"]);
    world.git(&["commit", "-q", "-m", "First"]);
    world.git(&["checkout", "-q", "--detach"]);
    fs::write(world.repo().join("a.txt"), "saved\n").unwrap();
    let message = "Work kept\n\nDrive-Run: r-1\nDrive-Kept-At: 2026-11-15T09:42:00Z\n\
                   Drive-Dirty-Files: 1\nDrive-Unpushed-Commits: 0\nDrive-Branch: drive/one\n";
    world.git(&["commit", "-q", "-am", message]);
    world.git(&["update-ref", "refs/drive/kept/r-1/1", "HEAD"]);
    world.git(&["checkout", "-q", "main"]);
    world
}

#[test]
fn kept_work_is_listed_restored_and_dropped() {
    let world = world();
    let listed = world.drive(&["kept", "list"]);
    assert_eq!(
        listed.stdout,
        "refs/drive/kept/r-1/1  2026-11-15T09:42:00Z  1 files, 0 commits  on drive/one\n"
    );
    let (code, document) = world.json(&["kept", "restore", "r-1"]);
    assert_eq!((code, &document["branch"]), (Some(0), &json!("kept/r-1-1")));
    let restored = world.git(&["show", "kept/r-1-1:a.txt"]);
    assert_eq!(restored.trim_end(), "saved");
    let dropped = world.drive(&["kept", "drop", "r-1/1"]);
    assert_eq!(dropped.code, Some(0), "{dropped:?}");
    assert_eq!(world.drive(&["kept", "list"]).stdout, "no saved work\n");
}

#[test]
fn unknown_kept_work_is_wrong_usage() {
    let world = world();
    let (code, document) = world.json(&["kept", "restore", "nothing"]);
    assert_eq!(code, Some(2), "{document}");
    assert_eq!(document["failure"]["kind"], "unknownKeptWork");
}
