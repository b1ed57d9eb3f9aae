//! Tests a forge with faults: each comment is answered once.

use crate::cruise::crew::{REPO, github, kill, status, until, until_quiet};
use crate::cruise::github::answers;
use crate::stage::Stage;
use drive_core::forge::ReviewState;
use drive_testkit::github::{Fault, FaultKind, Simulator};
use std::process::Child;
use std::time::Duration;

const FIRST: &str = "Who owns the login?";
const SECOND: &str = "And the tests?";

fn start(simulator: &Simulator, stage: &Stage) -> Child {
    let owner = stage.start(&["cruise", "run", "--plan-only", "Add user auth"]);
    until("the pull request", || status(stage)["prNumber"] == 1);
    until_quiet(stage, 0);
    assert_eq!(simulator.violations(), Vec::<String>::new());
    owner
}

fn fault(method: &'static str, path: &str, times: usize, kind: FaultKind) -> Fault {
    Fault {
        times,
        ..Fault::next(method, path, kind)
    }
}

/// Has two comments answered, with one fault from the beginning and one from a later moment.
fn each_comment_is_answered_once(first: impl Fn(&Simulator), then: impl Fn(&Simulator)) {
    let (simulator, stage) = github("200ms");
    first(&simulator);
    let owner = start(&simulator, &stage);
    for (round, words) in (1..).zip([FIRST, SECOND]) {
        simulator.clock().advance(Duration::from_secs(120));
        then(&simulator);
        simulator.comment(REPO, "ann", 1, words);
        until("the answer", || answers(&simulator, words) == 1);
        until_quiet(&stage, round);
    }
    for words in [FIRST, SECOND] {
        assert_eq!(answers(&simulator, words), 1, "{words}");
    }
    assert_eq!(status(&stage)["rounds"], 2);
    assert_eq!(simulator.pending_faults(), 0);
    kill(owner);
    assert_eq!(simulator.violations(), Vec::<String>::new());
    assert_eq!(stage.drive(&["cruise", "cleanup"]).code, Some(0));
}

#[test]
fn reversed_lists_lose_and_double_no_answer() {
    each_comment_is_answered_once(|hub| hub.reverse_lists(true), |_| {});
}

#[test]
fn a_forge_whose_clock_is_hours_apart_gets_each_answer_once() {
    for seconds in [7200, -7200] {
        each_comment_is_answered_once(|hub| hub.skew(seconds), |_| {});
    }
}

#[test]
fn a_reply_whose_answer_was_lost_is_posted_once() {
    let lost = FaultKind::BadGatewayAfterApplying;
    let lose = |hub: &Simulator| hub.inject(fault("POST", "/issues/1/comments", 1, lost));
    each_comment_is_answered_once(|_| {}, lose);
}

#[test]
fn secondary_limits_delay_answers_and_double_none() {
    let limit = FaultKind::SecondaryLimit(1);
    let slow = |hub: &Simulator| {
        hub.inject(fault("POST", "/issues/1/comments", 1, limit));
        hub.inject(fault("GET", "/issues/comments", 1, limit));
    };
    each_comment_is_answered_once(|_| {}, slow);
}

#[test]
fn a_comment_that_lists_show_late_is_answered_before_a_plan_counts_as_approved() {
    let (simulator, stage) = github("200ms");
    let owner = start(&simulator, &stage);
    let clock = simulator.clock().clone();
    let late = simulator.comment(REPO, "ann", 1, FIRST);
    simulator.hide_for(late, Duration::from_secs(600));
    clock.advance(Duration::from_secs(120));
    simulator.comment(REPO, "ann", 1, SECOND);
    until("the answer", || answers(&simulator, SECOND) == 1);
    until_quiet(&stage, 1);
    clock.advance(Duration::from_secs(600));
    // The comment is older than the last read position: only a complete reading finds it.
    simulator.review(REPO, "ann", 1, ReviewState::Approved, "");
    until("the late answer", || answers(&simulator, FIRST) == 1);
    until_quiet(&stage, 2);
    clock.advance(Duration::from_secs(120));
    simulator.review(REPO, "ann", 1, ReviewState::Approved, "");
    let ended = crate::stage::ended(owner);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for words in [FIRST, SECOND] {
        assert_eq!(answers(&simulator, words), 1, "{words}");
    }
    assert_eq!(simulator.violations(), Vec::<String>::new());
}
