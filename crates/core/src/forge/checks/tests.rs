use super::*;

fn head() -> CommitSha {
    CommitSha::new("0123456789abcdef0123456789abcdef01234567")
}

fn check(name: &str, state: CheckState) -> Check {
    Check {
        name: name.to_owned(),
        source: CheckSource::CheckRun,
        state,
        required: false,
        url: None,
        summary: None,
        failure: None,
    }
}

fn gate_of(checks: &[(&str, CheckState)], required: &[&str]) -> Gate {
    let checks = checks.iter().map(|(name, state)| check(name, *state));
    let required = required.iter().map(|&name| name.to_owned()).collect();
    gate(&Checks::new(head(), checks.collect(), required))
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn every_word_of_a_check_run_has_a_state() {
    for status in ["queued", "in_progress", "waiting", "requested", "pending"] {
        assert_eq!(CheckState::of_run(status, None), CheckState::Pending);
    }
    let ended = |word| CheckState::of_run("completed", Some(word));
    assert_eq!(ended("success"), CheckState::Passed);
    for word in ["neutral", "skipped"] {
        assert_eq!(ended(word), CheckState::Neutral);
    }
    for word in [
        "failure",
        "timed_out",
        "cancelled",
        "action_required",
        "startup_failure",
        "stale",
        "something_new",
    ] {
        assert_eq!(ended(word), CheckState::Failed, "{word}");
    }
    assert_eq!(CheckState::of_run("completed", None), CheckState::Failed);
}

#[test]
fn every_word_of_a_status_has_a_state() {
    assert_eq!(CheckState::of_status("success"), CheckState::Passed);
    assert_eq!(CheckState::of_status("failure"), CheckState::Failed);
    assert_eq!(CheckState::of_status("error"), CheckState::Failed);
    assert_eq!(CheckState::of_status("pending"), CheckState::Pending);
    assert_eq!(CheckState::of_status("new"), CheckState::Pending);
}

#[test]
fn without_required_checks_every_check_but_drives_own_counts() {
    use CheckState::{Failed, Neutral, Passed, Pending};
    assert_eq!(gate_of(&[], &[]), Gate::Green);
    assert_eq!(gate_of(&[("a", Passed), ("b", Neutral)], &[]), Gate::Green);
    assert_eq!(
        gate_of(&[("a", Passed), ("b", Pending)], &[]),
        Gate::Pending {
            names: names(&["b"])
        }
    );
    assert_eq!(
        gate_of(&[("c", Failed), ("b", Pending), ("a", Failed)], &[]),
        Gate::Red {
            names: names(&["a", "c"])
        }
    );
    let own = [(REVIEW_CONTEXT, Pending), (VERIFY_CONTEXT, Failed)];
    assert_eq!(gate_of(&own, &[]), Gate::Green);
}

#[test]
fn required_checks_decide_alone_and_an_absent_one_is_not_green() {
    use CheckState::{Failed, Passed, Pending};
    let checks = [("a", Passed), ("optional", Failed)];
    assert_eq!(gate_of(&checks, &["a"]), Gate::Green);
    assert_eq!(
        gate_of(&checks, &["a", "b"]),
        Gate::Missing {
            names: names(&["b"])
        }
    );
    assert_eq!(
        gate_of(&[("a", Pending)], &["a", "b"]),
        Gate::Pending {
            names: names(&["a"])
        }
    );
}

#[test]
fn a_required_status_of_drive_counts_by_what_it_says() {
    use CheckState::{Failed, Passed};
    let required = [VERIFY_CONTEXT];
    assert_eq!(gate_of(&[(VERIFY_CONTEXT, Passed)], &required), Gate::Green);
    assert_eq!(
        gate_of(&[(VERIFY_CONTEXT, Failed)], &required),
        Gate::Red {
            names: names(&[VERIFY_CONTEXT])
        }
    );
    assert_eq!(
        gate_of(&[], &required),
        Gate::Missing {
            names: names(&[VERIFY_CONTEXT])
        }
    );
}

#[test]
fn a_name_that_a_run_and_a_status_share_needs_both_to_pass() {
    let run = check("ci", CheckState::Passed);
    let status = Check {
        source: CheckSource::Status,
        ..check("ci", CheckState::Failed)
    };
    let checks = Checks::new(head(), vec![run, status], names(&["ci"]));
    assert_eq!(
        gate(&checks),
        Gate::Red {
            names: names(&["ci"])
        }
    );
    assert!(checks.checks.iter().all(|check| check.required));
}

#[test]
fn drives_own_failures_are_nothing_for_a_fixer() {
    let checks = vec![
        check(REVIEW_CONTEXT, CheckState::Failed),
        check("ci", CheckState::Failed),
        check("lint", CheckState::Passed),
    ];
    let checks = Checks::new(head(), checks, Vec::new());
    let failing: Vec<&str> = checks.failing().map(|check| check.name.as_str()).collect();
    assert_eq!(failing, ["ci"]);
}

fn failed(message: &str, log: &str) -> Check {
    let annotation = Annotation {
        path: "src/a.rs".to_owned(),
        line: 7,
        message: message.to_owned(),
    };
    Check {
        failure: Some(CheckFailure::new(
            "test",
            Some("Run tests".to_owned()),
            vec![annotation],
            Some(log.as_bytes()),
        )),
        ..check("ci", CheckState::Failed)
    }
}

#[test]
fn a_fingerprint_knows_the_same_failure_by_its_words() {
    let first = failed(
        "left: 4, right: 5",
        "2026-11-18T00:00:01.0000000Z took 0.41s\n2026-11-18T00:00:02.0000000Z at 7f3a9bc\n",
    );
    let again = failed(
        "left: 12, right: 5",
        "2026-11-19T10:20:30.1234567Z took 12.3s\n2026-11-19T10:20:31.0000000Z at 00fe12ab99\n",
    );
    assert_eq!(first.fingerprint(), again.fingerprint());
    let other = failed("no such function", "took 0.41s\nat 7f3a9bc\n");
    assert_ne!(first.fingerprint(), other.fingerprint());
    let another_check = Check {
        name: "lint".to_owned(),
        ..first.clone()
    };
    assert_ne!(first.fingerprint(), another_check.fingerprint());
}

#[test]
fn a_status_without_details_is_told_apart_by_its_description() {
    let status = |summary: &str| Check {
        summary: Some(summary.to_owned()),
        ..check("ci", CheckState::Failed)
    };
    let (one, two) = (status("build 12 failed"), status("build 13 failed"));
    assert_eq!(one.fingerprint(), two.fingerprint());
    assert_ne!(one.fingerprint(), status("tests failed").fingerprint());
}

#[test]
fn a_failure_is_kept_within_its_limits() {
    let annotation = Annotation {
        path: "a".to_owned(),
        line: 1,
        message: "ü".repeat(5000),
    };
    let log = "a line of the log\n".repeat(10_000);
    let kept = CheckFailure::new("job", None, vec![annotation; 100], Some(log.as_bytes()));
    assert_eq!(kept.annotations.len(), ANNOTATIONS);
    assert_eq!(kept.annotations[0].message.chars().count(), 1000);
    assert!(kept.log.is_some_and(|log| log.len() <= LOG_BYTES));
}

#[test]
fn an_excerpt_ends_at_the_last_error_without_times_and_colours() {
    let log = b"2026-11-18T00:00:01.0000000Z \x1b[31mred\x1b[0m\n\
        2026-11-18T00:00:02.0000000Z ##[error]Process completed with exit code 1.\n\
        2026-11-18T00:00:03.0000000Z Post job cleanup.\n";
    let kept = CheckFailure::new("job", None, Vec::new(), Some(log)).log;
    assert_eq!(
        kept.as_deref(),
        Some("red\n##[error]Process completed with exit code 1.")
    );
    let empty = CheckFailure::new("job", None, Vec::new(), Some(b" \n"));
    assert_eq!(empty.log, None);
}
