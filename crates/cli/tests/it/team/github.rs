//! Tests behaviour of GitHub that no other forge has, for a team.

use crate::stage::{APPROVES, PRIMARY};
use crate::team::arena::{Arena, REPO};
use drive_testkit::github::Logged;
use serde_json::json;

fn posts(arena: &Arena, path: &str) -> usize {
    let asked = arena.simulator.as_ref().unwrap().requests();
    let is_post = |one: &&Logged| one.method == "POST" && one.target.ends_with(path);
    asked.iter().filter(is_post).count()
}

#[test]
fn where_there_are_no_drafts_the_pull_request_is_open_for_everybody_at_once() {
    let arena = Arena::simulated();
    arena.simulator.as_ref().unwrap().forbid_drafts(REPO);
    let ended = arena.team("github", PRIMARY, APPROVES);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(
        (&ended.document["verdict"], &ended.document["prNumber"]),
        (&json!("approved"), &json!(1))
    );
    assert!(arena.seen().is_ready);
    assert_eq!(posts(&arena, "/pulls"), 2, "as a draft, then as none");
}

#[test]
fn a_pull_request_that_cannot_be_opened_is_a_failure_with_the_reason_and_the_work_is_pushed() {
    let arena = Arena::simulated();
    let why = "Resource not accessible by personal access token";
    arena.simulator.as_ref().unwrap().forbid_pulls(REPO, why);
    let ended = arena.team("github", PRIMARY, APPROVES);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let document = &ended.document;
    assert_eq!(
        (&document["status"], &document["prNumber"]),
        (&json!("failed"), &json!(null))
    );
    assert_eq!(document["failure"]["causes"], json!([why]));
    let head = document["headSha"].as_str().unwrap();
    assert_eq!(arena.published("greet-by-name"), head);
    // The reviewer was not asked.
    assert_eq!(document["record"]["reviews"], json!([]));
}
