use super::*;
use crate::verify::envelope::{StageName, StageTests};

fn stage(status: StageStatus, exit_code: i32, output: &str) -> Stage {
    Stage {
        ended: Some(StageEnd::Exited),
        exit_code: Some(exit_code),
        stdout_tail: output.to_owned(),
        reason: (exit_code != 0).then(|| format!("exit code {exit_code}")),
        ..Stage::unrun(StageName::TargetedTests, "all", &[], status)
    }
}

fn failed(output: &str) -> Stage {
    stage(StageStatus::Fail, 1, output)
}

#[test]
fn what_fails_on_the_base_as_well_is_not_the_candidates_fault() {
    let stage = attributed(failed(""), &fails("exit code 2", &[]));
    assert_eq!(stage.fault, Some(Fault::Baseline));
    let reason = "exit code 1; it fails on the base as well: exit code 2";
    assert_eq!(stage.reason.as_deref(), Some(reason));
    assert_eq!(stage.status, StageStatus::Fail);
}

fn fails(reason: &str, tests: &[&str]) -> OnBase {
    OnBase::Fails(BaseFailure {
        ended: StageEnd::Exited,
        reason: reason.to_owned(),
        tests: tests.iter().map(|&test| test.to_owned()).collect(),
        unnamed: 0,
        blames: None,
    })
}

#[test]
fn a_test_that_fails_only_here_is_the_candidates_fault_on_a_red_base() {
    let mut stage = failed("");
    stage.failed_tests = vec!["a".to_owned(), "b".to_owned()];
    let stage = attributed(stage, &fails("exit code 1", &["a"]));
    assert_eq!(stage.fault, None);
    let reason = stage.reason.unwrap();
    assert!(reason.ends_with("not failing on the base: `b`"), "{reason}");
}

#[test]
fn a_failing_test_is_no_fault_of_the_machine_whatever_it_can_cause_itself() {
    let mut stage = failed("listen EADDRINUSE: address already in use");
    stage.failed_tests = vec!["a".to_owned()];
    let stage = attributed(stage, &OnBase::Unknown(None));
    assert_eq!((stage.fault, stage.status), (None, StageStatus::Fail));
}

#[test]
fn what_no_test_can_help_is_the_machines_also_where_a_test_met_it() {
    for (output, expected) in [
        (
            "OSError: [Errno 28] No space left on device",
            "the disk is full",
        ),
        (
            "Error: ENOSPC: no space left on device, write",
            "the disk is full",
        ),
        (
            "Cannot allocate memory (os error 12)",
            "the machine has no memory left",
        ),
        ("network is unreachable", "it could not reach the network"),
        (
            "A jest worker process (pid=7) was terminated by another process: signal=SIGKILL",
            "the system killed one of its processes, possibly for lack of memory",
        ),
    ] {
        let mut stage = failed(output);
        stage.failed_tests = vec!["a".to_owned()];
        assert!(blames_machine(&stage), "{output}");
        for on_base in [OnBase::Unknown(None), fails("exit code 1", &["b"])] {
            let stage = attributed(stage.clone(), &on_base);
            let found = (stage.fault, stage.status);
            assert_eq!(found, (Some(Fault::Infra), StageStatus::Error), "{output}");
            let reason = format!("exit code 1: {expected}");
            assert_eq!(stage.reason.as_deref(), Some(reason.as_str()));
        }
    }
}

#[test]
fn what_the_base_prints_as_well_excuses_no_test_that_passes_there() {
    let mut stage = failed("No space left on device");
    stage.failed_tests = vec!["a".to_owned()];
    let OnBase::Fails(base) = fails("exit code 1", &["b"]) else {
        panic!("it fails");
    };
    let base = OnBase::Fails(BaseFailure {
        blames: Some("the disk is full"),
        ..base
    });
    let stage = attributed(stage, &base);
    assert_eq!((stage.fault, stage.status), (None, StageStatus::Fail));
}

