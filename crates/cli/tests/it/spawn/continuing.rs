//! Tests giving an ended spawn a new task.

use crate::spawn::support::{World, text};
use serde_json::Value;
use std::fs;

/// A world whose agent writes a file, or another one if the first exists.
fn world() -> World {
    let world = World::with_agent("");
    let told = world.path("told");
    let script = format!(
        "cat > {told:?}\nif grep -q nothing \"$DRIVE_INPUT\"; then exit 0; fi\n\
         if [ -e one.txt ]; then echo two > two.txt; else echo one > one.txt; fi"
    );
    world.program("script", &script);
    world.settings("[sandbox]\nisolation = \"off\"\n");
    world
}

fn begin(world: &World) -> Value {
    let (code, run) = world.spawn(&["Add one", "--branch", "mine"]);
    assert_eq!(code, Some(0), "{run:#}");
    run
}

fn go_on(world: &World, run: &Value, task: &str) -> (Option<i32>, Value) {
    let ended = world.drive(&["runs", "continue", &text(&run["runId"]), task, "--json"]);
    (ended.code, ended.document())
}

#[test]
fn a_spawn_that_ended_does_more_on_its_branch_and_its_pull_request() {
    let world = world();
    let first = begin(&world);
    let (code, second) = go_on(&world, &first, "Add two");
    assert_eq!(code, Some(0), "{second:#}");
    for field in ["runId", "branch", "prNumber"] {
        assert_eq!(first[field], second[field], "{field}");
    }
    let files = world.files("mine");
    assert!(
        files.contains("one.txt") && files.contains("two.txt"),
        "{files}"
    );
    assert_eq!(world.git("log -1 --format=%s mine"), "Add two");
    let told = fs::read_to_string(world.path("told")).unwrap();
    assert!(told.contains("\n\nAdd two\n"), "{told}");
    let before = "Earlier work on this branch was for this task:\n\nAdd one";
    assert!(told.contains(before), "{told}");
    assert!(
        told.contains("..HEAD` lists its commits. Build on it."),
        "{told}"
    );
    let number = first["prNumber"].to_string();
    let shown = world.drive(&["pr", "show", &number, "--json"]).document();
    let comments = shown["comments"].as_array().unwrap();
    let bodies: Vec<String> = comments.iter().map(|one| text(&one["body"])).collect();
    assert_eq!(bodies.len(), 2, "{bodies:?}");
    assert!(bodies[0].contains("continues: Add two"), "{bodies:?}");
    assert!(bodies[1].contains("Add two"), "{bodies:?}");
    // A third task follows the second.
    let (code, third) = go_on(&world, &second, "Add nothing");
    assert_eq!(
        (code, text(&third["failure"]["kind"])),
        (Some(1), "nothingChanged".into()),
        "{third:#}"
    );
    assert_eq!(world.files("mine"), files);
    world.assert_nothing_is_left();
}

#[test]
fn a_run_is_given_no_more_to_do_once_its_pull_request_is_closed() {
    let world = world();
    let run = begin(&world);
    let closed = world.drive(&["pr", "close", &run["prNumber"].to_string()]);
    assert_eq!(closed.code, Some(0), "{closed:?}");
    let head = world.git("rev-parse mine");
    let (code, refused) = go_on(&world, &run, "Add two");
    assert_eq!(
        (code, text(&refused["failure"]["kind"])),
        (Some(2), "pullRequestNotOpen".into())
    );
    assert_eq!(world.git("rev-parse mine"), head);
    let ended = world.drive(&["runs", "continue", "r1", "Add two", "--json"]);
    assert_eq!(ended.failure(), (Some(2), "unknownRun".into()));
    world.assert_nothing_is_left();
}
