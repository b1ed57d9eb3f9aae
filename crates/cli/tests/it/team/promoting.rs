//! Tests that `--auto-merge` merges only what was approved and passes verification.

use crate::stage::{APPROVES, Ended, PRIMARY, TASK, ended};
use crate::team::arena::{Arena, on_both_forges, until};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

on_both_forges!(
    an_approved_pull_request_that_passes_is_merged_when_asked,
    what_does_not_pass_verification_is_not_merged_in_any_mode,
    the_rules_of_the_candidate_do_not_count,
    a_base_that_moves_during_the_verification_is_verified_against_anew,
);

/// Adds a rule for everything to the base.
pub(super) fn rule(arena: &Arena, commands: &str) {
    let skip = if commands.contains("targeted_tests") {
        ""
    } else {
        "skip = \"not tested here\"\n"
    };
    let rule = format!(
        "[verify]\nbaseline = \"off\"\n[[verify.routes]]\npaths = [\"**\"]\n{commands}\n{skip}"
    );
    let settings = fs::read_to_string(arena.stage.path("repo/drive.toml")).unwrap();
    arena.commit_to_base("drive.toml", &format!("{settings}\n{rule}"));
    if arena.is_simulated() {
        arena.stage.git(&["fetch", "--quiet", "origin"]);
        arena.stage.git(&["reset", "--quiet", "origin/main"]);
    }
}

fn state(arena: &Arena) -> PathBuf {
    let state = ".local/state/infinite-improbability-drive";
    arena.stage.home().join(state)
}

/// The stored reports, each with its verdict and base.
fn reports(arena: &Arena) -> Vec<(String, String)> {
    let kept = fs::read_dir(state(arena).join("verifications")).unwrap();
    let mut reports: Vec<Value> = kept
        .map(|file| serde_json::from_slice(&fs::read(file.unwrap().path()).unwrap()).unwrap())
        .collect();
    reports.sort_by_key(|report| report["timing"]["startedAt"].to_string());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    reports
        .iter()
        .map(|one| (text(&one["overall"]), text(&one["candidate"]["baseSha"])))
        .collect()
}

pub(super) fn workspaces(arena: &Arena) -> Vec<PathBuf> {
    let found = fs::read_dir(state(arena).join("sandboxes"));
    let entries = found.into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("verify-"))
        .map(|entry| entry.path())
        .collect()
}

fn merges(arena: &Arena, mode: &str) -> Ended {
    let args = ["spawn-team", TASK, "--mode", mode, "--auto-merge"];
    arena.checked(arena.stage.drive(&args))
}

fn an_approved_pull_request_that_passes_is_merged_when_asked(arena: Arena) {
    rule(
        &arena,
        "compile = [\"true\"]\ntargeted_tests = [\"grep\", \"two\", \"greet.txt\"]",
    );
    arena.cast(PRIMARY, APPROVES);
    let before = arena.published("main");
    let ended = merges(&arena, "github");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let document = &ended.document;
    assert!(document["mergedSha"].is_string(), "{ended:?}");
    let verification = &document["verification"];
    assert_eq!(
        (
            &verification["overall"],
            &verification["headSha"],
            verification["baseSha"].as_str().unwrap()
        ),
        (&json!("pass"), &document["headSha"], before.as_str())
    );
    assert!(arena.seen().is_merged);
    assert_eq!(reports(&arena), [("pass".to_owned(), before)]);
    let base = arena.published("main");
    assert_eq!(
        arena.stage.git(&["show", &format!("{base}:greet.txt")]),
        "one\ntwo\nthree"
    );
    assert!(workspaces(&arena).is_empty());
}

