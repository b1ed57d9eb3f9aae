//! Tests checks on GitHub: all of them are read despite faults, with their details.

use crate::github_support::{Hub, REPO};
use drive_core::forge::checks::{Annotation, CheckSource, CheckState, Gate, LOG_BYTES, gate};
use drive_core::forge::{Check, Checks, PullRequest};
use drive_core::ids::BranchName;
use drive_core::problem::Kind;
use drive_engine::ports::{CheckReport, Forge, NewPullRequest, Reported, StatusState};
use drive_testkit::forge_contract::ForgeFixture;
use drive_testkit::github::{Fault, FaultKind, LOGIN, SimCheckRun, Simulator};

fn open(hub: &Hub) -> PullRequest {
    hub.push("feat/x", "a.txt", "a\n");
    let new = NewPullRequest {
        title: "x".to_owned(),
        body: String::new(),
        branch: BranchName::parse("feat/x").unwrap(),
        base: BranchName::parse("main").unwrap(),
        draft: false,
    };
    hub.forge.open(&new).unwrap()
}

fn checks(hub: &Hub, pr: &PullRequest) -> Checks {
    hub.forge.checks(pr.number, &pr.head_sha).unwrap()
}

fn one<'a>(checks: &'a Checks, name: &str) -> &'a Check {
    let mut all = checks.checks.iter();
    all.find(|check| check.name == name).unwrap()
}

