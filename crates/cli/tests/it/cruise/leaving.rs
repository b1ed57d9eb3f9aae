//! Tests what the pull request says about a cruise that ends early.

use super::building::{args, stage, states, task};
use crate::cruise::crew::{status, until};
use crate::stage::ended;

#[test]
fn the_pull_request_says_that_a_cruise_was_cleaned_up_and_what_landed() {
    let stage = stage(&[
        task("a", "Write a.txt one", &[], "a.txt"),
        task("b", "Write b.txt bad", &["a"], "b.txt"),
    ]);
    let args = args(&stage);
    let cruise = stage.start(&args.iter().map(String::as_str).collect::<Vec<_>>());
    until("the block", || {
        states(&status(&stage)) == ["a landed", "b blocked"]
    });
    let cleaned = stage.drive(&["cruise", "cleanup"]);
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
    ended(cruise);
    let pr = stage.pull_request();
    let body = pr["body"].as_str().unwrap();
    let line = "1 of 2 tasks landed. The cruise was stopped: cleaned up on request.";
    assert!(body.contains(line), "{body}");
    let comments = pr["comments"].as_array().unwrap();
    let said = comments
        .iter()
        .filter_map(|one| one["body"].as_str())
        .filter(|text| text.contains("The cruise was stopped: cleaned up on request."));
    assert_eq!(said.count(), 1, "{comments:?}");
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
}