/// A regression test: it was merged although `drive verify` would have refused it.
fn what_does_not_pass_verification_is_not_merged_in_any_mode(arena: Arena) {
    rule(&arena, "compile = [\"false\"]");
    arena.cast(PRIMARY, APPROVES);
    let before = arena.published("main");
    for (number, mode) in ["sequential", "pingpong", "github"].iter().enumerate() {
        let ended = merges(&arena, mode);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let document = &ended.document;
        assert_eq!(
            json!({
                "status": document["status"],
                "verdict": document["verdict"],
                "mergedSha": document["mergedSha"],
                "overall": document["verification"]["overall"],
                "kind": document["failure"]["kind"],
                "message": document["failure"]["message"],
            }),
            json!({
                "status": "needsHuman",
                "verdict": "approved",
                "mergedSha": null,
                "overall": "fail",
                "kind": "notMerged",
                "message": "the pull request was not merged: verification failed: compile: \
                            compile (**): exit code 1",
            }),
            "{ended:?}"
        );
        let (head, base) = (&document["verification"]["headSha"], &before);
        let (head, base) = (&head.as_str().unwrap()[..10], &base[..10]);
        let again = format!("`drive verify {head} --base {base}`");
        let hint = document["failure"]["hint"].as_str().unwrap();
        assert!(hint.contains(&again), "{hint}");
        let warnings = document["warnings"].to_string();
        assert!(warnings.contains("failed: compile"), "{warnings}");
        if number == 0 {
            let seen = arena.seen();
            assert!(!seen.is_merged);
            let told: Vec<&String> = seen
                .texts
                .iter()
                .filter(|text| text.starts_with("### Verification: fail"))
                .collect();
            assert_eq!(told.len(), 1, "{:?}", seen.texts);
            assert!(told[0].contains("| compile | `**` | fail |"), "{}", told[0]);
        }
    }
    assert_eq!(arena.published("main"), before);
    assert!(workspaces(&arena).is_empty());
}

fn the_rules_of_the_candidate_do_not_count(arena: Arena) {
    rule(&arena, "compile = [\"test\", \"!\", \"-e\", \"greet.txt\"]");
    let lenient =
        "printf '[[verify.routes]]\\npaths = [\"**\"]\\nskip = \"trust me\"\\n' > drive.toml";
    let primary = PRIMARY.replace("coder)", &format!("coder) {lenient};"));
    arena.cast(&primary, APPROVES);
    let ended = merges(&arena, "sequential");
    assert_eq!(
        (&ended.document["failure"]["kind"], ended.code),
        (&json!("notMerged"), Some(1)),
        "{ended:?}"
    );
    assert_eq!(reports(&arena)[0].0, "fail");
    assert!(!arena.seen().is_merged);
}

/// Stages that last until [`Arena::go`], at most a minute.
pub(super) fn rule_that_waits(arena: &Arena) {
    // A stage sees only its workspace.
    let waits = "n=0; while [ ! -e go ] && [ $n -lt 600 ]; do n=$((n + 1)); sleep 0.1; done";
    rule(
        arena,
        &format!("compile = [\"sh\", \"-c\", {waits:?}]\ntargeted_tests = [\"true\"]"),
    );
}

/// Lets every verification continue until the team has ended.
pub(super) fn let_go(arena: &Arena, mut team: Child) -> Ended {
    while team.try_wait().unwrap().is_none() {
        for workspace in workspaces(arena) {
            // A workspace that is being created or removed is found again in the next pass, or is gone.
            let _ = fs::write(workspace.join("go"), "");
        }
        sleep(Duration::from_millis(20));
    }
    ended(team)
}

fn a_base_that_moves_during_the_verification_is_verified_against_anew(arena: Arena) {
    rule_that_waits(&arena);
    arena.cast(PRIMARY, APPROVES);
    let before = arena.published("main");
    let args = ["spawn-team", TASK, "--mode", "pingpong", "--auto-merge"];
    let team = arena.stage.start(&args);
    until("the verification", || !workspaces(&arena).is_empty());
    let moved = arena.commit_to_base("other.txt", "theirs\n");
    let ended = arena.checked(let_go(&arena, team));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(arena.seen().is_merged);
    let pass = |base: String| ("pass".to_owned(), base);
    assert_eq!(reports(&arena), [pass(before), pass(moved.clone())]);
    assert_eq!(ended.document["verification"]["baseSha"], moved.as_str());
    assert!(workspaces(&arena).is_empty());
}

/// Passes if this file is missing.
const WITHOUT_BROKEN: &str =
    "targeted_tests = [\"sh\", \"-c\", \"test ! -e broken.txt && echo 1 passed\"]";