fn named(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn check_runs_and_statuses_are_read_together() {
    let hub = Hub::start();
    let pr = open(&hub);
    let run = |run: &SimCheckRun| hub.simulator.set_check_run(REPO, &pr.head_sha, run);
    run(&SimCheckRun::ended("build", "success"));
    run(&SimCheckRun::ended("docs", "skipped"));
    run(&SimCheckRun::open("test", "in_progress"));
    hub.simulator
        .set_status(REPO, "ci-bot", &pr.head_sha, "lint", "success");
    let read = checks(&hub, &pr);
    let states: Vec<_> = read
        .checks
        .iter()
        .map(|check| (check.name.as_str(), check.source, check.state))
        .collect();
    assert_eq!(
        states,
        [
            ("build", CheckSource::CheckRun, CheckState::Passed),
            ("docs", CheckSource::CheckRun, CheckState::Neutral),
            ("lint", CheckSource::Status, CheckState::Passed),
            ("test", CheckSource::CheckRun, CheckState::Pending),
        ]
    );
    let names = named(&["test"]);
    assert_eq!(gate(&read), Gate::Pending { names });
    run(&SimCheckRun::ended("test", "success"));
    assert_eq!(gate(&checks(&hub, &pr)), Gate::Green);
}

#[test]
fn checks_that_a_ruleset_or_the_protection_requires_are_missed() {
    let hub = Hub::start();
    let pr = open(&hub);
    hub.simulator.rule_checks(REPO, &["build"]);
    hub.simulator.protect_checks(REPO, &["test"]);
    let run = SimCheckRun::ended("optional", "failure");
    hub.simulator.set_check_run(REPO, &pr.head_sha, &run);
    let read = checks(&hub, &pr);
    assert_eq!(read.required, ["build", "test"]);
    let names = named(&["build", "test"]);
    assert_eq!(gate(&read), Gate::Missing { names });
    for name in ["build", "test"] {
        let run = SimCheckRun::ended(name, "success");
        hub.simulator.set_check_run(REPO, &pr.head_sha, &run);
    }
    let read = checks(&hub, &pr);
    assert_eq!(gate(&read), Gate::Green);
    assert!(one(&read, "build").required && !one(&read, "optional").required);
}

#[test]
fn a_plan_without_rulesets_requires_what_the_protection_requires() {
    let hub = Hub::start();
    let pr = open(&hub);
    hub.simulator.take_rulesets(REPO);
    hub.simulator.protect_checks(REPO, &["test"]);
    assert_eq!(checks(&hub, &pr).required, ["test"]);
}

#[test]
fn a_failed_job_comes_with_its_step_its_annotations_and_the_end_of_its_log() {
    let hub = Hub::start();
    let pr = open(&hub);
    let noise = "2026-11-18T00:00:00.0000000Z noise noise noise\n".repeat(20_000);
    let log = format!("{noise}2026-11-18T00:00:01.0000000Z ##[error]exit code 1\nPost job\n");
    let annotation = |line, level: &str, message: &str| {
        (
            "a.txt".to_owned(),
            line,
            level.to_owned(),
            message.to_owned(),
        )
    };
    let run = SimCheckRun {
        title: Some("2 tests failed".to_owned()),
        annotations: vec![
            annotation(1, "warning", "unused"),
            annotation(7, "failure", "left: 1, right: 2"),
        ],
        failed_step: Some("Run tests".to_owned()),
        log: Some(log),
        ..SimCheckRun::ended("test", "failure")
    };
    hub.simulator.set_check_run(REPO, &pr.head_sha, &run);
    let read = checks(&hub, &pr);
    let check = one(&read, "test");
    assert_eq!(check.summary.as_deref(), Some("2 tests failed"));
    let failure = check.failure.clone().unwrap();
    assert_eq!(failure.job, "CI / test");
    assert_eq!(failure.step.as_deref(), Some("Run tests"));
    assert_eq!(
        failure.annotations[0],
        Annotation {
            path: "a.txt".to_owned(),
            line: 7,
            message: "left: 1, right: 2".to_owned(),
        }
    );
    assert_eq!(failure.annotations.len(), 2);
    let log = failure.log.unwrap();
    assert!(log.ends_with("noise\n##[error]exit code 1"), "{log}");
    assert!(log.len() <= LOG_BYTES);
}

#[test]
fn a_log_that_may_not_be_read_or_is_gone_is_left_out() {
    for hidden in [true, false] {
        let hub = Hub::start();
        let pr = open(&hub);
        let run = SimCheckRun {
            failed_step: Some("Run tests".to_owned()),
            log: hidden.then(|| "words".to_owned()),
            ..SimCheckRun::ended("test", "failure")
        };
        hub.simulator.set_check_run(REPO, &pr.head_sha, &run);
        if hidden {
            hub.simulator.hide_logs(REPO);
        }
        let failure = one(&checks(&hub, &pr), "test").failure.clone().unwrap();
        assert_eq!(failure.step.as_deref(), Some("Run tests"));
        assert_eq!(failure.log, None);
    }
}

#[test]
fn two_hundred_and_fifty_checks_are_all_read() {
    let hub = Hub::start();
    let pr = open(&hub);
    for number in 0..250 {
        let run = SimCheckRun::ended(&format!("run {number:03}"), "success");
        hub.simulator.set_check_run(REPO, &pr.head_sha, &run);
        let name = format!("status {number:03}");
        hub.simulator
            .set_status(REPO, "ci-bot", &pr.head_sha, &name, "success");
    }
    assert_eq!(checks(&hub, &pr).checks.len(), 500);
    // A new check on the last page must be found although the first pages are unchanged.
    let run = SimCheckRun::ended("run 999", "failure");
    hub.simulator.set_check_run(REPO, &pr.head_sha, &run);
    let names = named(&["run 999"]);
    assert_eq!(gate(&checks(&hub, &pr)), Gate::Red { names });
}

#[test]
fn a_list_that_cannot_be_read_is_an_error_and_never_an_empty_list() {
    for path in [
        "/check-runs",
        "/status",
        "/rules/branches/",
        "/branches/main",
    ] {
        for kind in [
            FaultKind::BadGateway,
            FaultKind::Truncated,
            FaultKind::CutShort,
            FaultKind::Unavailable,
        ] {
            let hub = Hub::start();
            let pr = open(&hub);
            let run = SimCheckRun::ended("test", "failure");
            hub.simulator.set_check_run(REPO, &pr.head_sha, &run);
            hub.simulator.inject(Fault {
                times: 1_000,
                ..Fault::next("GET", path, kind)
            });
            let read = hub.forge.checks(pr.number, &pr.head_sha);
            assert!(read.is_err(), "{path} {kind:?}: {read:?}");
        }
    }
}

#[test]
fn one_lost_answer_hides_no_check() {
    for path in ["/check-runs", "/status", "/annotations", "/actions/jobs/"] {
        for kind in [
            FaultKind::BadGateway,
            FaultKind::Truncated,
            FaultKind::CutShort,
        ] {
            let hub = Hub::start();
            let pr = open(&hub);
            let run = SimCheckRun {
                annotations: vec![(
                    "a.txt".to_owned(),
                    1,
                    "failure".to_owned(),
                    "words".to_owned(),
                )],
                ..SimCheckRun::ended("test", "failure")
            };
            hub.simulator.set_check_run(REPO, &pr.head_sha, &run);
            hub.simulator.inject(Fault::next("GET", path, kind));
            let read = checks(&hub, &pr);
            assert_eq!(hub.simulator.pending_faults(), 0, "{kind:?} missed {path}");
            let failure = one(&read, "test").failure.clone().unwrap();
            assert_eq!(failure.annotations.len(), 1);
        }
    }
}

#[test]
fn a_tag_that_lies_does_not_let_a_red_head_land() {
    let hub = Hub::start();
    let pr = open(&hub);
    let run = SimCheckRun::ended("test", "success");
    hub.simulator.set_check_run(REPO, &pr.head_sha, &run);
    assert_eq!(gate(&checks(&hub, &pr)), Gate::Green);
    let run = SimCheckRun::ended("test", "failure");
    hub.simulator.set_check_run(REPO, &pr.head_sha, &run);
    hub.simulator.inject(Fault {
        times: 1_000,
        ..Fault::next("GET", "/commits/", FaultKind::FalselyUnchanged)
    });
    let names = named(&["test"]);
    assert_eq!(gate(&checks(&hub, &pr)), Gate::Red { names });
}

#[test]
fn an_unchanged_red_result_costs_no_requests_that_count() {
    let hub = Hub::start();
    let pr = open(&hub);
    hub.simulator
        .set_status(REPO, "ci-bot", &pr.head_sha, "lint", "failure");
    // The first read of the pull request makes GitHub compute whether it can be merged.
    checks(&hub, &pr);
    let first = checks(&hub, &pr);
    hub.simulator.forget_requests();
    assert_eq!(checks(&hub, &pr), first);
    let statuses = hub.simulator.requests();
    assert!(statuses.iter().all(|request| request.status == 304));
    assert_eq!(statuses.len(), 5);
}

fn report<'a>(state: StatusState, annotations: &'a [Annotation]) -> CheckReport<'a> {
    CheckReport {
        name: "drive/verify",
        id: "r1",
        state,
        title: "verification",
        body: "# All of it",
        annotations,
        url: Some("https://example.com/report"),
    }
}

