//! Tests that of two owners only one acts.

use crate::cruise::crew::{kill, local, until};
use crate::stage::Stage;
use serde_json::Value;

fn cruises(stage: &Stage) -> Vec<Value> {
    let list = stage.drive(&["cruise", "list"]).document;
    list["cruises"].as_array().unwrap().clone()
}

fn until_all_quiet(stage: &Stage, rounds: u64) {
    until("the quiet", || {
        let now = cruises(stage);
        let is_quiet = |one: &Value| {
            one["state"] == "polling"
                && one["pendingComments"] == 0
                && one["domain"].is_null()
                && one["prNumber"].is_number()
                && one["rounds"].as_u64().is_some_and(|had| had >= rounds)
        };
        now.len() == 2 && now.iter().all(is_quiet)
    });
}

/// How often comments of a pull request were answered.
fn answers(stage: &Stage, pr: &str) -> usize {
    let shown = stage.drive(&["pr", "show", pr]).document;
    let comments = shown["comments"].as_array().unwrap();
    let is_fix = |one: &&Value| one["body"].as_str().unwrap().contains("\n\nFixed in ");
    comments.iter().filter(is_fix).count()
}

#[test]
fn two_that_resume_everything_at_once_answer_each_comment_once() {
    let stage = local();
    let tasks = ["Add user auth", "Add user auth too"];
    let first = tasks.map(|task| stage.start(&["cruise", "run", "--plan-only", task]));
    until_all_quiet(&stage, 0);
    first.into_iter().for_each(kill);
    for pr in ["1", "2"] {
        stage.drive(&["pr", "comment", pr, "Who owns the login?"]);
    }
    let owners = [(); 2].map(|()| stage.start(&["cruise", "resume", "--all"]));
    until_all_quiet(&stage, 1);
    for remark in 2..=4 {
        for pr in ["1", "2"] {
            stage.drive(&["pr", "comment", pr, &format!("Remark {remark}")]);
        }
        until("the answers", || {
            answers(&stage, "1") >= remark && answers(&stage, "2") >= remark
        });
    }
    until_all_quiet(&stage, 2);
    assert_eq!((answers(&stage, "1"), answers(&stage, "2")), (4, 4));
    owners.into_iter().for_each(kill);
    for cruise in cruises(&stage) {
        let id = cruise["id"].as_str().unwrap();
        assert_eq!(stage.drive(&["cruise", "cleanup", id]).code, Some(0));
    }
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
}
