//! Tests pushes of others while the team works: to its branch, or to its base.

use crate::stage::{APPROVES, Ended, PRIMARY, TASK, ended};
use crate::team::arena::{Arena, REPO, on_both_forges, until};
use crate::team::play::{Judge, Play};
use serde_json::{Value, json};
use std::fs;

on_both_forges!(
    a_conflict_that_stays_is_shown_to_a_person_and_no_marker_is_pushed,
    a_base_that_only_went_on_is_left_alone,
);

/// Moves the base while the reviewer works, and returns how the team ends.
fn flown(arena: &Arena, primary: &str, file: &str) -> Ended {
    arena.cast(primary, &arena.waits_in("", APPROVES));
    let args = ["spawn-team", TASK, "--mode", "pingpong"];
    let team = arena.stage.start(&args);
    arena.until_open();
    arena.commit_to_base(file, "theirs\n");
    arena.go();
    arena.checked(ended(team))
}

fn a_conflict_that_stays_is_shown_to_a_person_and_no_marker_is_pushed(arena: Arena) {
    // It claims that it did it, and did nothing.
    let lazy = PRIMARY.replace("fixer)", "fixer) exit;; nobody)");
    let ended = flown(&arena, &lazy, "greet.txt");
    assert_eq!(ended.code, Some(1));
    let document = &ended.document;
    assert_eq!(
        (
            &document["status"],
            &document["verdict"],
            &document["failure"]["kind"]
        ),
        (
            &json!("needsHuman"),
            &json!("approved"),
            &json!("mergeConflict")
        ),
        "{ended:?}"
    );
    let head = document["headSha"].as_str().unwrap();
    assert_eq!(arena.published("greet-by-name"), head);
    assert_eq!(
        arena.stage.git(&["show", &format!("{head}:greet.txt")]),
        "one\ntwo\nthree"
    );
    assert_eq!(document["kept"].as_array().unwrap().len(), 1, "{ended:?}");
}

fn a_base_that_only_went_on_is_left_alone(arena: Arena) {
    let ended = flown(&arena, PRIMARY, "other.txt");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.document["commits"].as_array().unwrap().len(), 1);
}

/// Whether a fixer is working.
fn is_fixing(arena: &Arena) -> bool {
    let runs = arena.stage.drive(&["runs", "list"]).document;
    let Some(run) = runs["runs"][0]["runId"].as_str() else {
        return false;
    };
    let shown = arena.stage.drive(&["runs", "show", run]).document;
    let jobs = shown["record"]["jobs"].as_array().cloned();
    let is_fixer = |job: &Value| job["role"] == "fixer" && job["argv"].is_array();
    jobs.is_some_and(|jobs| jobs.iter().any(is_fixer))
}

/// A person comments, and pushes to the team's branch while the fixer works; its commit is merged
/// with theirs.
fn pushed_to(file: &str, words: &str) -> (Arena, String, String) {
    let arena = Arena::simulated();
    let waits = arena.waits_in("TechnicalFeasibility", APPROVES);
    let pushed = arena.stage.path("agents/pushed");
    let primary = Play::from(Judge::Approves).primary_script().replace(
        "fixer)",
        &format!("fixer) n=0; while [ ! -e {pushed:?} ] && [ $n -lt 600 ]; do n=$((n + 1)); sleep 0.1; done;"),
    );
    arena.cast(&primary, &waits);
    let team = arena.stage.start(&["spawn-team", TASK]);
    arena.until_open();
    arena.comment("ann", "Say hello first.");
    arena.go();
    until("the fixer", || is_fixing(&arena));
    let simulator = arena.simulator.as_ref().unwrap();
    let theirs = simulator.push_file(REPO, "greet-by-name", file, words);
    fs::write(&pushed, "").unwrap();
    let ended = arena.checked(ended(team));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let head = arena.published("greet-by-name");
    assert_eq!(ended.document["headSha"], head.as_str());
    assert_eq!(
        arena.stage.git(&["show", "-s", "--format=%s", &head]),
        "Merge origin/greet-by-name"
    );
    let second = arena.stage.git(&["rev-parse", &format!("{head}^2")]);
    assert_eq!(second, theirs);
    let fixer = arena
        .stage
        .git(&["show", "-s", "--format=%s", &format!("{head}^1")]);
    assert!(fixer.ends_with(": Say hello first."), "{fixer}");
    (arena, head, theirs)
}

#[test]
fn commits_that_somebody_pushed_to_the_branch_are_merged_and_never_overwritten() {
    let (arena, head, _) = pushed_to("theirs.txt", "by ann\n");
    let show = |file: &str| arena.stage.git(&["show", &format!("{head}:{file}")]);
    assert_eq!(show("theirs.txt"), "by ann");
    assert_eq!(show("greet.txt"), "one\ntwo\nthree\nfixed");
}

#[test]
fn a_conflict_with_what_somebody_pushed_to_the_branch_becomes_a_round_of_the_coder() {
    let (arena, head, theirs) = pushed_to("greet.txt", "theirs\n");
    let show = |commit: &str| arena.stage.git(&["show", &format!("{commit}:greet.txt")]);
    assert_eq!(show(&head), "theirs\none");
    assert_eq!(show(&theirs), "theirs");
}
