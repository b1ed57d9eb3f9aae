//! Tests that errors are reported before anything is created.

use crate::cruise::crew::{APPROVES, PRIMARY};
use crate::stage::Stage;
use serde_json::{Value, json};
use std::fs;

fn failure(stage: &Stage, args: &[&str]) -> (Option<i32>, String) {
    let ended = stage.drive(args);
    let kind = ended.document["failure"]["kind"]
        .as_str()
        .unwrap_or_default();
    (ended.code, kind.to_owned())
}

#[test]
fn wrong_words_are_refused_by_name() {
    let stage = Stage::new(PRIMARY, APPROVES);
    let table: [(&[&str], &str); 8] = [
        (&["cruise", "run", "--plan-only", "  "], "taskEmpty"),
        (
            &["cruise", "run", "--plan-only", "x", "--plan-file", "no.md"],
            "planUnreadable",
        ),
        (
            &["cruise", "run", "--plan-only", "x", "--planner", "nobody"],
            "settingsInvalid",
        ),
        (&["cruise", "status"], "noCruise"),
        (&["cruise", "status", "r1"], "unknownCruise"),
        (&["cruise", "fix"], "noCruise"),
        (&["cruise", "approve"], "noCruise"),
        (&["cruise", "cleanup", "r1"], "unknownCruise"),
    ];
    for (args, kind) in table {
        assert_eq!(
            failure(&stage, args),
            (Some(2), kind.to_owned()),
            "{args:?}"
        );
    }
    assert_eq!(stage.git(&["branch", "--list"]), "* main");
}

#[test]
fn a_plan_of_the_persons_own_is_checked_first_and_used_as_it_is() {
    let stage = Stage::new(PRIMARY, APPROVES);
    fs::write(stage.path("home/plan.md"), "no tasks\n").unwrap();
    let plan = stage.path("home/plan.md");
    let plan = plan.to_str().unwrap();
    let args = [
        "cruise",
        "run",
        "--plan-only",
        "x",
        "--auto-approve",
        "--plan-file",
        plan,
    ];
    assert_eq!(failure(&stage, &args), (Some(2), "planInvalid".to_owned()));
    fs::write(
        stage.path("home/plan.md"),
        "Mine.\n\n```json tasks\n[{\"id\": \"a\", \"title\": \"A\", \"description\": \"d\", \"acceptance\": [\"x\"]}]\n```\n",
    )
    .unwrap();
    let ended = stage.drive(&args);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let (verdict, record) = (&ended.document["verdict"], &ended.document["record"]);
    assert_eq!(*verdict, Value::Null, "nobody reviewed it");
    assert_eq!(record["reviews"], json!([]), "{record:#}");
    assert!(
        stage
            .git(&["show", "user-auth:plan.md"])
            .starts_with("Mine.")
    );
}

#[test]
fn flags_of_a_build_are_refused_with_plan_only() {
    let stage = Stage::new(PRIMARY, APPROVES);
    let flags = [
        ["--level", "functional"],
        ["--merge", "auto"],
        ["--pr-strategy", "per-task"],
        ["--max-parallel", "2"],
    ];
    for [flag, value] in flags {
        let args = ["cruise", "run", "--plan-only", "x", flag, value];
        assert_is_refused(&stage, &args, flag);
    }
}

#[test]
fn auto_approve_is_refused_where_no_plan_waits_for_an_approval() {
    let stage = Stage::new(PRIMARY, APPROVES);
    let args = [
        "cruise",
        "run",
        "x",
        "--build-only",
        "--plan-file",
        "plan.md",
        "--auto-approve",
    ];
    assert_is_refused(&stage, &args, "--auto-approve");
}

fn assert_is_refused(stage: &Stage, args: &[&str], flag: &str) {
    let ended = stage.drive(args);
    let failure = &ended.document["failure"];
    assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
    assert_eq!(failure["kind"], "usage", "{args:?}: {ended:?}");
    let message = failure["message"].as_str().unwrap_or_default();
    assert!(message.contains(flag), "{args:?}: {message}");
}
