//! Checks of a head, and drive's own reports on it.

use super::ForgeFixture;
use super::fixture::open;
use drive_core::forge::checks::{CheckState, Gate, VERIFY_CONTEXT, gate};
use drive_core::forge::{Check, PullRequest};
use drive_core::ids::CommitSha;
use drive_engine::ports::{CheckReport, CommitStatus, StatusState};

fn say(fixture: &dyn ForgeFixture, pr: &PullRequest, context: &str, state: StatusState) {
    let status = CommitStatus {
        context,
        state,
        description: "said by the suite",
        url: None,
    };
    fixture.forge().set_status(&pr.head_sha, &status).unwrap();
}

fn checks(fixture: &dyn ForgeFixture, pr: &PullRequest) -> Vec<Check> {
    let checks = fixture.forge().checks(pr.number, &pr.head_sha).unwrap();
    assert_eq!(checks.head, pr.head_sha);
    assert_eq!(checks.required, Vec::<String>::new());
    checks.checks
}

fn states(checks: &[Check]) -> Vec<(&str, CheckState)> {
    let states = checks.iter().map(|one| (one.name.as_str(), one.state));
    states.collect()
}

/// The newest status of each context appears as a check.
pub fn the_statuses_of_a_head_are_its_checks(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/checks");
    assert_eq!(checks(fixture, &pr), []);
    say(fixture, &pr, "lint", StatusState::Success);
    say(fixture, &pr, "build", StatusState::Pending);
    let all = fixture.forge().checks(pr.number, &pr.head_sha).unwrap();
    let names = vec!["build".to_owned()];
    assert_eq!(gate(&all), Gate::Pending { names });
    say(fixture, &pr, "build", StatusState::Error);
    say(fixture, &pr, "test", StatusState::Failure);
    let all = checks(fixture, &pr);
    assert_eq!(
        states(&all),
        [
            ("build", CheckState::Failed),
            ("lint", CheckState::Passed),
            ("test", CheckState::Failed),
        ]
    );
    assert_eq!(all[1].summary.as_deref(), Some("said by the suite"));
}

/// A check belongs to one commit.
pub fn a_newer_head_has_no_checks_yet(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/checked");
    say(fixture, &pr, "lint", StatusState::Success);
    let head = CommitSha::new(fixture.push("feat/checked", "b.txt", "b\n"));
    let newer = fixture.forge().checks(pr.number, &head).unwrap();
    assert_eq!(newer.checks, []);
    assert_eq!(checks(fixture, &pr).len(), 1);
}

fn report<'a>(state: StatusState, title: &'a str) -> CheckReport<'a> {
    CheckReport {
        name: VERIFY_CONTEXT,
        id: "r1",
        state,
        title,
        body: "All of it.",
        annotations: &[],
        url: None,
    }
}

/// A pending report is replaced by its result, and exists once.
pub fn a_report_is_changed_from_pending_to_its_result(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/report");
    for (state, title, expected) in [
        (StatusState::Pending, "running", CheckState::Pending),
        (StatusState::Failure, "2 tests failed", CheckState::Failed),
        (StatusState::Failure, "2 tests failed", CheckState::Failed),
    ] {
        let report = report(state, title);
        fixture.forge().report_check(&pr.head_sha, &report).unwrap();
        let all = checks(fixture, &pr);
        assert_eq!(states(&all), [(VERIFY_CONTEXT, expected)]);
        assert_eq!(all[0].summary.as_deref(), Some(title));
    }
}

/// A report whose answer was lost is found, not posted again.
pub fn a_lost_answer_does_not_report_twice(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/lost");
    fixture.lose_next_answer();
    let report = report(StatusState::Success, "passed");
    fixture.forge().report_check(&pr.head_sha, &report).unwrap();
    let all = checks(fixture, &pr);
    assert_eq!(states(&all), [(VERIFY_CONTEXT, CheckState::Passed)]);
}
