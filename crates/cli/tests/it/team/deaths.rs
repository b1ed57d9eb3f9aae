//! Tests a drive that is killed in the middle of a team's work.

use crate::stage::{APPROVES, PRIMARY};
use crate::team::arena::{Arena, on_both_forges, until};
use serde_json::json;
use std::fs;

on_both_forges!(a_killed_team_is_brought_to_its_end_by_the_next_command);

/// Whether any process still works in the sandbox of this world.
fn lives(arena: &Arena) -> bool {
    let sandboxes = arena.stage.path("home");
    fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let folder = fs::read_link(entry.path().join("cwd"));
        folder.is_ok_and(|folder| folder.starts_with(&sandboxes))
    })
}

fn a_killed_team_is_brought_to_its_end_by_the_next_command(arena: Arena) {
    // The reviewer would wait forever.
    arena.cast(PRIMARY, &arena.waits_in("", APPROVES));
    let args = ["spawn-team", "Greet people by name", "--mode", "pingpong"];
    let mut team = arena.stage.start(&args);
    arena.until_open();
    until("the reviewer", || lives(&arena));
    team.kill().unwrap();
    team.wait().unwrap();
    let runs = arena.stage.drive(&["runs", "list"]);
    assert_eq!(runs.code, Some(0), "{runs:?}");
    until("the end of the reviewer", || !lives(&arena));
    let id = runs.document["runs"][0]["runId"].as_str().unwrap();
    let shown = arena.stage.drive(&["runs", "show", id]);
    let run = &shown.document;
    assert_eq!(
        (&run["status"], &run["failure"]["kind"], &run["sandbox"]),
        (&json!("failed"), &json!("ownerLost"), &json!(null)),
        "{shown:?}"
    );
    // The finished work is on its branch, and the pull request is unchanged.
    assert_eq!(
        arena
            .stage
            .git(&["log", "-1", "--format=%s", "greet-by-name"]),
        "Greet by name"
    );
    assert_eq!(
        arena.published("greet-by-name"),
        run["headSha"].as_str().unwrap()
    );
    assert_eq!(arena.stage.sandboxes(), Vec::<String>::new());
}
