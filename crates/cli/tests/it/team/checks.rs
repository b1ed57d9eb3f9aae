//! Tests checks in a whole run over HTTP: failing ones, endless ones, missing ones, and drive's own.

use crate::stage::{APPROVES, PRIMARY, TASK, ended, until};
use crate::team::arena::{Arena, REPO};
use crate::team::promoting::rule;
use drive_testkit::github::{LOGIN, SimCheckRun, Simulator};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::process::Child;

const PASSES: &str = "compile = [\"true\"]\ntargeted_tests = [\"grep\", \"two\", \"greet.txt\"]";

fn hub(arena: &Arena) -> &Simulator {
    arena.simulator.as_ref().unwrap()
}

fn said(arena: &Arena) -> String {
    hub(arena).conversation(REPO, 1).join("\n---\n")
}

/// A team that may merge, with this timeout for pending checks.
fn merging(timeout: &str) -> (Arena, Child) {
    let arena = Arena::simulated();
    let path = arena.stage.path("repo/drive.toml");
    let settings = fs::read_to_string(&path).unwrap();
    let kind = "kind = \"github\"\n";
    let patient = format!("{kind}checks_timeout = {timeout:?}\n");
    fs::write(&path, settings.replace(kind, &patient)).unwrap();
    rule(&arena, PASSES);
    arena.cast(PRIMARY, &arena.waits_in("Correctness", APPROVES));
    let args = ["spawn-team", TASK, "--mode", "github", "--auto-merge"];
    let team = arena.stage.start(&args);
    (arena, team)
}

fn head(arena: &Arena) -> String {
    hub(arena).pull_requests(REPO)[0].head_sha.clone()
}

#[test]
fn the_same_failed_check_on_three_commits_stops_a_team_and_is_said() {
    let (arena, mut team) = merging("2m");
    hub(&arena).rule_checks(REPO, &["build"]);
    arena.until_open();
    arena.go();
    let failed = SimCheckRun {
        title: Some("no greeting".to_owned()),
        ..SimCheckRun::ended("build", "failure")
    };
    let mut judged = BTreeSet::new();
    until("the end of the team", || {
        let head = head(&arena);
        if judged.insert(head.clone()) {
            hub(&arena).set_check_run(REPO, &head, &failed);
        }
        team.try_wait().unwrap().is_some()
    });
    let ended = arena.checked(ended(team));
    assert_eq!(
        (ended.code, &ended.document["failure"]["kind"]),
        (Some(1), &json!("checksFailed")),
        "{ended:?}"
    );
    assert!(!arena.seen().is_merged);
    let told = "Check `build` failed for the same reason on 3 commits";
    let said = said(&arena);
    assert!(said.contains(told), "{said}");
    assert_eq!(judged.len(), 3);
}

#[test]
fn a_check_that_never_ends_is_left_to_a_person_after_its_deadline() {
    let (arena, team) = merging("3s");
    arena.until_open();
    let pending = SimCheckRun::open("build", "in_progress");
    hub(&arena).set_check_run(REPO, &head(&arena), &pending);
    arena.go();
    let ended = arena.checked(ended(team));
    assert_eq!(
        (ended.code, &ended.document["failure"]["kind"]),
        (Some(1), &json!("checksPending")),
        "{ended:?}"
    );
    assert!(!arena.seen().is_merged);
    let said = said(&arena);
    assert!(
        said.contains("Not merged: check `build` still pending"),
        "{said}"
    );
}

#[test]
fn a_required_check_that_nobody_reports_keeps_a_team_from_merging() {
    let (arena, team) = merging("3s");
    hub(&arena).rule_checks(REPO, &["build"]);
    arena.until_open();
    arena.go();
    let ended = arena.checked(ended(team));
    assert_eq!(
        (ended.code, &ended.document["failure"]["kind"]),
        (Some(1), &json!("checksPending")),
        "{ended:?}"
    );
    assert!(!arena.seen().is_merged);
}

#[test]
fn the_verification_stands_on_the_exact_head_and_links_to_the_pull_request() {
    for is_app in [true, false] {
        let (arena, team) = merging("2m");
        if is_app {
            hub(&arena).make_app(REPO, LOGIN);
        }
        arena.until_open();
        arena.go();
        let ended = arena.checked(ended(team));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let head = ended.document["headSha"].as_str().unwrap();
        let runs = hub(&arena).check_runs(REPO, head).into_iter();
        let runs = runs.map(|(name, status, conclusion, _)| (name, status, conclusion));
        let statuses = arena.statuses(head).into_iter();
        let as_run = |(name, state)| (name, "completed".to_owned(), Some(state));
        let all: BTreeSet<_> = runs.chain(statuses.map(as_run)).collect();
        let green = |name: &str| {
            let (done, well) = ("completed".to_owned(), Some("success".to_owned()));
            (name.to_owned(), done, well)
        };
        assert_eq!(all, [green("drive/review"), green("drive/verify")].into());
        let links = hub(&arena).check_links(REPO, head);
        let is_linked =
            |link: &Option<String>| link.as_ref().is_some_and(|link| link.ends_with("/pull/1"));
        assert!(links.iter().all(is_linked), "{links:?}");
    }
}