#[test]
fn a_command_that_kills_itself_blames_no_machine() {
    let killed = |signal| Stage {
        ended: Some(StageEnd::Signalled),
        exit_code: None,
        signal: Some(signal),
        ..failed("")
    };
    let by_shell = stage(StageStatus::Fail, 137, "Killed");
    for stage in [killed(9), killed(11), by_shell] {
        let stage = attributed(stage, &OnBase::Unknown(None));
        assert_eq!((stage.fault, stage.status), (None, StageStatus::Fail));
    }
}

#[test]
fn what_passes_on_the_base_is_the_candidates_fault_whatever_it_prints() {
    let stage = attributed(failed("bind: Address already in use"), &OnBase::Passes);
    assert_eq!(stage.fault, None);
    let reason = "exit code 1; it passes on the base";
    assert_eq!(stage.reason.as_deref(), Some(reason));
}

#[test]
fn what_the_machine_lacks_is_no_fault_of_the_candidate() {
    for (output, code, expected) in [
        ("write: No space left on device", 1, "the disk is full"),
        (
            "Error: listen EADDRINUSE: address already in use :::3000",
            1,
            "a port that it needs is taken",
        ),
        (
            "mkdir: Read-only file system",
            1,
            "it wrote to a folder that is read-only here",
        ),
        (
            "ssl.SSLCertVerificationError: certificate verify failed",
            1,
            "a certificate is not trusted here",
        ),
        (
            "error: Failed to download `a==1`\n  cause: invalid peer certificate: UnknownIssuer",
            2,
            "a certificate is not trusted here",
        ),
        (
            "All attempts to connect to pypi.org failed.",
            1,
            "it could not reach the network",
        ),
        (
            "npm error getaddrinfo EAI_AGAIN registry",
            1,
            "it could not reach the network",
        ),
        (
            "error: package `x v1` cannot be built because it requires rustc 1.99 or newer, while the currently active rustc version is 1.95.0",
            101,
            "a tool has the wrong version",
        ),
        (
            "make: protoc: No such file or directory\nmake: *** [Makefile:2: gen] Error 127",
            2,
            "a program it needs is not installed",
        ),
        (
            "sh: 1: protoc: not found",
            127,
            "a program it needs is not installed",
        ),
    ] {
        for on_base in [OnBase::Unknown(None), fails("exit code 1", &[])] {
            let stage = attributed(stage(StageStatus::Fail, code, output), &on_base);
            assert_eq!(stage.fault, Some(Fault::Infra), "{output}");
            let reason = stage.reason.unwrap();
            assert!(reason.ends_with(expected), "{reason}");
        }
    }
}

#[test]
fn an_ordinary_failure_that_could_not_be_compared_says_why() {
    let unknown = OnBase::Unknown(Some("no time is left".to_owned()));
    let stage = attributed(failed("1 != 2"), &unknown);
    assert_eq!(stage.fault, None);
    let reason = "exit code 1; not compared with the base: no time is left";
    assert_eq!(stage.reason.as_deref(), Some(reason));
    let stage = attributed(failed("1 != 2"), &OnBase::Unknown(None));
    assert_eq!(stage.reason.as_deref(), Some("exit code 1"));
}

#[test]
fn a_flaky_stage_passes_only_where_the_settings_allow_it() {
    let mut first = failed("test adds ... FAILED");
    first.failed_tests = vec!["adds".to_owned()];
    let second = stage(StageStatus::Pass, 0, "1 passed");
    for (policy, status, code) in [
        (FlakyTests::Fail, StageStatus::Fail, 1),
        (FlakyTests::Allow, StageStatus::Pass, 0),
    ] {
        let stage = flaky(&first, second.clone(), policy);
        assert_eq!((stage.status, stage.exit_code), (status, Some(code)));
        assert_eq!(stage.fault, Some(Fault::Flaky));
        let reason = "exit code 1 (`adds`), then passed on the same tree";
        assert_eq!(stage.reason.as_deref(), Some(reason));
    }
}

