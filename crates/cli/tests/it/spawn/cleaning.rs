//! Tests how a person removes sandboxes, logs and reports.

use crate::spawn::stops::{ended, signal};
use crate::spawn::support::{World, text};
use rustix::process::Signal;
use std::fs;

#[test]
fn a_sandbox_is_listed_and_removed_with_its_work_saved_but_not_while_its_run_works() {
    let world = World::with_agent("echo half > half.txt; sleep 300");
    let child = world.start(&["spawn", "Work long", "--keep", "--json"]);
    world.wait_for_file("half.txt");
    let listed = world.drive(&["sandbox", "list", "--json"]).document();
    let one = &listed["sandboxes"][0];
    let id = text(&one["id"]);
    assert_eq!(one["inUse"], true, "{listed:#}");
    let busy = world.drive(&["sandbox", "remove", &id, "--json"]);
    assert_eq!(busy.failure(), (Some(3), "sandboxInUse".into()));
    signal(&child, Signal::INT);
    let run = ended(child).run();
    assert_eq!(world.sandboxes().len(), 1, "{run:#}");
    let path = world.drive(&["sandbox", "open", &id, "--print"]).stdout;
    assert_eq!(path.trim_end(), text(&one["path"]));
    // The sandbox may have changed since the run saved it.
    fs::write(world.sandboxes()[0].join("mine.txt"), "mine\n").unwrap();
    let table = world.drive(&["sandbox", "list"]).stdout;
    assert!(table.lines().next().unwrap().starts_with("ID"), "{table}");
    let removed = world.drive(&["sandbox", "remove", &id, "--json"]);
    assert_eq!(removed.code, Some(0), "{removed:?}");
    let kept = text(&removed.document()["kept"]["reference"]);
    assert!(world.files(&kept).contains("mine.txt"), "{kept}");
    world.assert_nothing_is_left();
    let gone = world.drive(&["sandbox", "remove", &id, "--json"]);
    assert_eq!(gone.failure(), (Some(2), "unknownSandbox".into()));
}

#[test]
fn a_shell_in_a_sandbox_runs_no_hook_of_the_agent() {
    let world = World::with_agent("echo x > x.txt");
    let (_, run) = world.spawn(&["Write", "--keep"]);
    let id = text(&run["runId"]);
    let shell = world.program(
        "shell",
        "pwd; git config core.hooksPath; git config --type bool core.fsmonitor",
    );
    let mut command = world.drive_command(&["sandbox", "open", &id]);
    let output = command.env("SHELL", shell).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let path = text(&run["sandbox"]);
    assert_eq!(shown, format!("{path}\n/dev/null\nfalse\n"));
}

#[test]
fn old_logs_are_pruned_once_a_person_confirms() {
    let world = World::with_agent("echo x > x.txt");
    let (_, run) = world.spawn(&["Write"]);
    let id = text(&run["runId"]);
    let folder = world.path("state/runs").join(&id);
    assert!(folder.is_dir());
    let young = world.drive(&["prune", "--yes"]);
    assert_eq!(young.stdout, "nothing is older than 30d\n", "{young:?}");
    let dry = world.drive(&["prune", "--older-than", "0s", "--dry-run", "--json"]);
    assert_eq!(dry.document()["logs"], serde_json::json!([id]));
    let unsure = world.drive(&["prune", "--older-than", "0s", "--json"]);
    assert_eq!(unsure.failure(), (Some(2), "notConfirmed".into()));
    assert!(folder.is_dir());
    let pruned = world.drive(&["prune", "--older-than", "0s", "--yes"]);
    assert_eq!(pruned.code, Some(0), "{pruned:?}");
    assert!(!folder.exists());
    // The run itself stays in the journal.
    assert_eq!(world.drive(&["runs", "show", &id]).code, Some(0));
    let odd = world.drive(&["prune", "--older-than", "soon", "--json"]);
    assert_eq!(odd.failure(), (Some(2), "usage".into()));
}

#[test]
fn init_writes_settings_that_are_valid_and_overwrites_none() {
    let world = World::with_agent("true");
    fs::write(world.path("repo/Cargo.toml"), "").unwrap();
    let made = world.drive(&["init", "--json"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let document = made.document();
    assert_eq!(document["agents"], serde_json::json!(["script"]));
    assert_eq!(
        (&document["forge"], &document["projects"]),
        (&"local".into(), &serde_json::json!(["Cargo"]))
    );
    let written = fs::read_to_string(world.path("repo/drive.toml")).unwrap();
    assert!(written.contains("agent = \"script\""), "{written}");
    let check = world.drive(&["config", "check"]);
    assert_eq!(check.code, Some(0), "{check:?}");
    let again = world.drive(&["init", "--json"]);
    assert_eq!(again.failure(), (Some(2), "settingsExist".into()));
    assert_eq!(world.drive(&["init", "--force"]).code, Some(0));
}