#[test]
fn another_tree_that_landed_on_github_is_verified_at_once() {
    let arena = Arena::simulated();
    rule(&arena, WITHOUT_BROKEN);
    arena.cast(PRIMARY, APPROVES);
    arena.overtake_merge("other.txt", "theirs\n");
    let ended = merges(&arena, "github");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let warnings = ended.document["warnings"].to_string();
    let told = "differs from the verified tree; it was verified again and passed";
    assert!(warnings.contains(told), "{warnings}");
    // Both the intended and the landed commit.
    let landed = arena.published("main");
    assert_eq!(ended.document["mergedSha"], landed.as_str());
    assert_eq!(reports(&arena).len(), 2);
}

#[test]
fn a_tree_that_landed_broken_on_github_is_said_with_the_command_that_reverts_it() {
    let arena = Arena::simulated();
    rule(&arena, WITHOUT_BROKEN);
    arena.cast(PRIMARY, APPROVES);
    arena.overtake_merge("broken.txt", "theirs\n");
    let ended = merges(&arena, "github");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let failure = &ended.document["failure"];
    assert_eq!(failure["kind"], "landedBroken", "{ended:?}");
    let landed = arena.published("main");
    let revert = format!("git revert -m 1 {landed}");
    assert!(
        failure["hint"].as_str().unwrap().contains(&revert),
        "{failure}"
    );
    let seen = arena.seen();
    assert!(
        seen.texts.iter().any(|text| text.contains(&revert)),
        "{:?}",
        seen.texts
    );
    // No status on the head of the pull request is green now.
    let head = ended.document["headSha"].as_str().unwrap();
    let states: Vec<String> = arena
        .statuses(head)
        .into_iter()
        .map(|(_, state)| state)
        .collect();
    assert_eq!(states, ["failure", "failure"]);
    // The command works: without the merge, the base is at the other person's commit again.
    arena
        .stage
        .git(&["checkout", "--quiet", "--detach", &landed]);
    arena
        .stage
        .git(&["revert", "--no-edit", "-m", "1", &landed]);
    let difference = arena
        .stage
        .git(&["diff", "--name-only", "HEAD", &format!("{landed}^1")]);
    assert_eq!(difference, "");
}

#[test]
fn a_team_that_is_killed_while_it_verifies_merges_nothing_and_leaves_no_workspace() {
    let arena = Arena::local();
    rule_that_waits(&arena);
    arena.cast(PRIMARY, APPROVES);
    let before = arena.published("main");
    let args = ["spawn-team", TASK, "--mode", "pingpong", "--auto-merge"];
    let mut team = arena.stage.start(&args);
    until("the verification", || !workspaces(&arena).is_empty());
    team.kill().unwrap();
    team.wait().unwrap();
    // The verifier notices that nobody waits any more, long before its stage would end.
    until("the end of the verifier", || workspaces(&arena).is_empty());
    arena.go();
    let shown = arena.stage.drive(&["runs", "list"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(!arena.seen().is_merged);
    assert_eq!(arena.published("main"), before);
}

#[test]
fn two_teams_that_merge_at_once_merge_only_what_passed_on_the_very_base() {
    let arena = Arena::local();
    rule_that_waits(&arena);
    // Each adds its own file: a change that is on the base already needs no merge.
    let own = "coder) echo mine > \"$DRIVE_RUN_ID.txt\";";
    arena.cast(&PRIMARY.replace("coder)", own), APPROVES);
    let before = arena.published("main");
    let start = |branch: &str| {
        let args = [
            "spawn-team",
            TASK,
            "--mode",
            "pingpong",
            "--auto-merge",
            "--branch",
            branch,
        ];
        arena.stage.start(&args)
    };
    let teams = [start("one"), start("two")];
    until("both verifications", || workspaces(&arena).len() == 2);
    for team in teams {
        let ended = let_go(&arena, team);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.document["mergedSha"].is_string(), "{ended:?}");
    }
    let merges = arena
        .stage
        .git(&["log", "--first-parent", "--format=%P", "main"]);
    let bases = merges.lines().filter_map(|parents| parents.split_once(' '));
    let mut bases: Vec<String> = bases.map(|(base, _)| base.to_owned()).collect();
    bases.reverse();
    assert_eq!((bases.len(), &bases[0]), (2, &before), "{merges}");
    let reports = reports(&arena);
    for base in bases {
        assert!(reports.contains(&("pass".to_owned(), base)), "{reports:?}");
    }
    assert_eq!(arena.stage.git(&["status", "--porcelain"]), "");
}
