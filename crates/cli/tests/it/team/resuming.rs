//! Tests `drive runs resume` for a team that was stopped or killed.

use crate::stage::{APPROVES, Ended, PRIMARY, TASK, ended};
use crate::team::arena::{Arena, on_both_forges, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::fs;
use std::process::Child;

on_both_forges!(
    a_stopped_team_goes_on_with_runs_resume,
    a_stopped_teams_draft_pull_request_says_so,
    a_killed_team_goes_on_and_its_pull_request_says_that_it_stopped,
);

fn interrupt(team: Child) -> Ended {
    let pid = Pid::from_raw(i32::try_from(team.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    ended(team)
}

/// A reviewer that reports that it works, and then waits in this domain.
fn waiting(arena: &Arena, domain: &str) -> String {
    let at_work = arena.stage.path("agents/at-work");
    let mark = format!("if [ \"$DRIVE_DOMAIN\" = {domain:?} ]; then : > {at_work:?}; fi\n");
    format!("{mark}{}", arena.waits_in(domain, APPROVES))
}

fn until_at_work(arena: &Arena) {
    let at_work = arena.stage.path("agents/at-work");
    until("the reviewer", || at_work.exists());
}

/// A team that is stopped during the review of this domain; returns its run's id.
fn stopped(arena: &Arena, domain: &str) -> String {
    // If the kernel confines a reviewer, it can write nothing but its own answer.
    arena.stage.unconfine();
    arena.cast(PRIMARY, &waiting(arena, domain));
    let team = arena.stage.start(&["spawn-team", TASK]);
    until_at_work(arena);
    let stopped = interrupt(team);
    assert_eq!(
        (stopped.code, &stopped.document["failure"]["kind"]),
        (Some(130), &json!("interrupted")),
        "{stopped:?}"
    );
    let id = stopped.document["runId"].as_str().unwrap().to_owned();
    let hint = stopped.document["failure"]["hint"].as_str().unwrap();
    assert!(
        hint.contains(&format!("`drive runs resume {id}`")),
        "{hint}"
    );
    assert_eq!(arena.stage.sandboxes(), Vec::<String>::new());
    id
}

fn count(texts: &[String], part: &str) -> usize {
    texts.iter().filter(|text| text.contains(part)).count()
}

fn a_stopped_team_goes_on_with_runs_resume(arena: Arena) {
    let id = stopped(&arena, "TechnicalFeasibility");
    let before = arena.seen();
    arena.go();
    let resumed = arena.checked(arena.stage.drive(&["runs", "resume", &id]));
    let run = &resumed.document;
    assert_eq!(
        (resumed.code, &run["status"], &run["verdict"], &run["runId"]),
        (Some(0), &json!("succeeded"), &json!("approved"), &json!(id)),
        "{resumed:?}"
    );
    // It is the same pull request, with each review once: those that were given are not repeated.
    assert_eq!(run["prNumber"], 1);
    let after = arena.seen();
    assert!(!before.is_ready && after.is_ready);
    assert_eq!(after.texts[..before.texts.len()], before.texts[..]);
    let of_security = |row: &&String| row.starts_with("[SECURITY REVIEW");
    assert_eq!(after.rows.iter().filter(of_security).count(), 1);
    let continues = format!("Run `{id}` continues.");
    assert_eq!(count(&after.texts, &continues), 1, "{:?}", after.texts);
    assert_eq!(
        arena.published("greet-by-name"),
        run["headSha"].as_str().unwrap()
    );
    assert_eq!(run["commits"].as_array().unwrap().len(), 1);
    assert_eq!(arena.stage.sandboxes(), Vec::<String>::new());
}

fn a_stopped_teams_draft_pull_request_says_so(arena: Arena) {
    let id = stopped(&arena, "Security");
    let seen = arena.seen();
    assert!(!seen.is_ready);
    let command = format!("`drive runs resume {id}`");
    assert_eq!(count(&seen.texts, &command), 1, "{:?}", seen.texts);
    // It posts that again when it is stopped again.
    fs::remove_file(arena.stage.path("agents/at-work")).unwrap();
    let team = arena.stage.start(&["runs", "resume", &id]);
    until_at_work(&arena);
    let stopped = interrupt(team);
    assert_eq!(stopped.code, Some(130), "{stopped:?}");
    assert_eq!(count(&arena.seen().texts, &command), 2);
}

fn a_killed_team_goes_on_and_its_pull_request_says_that_it_stopped(arena: Arena) {
    arena.stage.unconfine();
    arena.cast(PRIMARY, &waiting(&arena, "Security"));
    let mut team = arena.stage.start(&["spawn-team", TASK]);
    until_at_work(&arena);
    team.kill().unwrap();
    team.wait().unwrap();
    // Any next command finds it.
    let runs = arena.stage.drive(&["runs", "list"]);
    let id = runs.document["runs"][0]["runId"].as_str().unwrap();
    let command = format!("`drive runs resume {id}`");
    assert_eq!(
        count(&arena.seen().texts, &command),
        1,
        "{:?}",
        arena.seen()
    );
    arena.go();
    let resumed = arena.checked(arena.stage.drive(&["runs", "resume", id]));
    assert_eq!(
        (resumed.code, &resumed.document["verdict"]),
        (Some(0), &json!("approved")),
        "{resumed:?}"
    );
    assert_eq!(count(&arena.seen().texts, &command), 1);
}

#[test]
fn a_team_that_was_stopped_in_its_first_round_starts_its_coder_again() {
    let arena = Arena::local();
    let at_work = arena.stage.path("agents/at-work");
    let go = arena.stage.path("agents/go");
    let told = arena.stage.path("agents/told");
    let waits = format!(
        "coder) echo half > half.txt; : > {at_work:?}; [ -e {go:?} ] || sleep 300; printf '%s' \"$prompt\" > {told:?};"
    );
    arena.stage.unconfine();
    arena.cast(&PRIMARY.replace("coder)", &waits), APPROVES);
    let team = arena
        .stage
        .start(&["spawn-team", TASK, "--mode", "pingpong"]);
    until_at_work(&arena);
    let stopped = interrupt(team);
    let id = stopped.document["runId"].as_str().unwrap();
    let kept = stopped.document["kept"][0].as_str().unwrap();
    arena.go();
    let resumed = arena.stage.drive(&["runs", "resume", id]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let told = fs::read_to_string(told).unwrap();
    let saved = arena.stage.git(&["rev-parse", kept]);
    assert!(told.contains(&format!("`git show {saved}`")), "{told}");
}

#[test]
fn the_limits_of_a_team_can_be_raised_while_it_works() {
    let arena = Arena::local();
    arena.stage.unconfine();
    arena.cast(PRIMARY, &waiting(&arena, "Security"));
    let team = arena.stage.start(&["spawn-team", TASK]);
    until_at_work(&arena);
    let runs = arena.stage.drive(&["runs", "list"]);
    let id = runs.document["runs"][0]["runId"].as_str().unwrap();
    let extended = arena.stage.drive(&["runs", "extend", id, "--cost", "5"]);
    assert_eq!(
        (extended.code, &extended.document["pid"]),
        (Some(0), &json!(team.id())),
        "{extended:?}"
    );
    let shown = arena.stage.drive(&["runs", "show", id]);
    let journal = shown.document["journal"].as_array().unwrap();
    let asked = |line: &&serde_json::Value| line["event"]["event"] == "asked";
    assert_eq!(journal.iter().filter(asked).count(), 1);
    arena.go();
    let ended = ended(team);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_person_is_told_why_a_run_cannot_go_on() {
    let arena = Arena::local();
    let unknown = arena.stage.drive(&["runs", "resume", "r-none"]);
    assert_eq!(
        (unknown.code, &unknown.document["failure"]["kind"]),
        (Some(2), &json!("unknownRun"))
    );
    // A run that has an owner.
    arena.stage.unconfine();
    arena.cast(PRIMARY, &waiting(&arena, "Security"));
    let team = arena.stage.start(&["spawn-team", TASK]);
    until_at_work(&arena);
    let runs = arena.stage.drive(&["runs", "list"]);
    let id = runs.document["runs"][0]["runId"]
        .as_str()
        .unwrap()
        .to_owned();
    let owned = arena.stage.drive(&["runs", "resume", &id]);
    assert_eq!(
        (owned.code, &owned.document["failure"]["kind"]),
        (Some(3), &json!("runOwned")),
        "{owned:?}"
    );
    let message = owned.document["failure"]["message"].as_str().unwrap();
    assert!(message.contains(&team.id().to_string()), "{message}");
    // A run whose branch a person deleted meanwhile.
    let stopped = interrupt(team);
    let head = stopped.document["headSha"].as_str().unwrap();
    arena
        .stage
        .git(&["branch", "--quiet", "-D", "greet-by-name"]);
    let gone = arena.stage.drive(&["runs", "resume", &id]);
    assert_eq!(
        (gone.code, &gone.document["failure"]["kind"]),
        (Some(2), &json!("branchNotFound")),
        "{gone:?}"
    );
    let hint = gone.document["failure"]["hint"].as_str().unwrap();
    let again = format!("git branch greet-by-name {head}");
    assert!(hint.contains(&again), "{hint}");
    // A run whose branch the person has checked out.
    arena
        .stage
        .git(&["checkout", "--quiet", "-b", "greet-by-name", head]);
    let busy = arena.stage.drive(&["runs", "resume", &id]);
    assert_eq!(
        (busy.code, &busy.document["failure"]["kind"]),
        (Some(2), &json!("branchCheckedOut")),
        "{busy:?}"
    );
    // Once the branch is free, the run continues; one that succeeded does not.
    arena.stage.git(&["checkout", "--quiet", "main"]);
    arena.go();
    let resumed = arena.stage.drive(&["runs", "resume", &id]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let over = arena.stage.drive(&["runs", "resume", &id]);
    assert_eq!(
        (over.code, &over.document["failure"]["kind"]),
        (Some(2), &json!("runNotResumable")),
        "{over:?}"
    );
    let message = over.document["failure"]["message"].as_str().unwrap();
    assert_eq!(message, format!("run `{id}` succeeded"));
}
