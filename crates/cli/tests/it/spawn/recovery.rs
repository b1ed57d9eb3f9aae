//! Tests crash recovery: the next command after `kill -9` cleans up first, and reports that.

use crate::spawn::deaths::{STUBBORN, kill};
use crate::spawn::stops::{ended, signal};
use crate::spawn::support::{World, text, wait_for};
use rustix::process::Signal;
use std::fs;
use std::path::PathBuf;

/// A world in which a spawn was killed while its agent worked, with the id of the run.
fn killed() -> (World, String) {
    let world = World::with_agent(STUBBORN);
    let mut child = world.start(&["spawn", "Work for ever"]);
    world.wait_for_file("ready.txt");
    kill(&mut child);
    let id = the_run(&world);
    (world, id)
}

fn the_run(world: &World) -> String {
    let names = fs::read_dir(world.path("state/runs")).unwrap().flatten();
    let ids: Vec<String> = names
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    ids[0].clone()
}

fn line_about(id: &str) -> String {
    format!(
        "warning: cleaned up run `{id}` after its process was killed; its work is saved: `drive kept restore refs/drive/kept/{id}/1`; continue it with `drive runs resume {id}`"
    )
}

#[test]
fn every_command_that_meets_the_state_sweeps_first_and_tells_it_once() {
    let commands: [&[&str]; 14] = [
        &["runs", "list"],
        &["runs", "show"],
        &["runs", "logs"],
        &["cruise", "list"],
        &["cruise", "status"],
        &["cruise", "resume", "--all"],
        &["spawn", ""],
        &["kept", "list"],
        &["pr", "list"],
        &["verify"],
        &["doctor"],
        &["config", "show"],
        &["config", "check"],
        &["spawn-team", ""],
    ];
    for command in commands {
        let (world, id) = killed();
        let first = world.drive(command);
        let told: Vec<&str> = first.stderr.lines().take(1).collect();
        assert_eq!(told, [line_about(&id)], "{command:?}: {first:?}");
        world.assert_nothing_is_left();
        assert_eq!(
            world.files(&format!("refs/drive/kept/{id}/1")),
            "a.txt half.txt ready.txt src/b.txt",
            "{command:?}"
        );
        let second = world.drive(command);
        assert!(!second.stderr.contains("was killed"), "{second:?}");
        assert_eq!(first.code, second.code, "{command:?}");
        assert_eq!(first.stdout.is_empty(), second.stdout.is_empty());
    }
}

#[test]
fn a_sandbox_that_cannot_be_swept_is_named_by_every_command_until_it_can() {
    let world = World::with_agent("echo precious > work.txt; echo ready > ready.txt; sleep 300");
    let mut child = world.start(&["spawn", "Make a file"]);
    world.wait_for_file("ready.txt");
    kill(&mut child);
    let id = the_run(&world);
    let left = world.sandboxes();
    let name = left[0].file_name().unwrap().to_str().unwrap();
    // No ref for saved work can be created beside a file of that name.
    let in_the_way = world.path("repo/.git/refs/drive/kept");
    fs::write(&in_the_way, "").unwrap();
    let still_there = format!("warning: could not remove the left-over sandbox `{name}`: ");
    let told = format!(
        "warning: cleaned up run `{id}` after its process was killed; its sandbox was not removed; continue it with `drive runs resume {id}`\n"
    );
    let first = world.drive(&["runs", "list"]).stderr;
    assert!(
        first.starts_with(&format!("{told}{still_there}")),
        "{first}"
    );
    let second = world.drive(&["runs", "list"]).stderr;
    assert!(second.starts_with(&still_there), "{second}");
    assert_eq!(
        fs::read_to_string(left[0].join("work.txt")).unwrap(),
        "precious\n"
    );
    fs::remove_file(in_the_way).unwrap();
    let swept = world.drive(&["runs", "list"]).stderr;
    assert!(swept.contains("its work is saved"), "{swept}");
    world.assert_nothing_is_left();
}