fn places(count: u64) -> Vec<Annotation> {
    let place = |line| Annotation {
        path: "a.txt".to_owned(),
        line,
        message: "words".to_owned(),
    };
    (0..count).map(place).collect()
}

#[test]
fn an_app_reports_a_check_run_with_annotations_that_ends_red() {
    let hub = Hub::start();
    let pr = open(&hub);
    hub.simulator.make_app(REPO, LOGIN);
    let pending = report(StatusState::Pending, &[]);
    let reported = hub.forge.report_check(&pr.head_sha, &pending).unwrap();
    assert_eq!(reported, Reported::CheckRun);
    let run = |status: &str, conclusion: Option<&str>, count| {
        let conclusion = conclusion.map(str::to_owned);
        [(
            "drive/verify".to_owned(),
            status.to_owned(),
            conclusion,
            count,
        )]
    };
    let runs = || hub.simulator.check_runs(REPO, &pr.head_sha);
    assert_eq!(runs(), run("in_progress", None, 0));
    let places = places(60);
    let red = report(StatusState::Failure, &places);
    hub.forge.report_check(&pr.head_sha, &red).unwrap();
    hub.forge.report_check(&pr.head_sha, &red).unwrap();
    assert_eq!(runs(), run("completed", Some("failure"), 50));
    assert_eq!(hub.simulator.statuses(REPO, &pr.head_sha), []);
}

#[test]
fn a_report_stands_once_whatever_happens_to_its_answer() {
    for kind in [
        FaultKind::BadGateway,
        FaultKind::BadGatewayAfterApplying,
        FaultKind::HangAfterApplying,
        FaultKind::Truncated,
        FaultKind::CutShort,
        FaultKind::SecondaryLimit(7),
    ] {
        let hub = Hub::start();
        let pr = open(&hub);
        hub.simulator.make_app(REPO, LOGIN);
        let places = places(2);
        for (method, state) in [
            ("POST", StatusState::Pending),
            ("PATCH", StatusState::Success),
        ] {
            hub.simulator
                .inject(Fault::next(method, "/check-runs", kind));
            let report = report(state, if method == "PATCH" { &places } else { &[] });
            let reported = hub.forge.report_check(&pr.head_sha, &report).unwrap();
            assert_eq!(reported, Reported::CheckRun, "{kind:?}");
            assert_eq!(hub.simulator.pending_faults(), 0);
        }
        let runs = hub.simulator.check_runs(REPO, &pr.head_sha);
        assert_eq!(runs.len(), 1, "{kind:?}");
        assert_eq!((runs[0].2.as_deref(), runs[0].3), (Some("success"), 2));
    }
}

#[test]
fn a_token_of_a_person_reports_a_status() {
    let hub = Hub::start();
    let pr = open(&hub);
    let red = report(StatusState::Failure, &[]);
    let reported = hub.forge.report_check(&pr.head_sha, &red).unwrap();
    assert_eq!(reported, Reported::Status);
    let statuses = hub.simulator.statuses(REPO, &pr.head_sha);
    assert_eq!(
        statuses,
        [("drive/verify".to_owned(), "failure".to_owned())]
    );
    assert_eq!(hub.simulator.check_runs(REPO, &pr.head_sha), []);
}

#[test]
fn a_token_that_is_refused_is_no_reason_for_a_status() {
    let hub = Hub::start();
    let pr = open(&hub);
    let simulator: &Simulator = &hub.simulator;
    simulator.inject(Fault {
        times: 1_000,
        ..Fault::next("", "/check-runs", FaultKind::Unavailable)
    });
    let red = report(StatusState::Failure, &[]);
    let problem = hub.forge.report_check(&pr.head_sha, &red).unwrap_err();
    assert_eq!(problem.kind, Kind::ForgeFailed);
    assert_eq!(simulator.statuses(REPO, &pr.head_sha), []);
}
