//! Tests that a team takes account of people and checks before it merges, over HTTP.

use crate::stage::{APPROVES, PRIMARY, TASK};
use crate::team::arena::{Arena, REPO, until};
use crate::team::promoting::{let_go, rule, rule_that_waits, workspaces};
use drive_core::forge::ReviewState;
use drive_testkit::github::{Fault, FaultKind, SimCheckRun, Simulator};
use serde_json::json;
use std::process::Child;

fn hub(arena: &Arena) -> &Simulator {
    arena.simulator.as_ref().unwrap()
}

fn conversation(arena: &Arena) -> String {
    hub(arena).conversation(REPO, 1).join("\n---\n")
}

/// A team that is about to merge: the merge is being verified.
fn in_verification() -> (Arena, Child) {
    let arena = Arena::simulated();
    rule_that_waits(&arena);
    arena.cast(PRIMARY, APPROVES);
    let args = ["spawn-team", TASK, "--mode", "github", "--auto-merge"];
    let team = arena.stage.start(&args);
    until("the verification", || !workspaces(&arena).is_empty());
    (arena, team)
}

const PASSES: &str = "compile = [\"true\"]\ntargeted_tests = [\"grep\", \"two\", \"greet.txt\"]";

/// A regression test: the request for changes was ignored.
#[test]
fn a_standing_request_for_changes_keeps_a_team_from_merging() {
    let (arena, team) = in_verification();
    hub(&arena).review(REPO, "ann", 1, ReviewState::ChangesRequested, "Not yet.");
    let ended = arena.checked(let_go(&arena, team));
    assert_eq!(
        (ended.code, &ended.document["failure"]["kind"]),
        (Some(1), &json!("objected")),
        "{ended:?}"
    );
    assert!(!arena.seen().is_merged);
    let said = conversation(&arena);
    assert!(said.contains("Not merged: ann requests changes"), "{said}");
}

#[test]
fn a_request_for_changes_that_was_dismissed_does_not_keep_a_team_from_merging() {
    let (arena, team) = in_verification();
    let review = hub(&arena).review(REPO, "ann", 1, ReviewState::ChangesRequested, "Not yet.");
    hub(&arena).dismiss(REPO, review);
    let ended = arena.checked(let_go(&arena, team));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(arena.seen().is_merged);
}

#[test]
fn a_stop_while_the_merge_is_verified_stops_it_and_is_answered() {
    let (arena, team) = in_verification();
    hub(&arena).comment(REPO, "ann", 1, "STOP: say hello first.");
    let ended = arena.checked(let_go(&arena, team));
    assert_eq!(
        (ended.code, &ended.document["failure"]["kind"]),
        (Some(1), &json!("objected")),
        "{ended:?}"
    );
    assert!(!arena.seen().is_merged);
    let said = conversation(&arena);
    assert!(
        said.contains("STOP: say hello first.\n\nFixed in "),
        "{said}"
    );
    let told = "Not merged: ann wrote right before the merge: STOP: say hello first.";
    assert!(said.contains(told), "{said}");
}

#[test]
fn a_failed_check_is_fixed_before_a_team_merges() {
    let arena = Arena::simulated();
    rule(&arena, PASSES);
    arena.cast(PRIMARY, &arena.waits_in("Correctness", APPROVES));
    let args = ["spawn-team", TASK, "--mode", "github", "--auto-merge"];
    let team = arena.stage.start(&args);
    arena.until_open();
    let head = hub(&arena).pull_requests(REPO)[0].head_sha.clone();
    let failed = SimCheckRun {
        annotations: vec![(
            "greet.txt".into(),
            2,
            "failure".into(),
            "no greeting".into(),
        )],
        ..SimCheckRun::ended("build", "failure")
    };
    hub(&arena).set_check_run(REPO, &head, &failed);
    arena.go();
    let fixed = || hub(&arena).pull_requests(REPO)[0].head_sha.clone();
    until("the fix", || fixed() != head);
    // The check that the previous commit had is awaited.
    let passed = SimCheckRun::ended("build", "success");
    hub(&arena).set_check_run(REPO, &fixed(), &passed);
    let ended = arena.checked(crate::stage::ended(team));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let subjects = ended.document["commits"].to_string();
    assert!(subjects.contains("Check build failed"), "{subjects}");
    assert!(arena.seen().is_merged);
}

#[test]
fn a_pull_request_that_cannot_be_read_is_not_merged_until_it_was() {
    let (arena, team) = in_verification();
    hub(&arena).comment(REPO, "ann", 1, "STOP: say hello first.");
    // This is the number of attempts of one reading.
    hub(&arena).inject(Fault {
        method: "GET",
        path: "/issues/1/comments".to_owned(),
        skip: 0,
        times: 4,
        kind: FaultKind::Unavailable,
    });
    let ended = arena.checked(let_go(&arena, team));
    assert_eq!(
        (ended.code, &ended.document["failure"]["kind"]),
        (Some(1), &json!("objected")),
        "{ended:?}"
    );
    assert!(!arena.seen().is_merged);
}

#[test]
fn a_stop_between_the_last_reading_and_the_merge_stops_it() {
    let (arena, team) = in_verification();
    // The merge reads the repository after all comments were read.
    hub(&arena).comment_before(
        ("GET", "/repos/acme/widgets"),
        (REPO, "ann", 1),
        "STOP: say hello first.",
    );
    let ended = arena.checked(let_go(&arena, team));
    assert_eq!(
        (ended.code, &ended.document["failure"]["kind"]),
        (Some(1), &json!("objected")),
        "{ended:?}"
    );
    assert!(!arena.seen().is_merged);
    let told = "Not merged: ann wrote right before the merge: STOP: say hello first.";
    let said = conversation(&arena);
    assert!(said.contains(told), "{said}");
}

#[test]
fn a_comment_that_the_merge_overtook_is_told_on_the_pull_request() {
    let (arena, team) = in_verification();
    hub(&arena).comment_before(
        ("PUT", "/pulls/1/merge"),
        (REPO, "ann", 1),
        "STOP: say hello first.",
    );
    let ended = arena.checked(let_go(&arena, team));
    assert_eq!(
        (ended.code, &ended.document["failure"]["kind"]),
        (Some(1), &json!("mergedUnheard")),
        "{ended:?}"
    );
    assert!(arena.seen().is_merged);
    let said = conversation(&arena);
    assert!(said.contains("before this was read"), "{said}");
    assert!(said.contains("by ann: STOP: say hello first."), "{said}");
}
