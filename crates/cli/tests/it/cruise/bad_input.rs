//! What is wrong is said before anything is made.

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
