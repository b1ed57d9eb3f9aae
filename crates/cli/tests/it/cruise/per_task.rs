//! Tests tasks that each have a pull request into the branch of the cruise.

use super::building::{stage, states, task};
use crate::cruise::crew::{fixes, status, until};
use crate::stage::{Stage, ended, said};
use serde_json::Value;
use std::fs;

const RUN: [&str; 8] = [
    "cruise",
    "run",
    "Build it all",
    "--auto-approve",
    "--merge",
    "auto",
    "--pr-strategy",
    "per-task",
];

/// The pull request of a task, once it exists.
fn number(stage: &Stage, task: &str) -> Option<u64> {
    let now = status(stage);
    let tasks = now["tasks"].as_array()?;
    let found = tasks.iter().find(|one| one["id"] == task)?;
    found["prNumber"].as_u64()
}

fn shown(stage: &Stage, number: u64) -> Value {
    stage.drive(&["pr", "show", &number.to_string()]).document
}

fn never_bad(stage: &Stage, branch: &str) {
    let log = stage.git(&["log", "--first-parent", "--format=%H", branch]);
    for commit in log.lines() {
        let bad = stage.try_git(&["grep", "-qx", "bad", commit, "--", "*.txt"]);
        assert!(bad.is_err(), "{commit}");
    }
}

#[test]
fn each_task_lands_from_its_own_pull_request_as_a_verified_tree() {
    let stage = stage(&[
        task("a", "Write a.txt one", &[], "a.txt"),
        task("b", "Write b.txt bad", &["a"], "b.txt"),
    ]);
    let ended = stage.drive(&RUN);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(states(&status(&stage)), ["a landed", "b landed"]);
    let branch = status(&stage)["branch"].as_str().unwrap().to_owned();
    for id in ["a", "b"] {
        let pr = shown(&stage, number(&stage, id).unwrap());
        assert_eq!(pr["state"], "merged", "{pr}");
        assert_eq!(pr["base"], branch, "{pr}");
        let told = said(&pr).join("\n");
        assert!(
            told.contains("landed on the branch of the cruise"),
            "{told}"
        );
    }
    // A failing tree is fixed on the same pull request.
    let told = said(&shown(&stage, number(&stage, "b").unwrap())).join("\n");
    assert!(told.contains("does not land yet"), "{told}");
    assert_eq!(status(&stage)["tasks"][1]["attempts"], 1);
    assert_eq!(stage.git(&["show", "main:b.txt"]), "good");
    never_bad(&stage, &branch);
    let cockpit = shown(&stage, 1);
    let body = cockpit["body"].as_str().unwrap();
    assert!(body.contains("| task | state | pull request |"), "{body}");
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
}

#[test]
fn a_task_that_a_person_must_approve_waits_and_answers_comments_before_it_lands() {
    let stage = stage(&[task("a", "Write a.txt one", &[], "a.txt")]);
    let settings = fs::read_to_string(stage.path("repo/drive.toml")).unwrap();
    let settings = settings.replacen("[cruise]\n", "[cruise]\napprove_tasks = true\n", 1);
    fs::write(stage.path("repo/drive.toml"), settings).unwrap();
    stage.git(&["commit", "--quiet", "--all", "--message=Approve tasks"]);
    let cruise = stage.start(&RUN);
    until("the wait for an approval", || {
        let waits = status(&stage)["waitingFor"].as_str().map(str::to_owned);
        waits.is_some_and(|waits| waits.contains("task `a`: approve its pull request"))
    });
    let pull = number(&stage, "a").unwrap();
    let comment = stage.drive(&["pr", "comment", &pull.to_string(), "Please say why"]);
    assert_eq!(comment.code, Some(0), "{comment:?}");
    until("the answer", || {
        fixes(said(&shown(&stage, pull))).len() == 1
    });
    assert_eq!(states(&status(&stage)), ["a inReview"], "nobody approved");
    until("the wait for an approval", || {
        let waits = status(&stage)["waitingFor"].as_str().map(str::to_owned);
        waits.is_some_and(|waits| waits.contains("task `a`: approve its pull request"))
    });
    let approved = stage.drive(&["pr", "approve", &pull.to_string()]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    let ended = ended(cruise);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(stage.git(&["show", "main:a.txt"]), "one");
    assert_eq!(stage.git(&["show", "main:fixed.txt"]), "good");
    assert_eq!(fixes(said(&shown(&stage, pull))).len(), 1);
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
}