#[test]
fn a_server_sweeps_before_it_serves() {
    let (world, id) = killed();
    let server = world.start(&["serve", "--listen", "127.0.0.1:0"]);
    wait_for("the sweep", || world.sandboxes().is_empty());
    signal(&server, Signal::INT);
    let ended = ended(server);
    assert_eq!(ended.stderr.lines().next(), Some(&*line_about(&id)));
    world.assert_nothing_is_left();
}

#[test]
fn a_command_that_only_prints_a_text_leaves_everything_alone() {
    let (world, id) = killed();
    for command in [
        &["completions", "bash"],
        &["config", "schema"],
        &["config", "default"],
    ] {
        let ended = world.drive(command);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    }
    assert_eq!(world.sandboxes().len(), 1);
    let next = world.drive(&["runs", "list"]);
    assert_eq!(next.stderr, format!("{}\n", line_about(&id)));
    world.assert_nothing_is_left();
}

#[test]
fn one_document_on_stdout_and_the_sweep_beside_it() {
    let (world, id) = killed();
    let ended = world.drive(&["pr", "list", "--json"]);
    assert_eq!(ended.stderr, format!("{}\n", line_about(&id)));
    assert_eq!(text(&ended.document()["schema"]), "drive.pullRequests/1");
    world.assert_nothing_is_left();
}

#[test]
fn settings_with_a_mistake_do_not_keep_a_command_from_sweeping() {
    let (world, id) = killed();
    fs::write(world.path("repo/drive.toml"), "[spwan]\n").unwrap();
    let ended = world.drive(&["config", "check"]);
    let told = ended.stderr.lines().next().map(str::to_owned);
    assert_eq!((ended.code, told), (Some(2), Some(line_about(&id))));
    fs::remove_file(world.path("repo/drive.toml")).unwrap();
    world.assert_nothing_is_left();
}

#[test]
fn a_sandbox_is_found_although_other_settings_name_another_place() {
    let world = World::with_agent(STUBBORN);
    let root = world.path("elsewhere");
    world.settings(&format!("[sandbox]\nroot = {root:?}\n"));
    let mut child = world.start(&["spawn", "Work for ever"]);
    let entries = || root.read_dir().into_iter().flatten().flatten();
    wait_for("the agent", || {
        entries().any(|entry| entry.path().join("ready.txt").exists())
    });
    kill(&mut child);
    let id = the_run(&world);
    // As from another repository, whose settings do not mention it.
    world.settings("");
    let ended = world.drive(&["doctor"]);
    assert_eq!(ended.stderr.lines().next(), Some(&*line_about(&id)));
    assert_eq!(
        world.files(&format!("refs/drive/kept/{id}/1")),
        "a.txt half.txt ready.txt src/b.txt"
    );
    let left: Vec<PathBuf> = entries().map(|entry| entry.path()).collect();
    assert_eq!(left, [root.join(".trash")]);
    world.assert_nothing_is_left();
}

#[test]
fn a_state_that_nobody_made_is_not_made_by_looking() {
    let world = World::with_agent("true");
    assert_eq!(world.drive(&["config", "show"]).code, Some(0));
    assert!(!world.path("state").exists());
}

#[test]
fn a_state_that_cannot_be_read_is_told_by_the_commands_that_need_it() {
    let world = World::with_agent("true");
    fs::create_dir_all(world.path("state")).unwrap();
    fs::write(world.path("state/drive.sqlite3"), "no database at all").unwrap();
    let config = world.drive(&["config", "show"]);
    assert_eq!((config.code, config.stderr.as_str()), (Some(0), ""));
    let told = world.drive(&["config", "show", "-v"]).stderr;
    assert!(
        told.starts_with("could not check for killed drive processes: "),
        "{told}"
    );
    assert_eq!(world.drive(&["runs", "list"]).code, Some(3));
}