#[test]
fn every_end_that_the_candidate_can_cause_is_compared_and_only_its_own_is_tried_again() {
    for (ended, status, compared, tried) in [
        (StageEnd::Exited, StageStatus::Fail, true, true),
        (StageEnd::Signalled, StageStatus::Fail, true, true),
        (StageEnd::Tampered, StageStatus::Fail, true, false),
        (StageEnd::TimedOut, StageStatus::Timeout, true, false),
        (StageEnd::MemoryLimit, StageStatus::Fail, true, false),
        (StageEnd::OutputLimit, StageStatus::Fail, true, false),
        (StageEnd::LeakedProcesses, StageStatus::Fail, true, false),
        (StageEnd::Infra, StageStatus::Error, false, false),
        (StageEnd::Aborted, StageStatus::Error, false, false),
        (StageEnd::Exited, StageStatus::Pass, false, false),
    ] {
        let stage = Stage {
            ended: Some(ended),
            ..stage(status, 1, "")
        };
        let found = (deserves_second_look(&stage), may_be_flaky(&stage));
        assert_eq!(found, (compared, tried), "{ended:?}");
    }
}

fn ended(ended: StageEnd, status: StageStatus, reason: &str) -> Stage {
    Stage {
        ended: Some(ended),
        reason: Some(reason.to_owned()),
        ..stage(status, 0, "write: No space left on device")
    }
}

#[test]
fn a_limit_that_the_base_reaches_as_well_is_not_the_candidates_fault() {
    let late = || ended(StageEnd::TimedOut, StageStatus::Timeout, "too late");
    let leaky = || ended(StageEnd::LeakedProcesses, StageStatus::Fail, "left 1");
    let table = [
        (late(), on_base(late()), Some(Fault::Baseline)),
        (leaky(), on_base(leaky()), Some(Fault::Baseline)),
        (late(), on_base(leaky()), None),
        (leaky(), on_base(late()), None),
        (late(), on_base(failed("")), None),
        (failed("1 != 2"), on_base(late()), None),
        (late(), OnBase::Passes, None),
        (late(), OnBase::Unknown(None), None),
    ];
    for (stage, base, expected) in table {
        let status = stage.status;
        let found = attributed(stage, &base);
        assert_eq!((found.fault, found.status), (expected, status), "{base:?}");
    }
}

#[test]
fn a_failure_of_which_not_every_test_is_named_is_not_the_bases() {
    let with = |names: &[&str], failed_tests: u64| Stage {
        failed_tests: names.iter().map(|&name| name.to_owned()).collect(),
        tests: Some(StageTests {
            ran: 9,
            failed: failed_tests,
        }),
        ..failed("")
    };
    for (here, there, fault, end) in [
        (
            with(&["a"], 1),
            with(&["a"], 1),
            Some(Fault::Baseline),
            "exit code 1",
        ),
        (
            with(&["a"], 2),
            with(&["a"], 1),
            None,
            "its output names 1 of 2 failing tests",
        ),
        (
            with(&[], 1),
            with(&[], 1),
            None,
            "its output names 0 of 1 failing tests",
        ),
        (
            with(&["a", "b"], 2),
            with(&["a"], 2),
            None,
            "the output of the base names 1 of 2 failing tests",
        ),
        (
            with(&["a"], 1),
            with(&["a"], 3),
            Some(Fault::Baseline),
            "exit code 1",
        ),
    ] {
        let stage = attributed(here, &on_base(there));
        assert_eq!(stage.fault, fault);
        let reason = stage.reason.unwrap();
        assert!(reason.ends_with(end), "{reason}");
    }
}

#[test]
fn a_fault_of_the_machine_that_is_gone_is_no_verdict() {
    let first = failed("listen EADDRINUSE: address already in use");
    assert!(blames_machine(&first));
    assert!(!blames_machine(&failed("1 != 2")));
    let stage = gone(first);
    assert_eq!(
        (stage.fault, stage.status),
        (Some(Fault::Infra), StageStatus::Error)
    );
    let reason = "exit code 1: a port that it needs is taken; passed when retried";
    assert_eq!(stage.reason.as_deref(), Some(reason));
}
