use super::*;
use crate::process::DiskBound;

fn seen(end: End) -> Observation {
    Observation {
        end,
        tampered: Vec::new(),
        tests: TestsRan::Unknown,
        untested: Vec::new(),
        timeout: Duration::from_secs(30),
        not_ready: None,
    }
}

#[test]
fn every_end_has_its_status_and_category() {
    use FailureCategory as C;
    use StageEnd as E;
    use StageStatus as S;
    let table = [
        (End::Exited { code: 1 }, S::Fail, E::Exited, C::Compile),
        (End::Exited { code: 137 }, S::Fail, E::Exited, C::Compile),
        (
            End::Signalled { signal: 9 },
            S::Fail,
            E::Signalled,
            C::Compile,
        ),
        (
            End::TimedOut {
                bound: TimeBound::Wall,
            },
            S::Timeout,
            E::TimedOut,
            C::Timeout,
        ),
        (
            End::TimedOut {
                bound: TimeBound::Idle,
            },
            S::Timeout,
            E::TimedOut,
            C::Timeout,
        ),
        (End::MemoryLimit, S::Fail, E::MemoryLimit, C::Resource),
        (End::ProcessLimit, S::Fail, E::ProcessLimit, C::Resource),
        (
            End::DiskLimit {
                bound: DiskBound::Bytes(1),
            },
            S::Fail,
            E::DiskLimit,
            C::Resource,
        ),
        (
            End::DiskLimit {
                bound: DiskBound::FreeBytes(1),
            },
            S::Error,
            E::Infra,
            C::Infra,
        ),
        (End::OutputLimit, S::Fail, E::OutputLimit, C::Resource),
        (
            End::LeakedProcesses { count: 1 },
            S::Fail,
            E::LeakedProcesses,
            C::Resource,
        ),
        (End::Aborted, S::Error, E::Aborted, C::Infra),
        (
            End::Infra {
                message: "no".to_owned(),
            },
            S::Error,
            E::Infra,
            C::Infra,
        ),
    ];
    for (end, status, ended, expected) in table {
        let judged = judge(StageName::Compile, &seen(end.clone()));
        assert_eq!((judged.status, judged.ended), (status, ended), "{end:?}");
        assert!(judged.reason.is_some(), "{end:?} explains itself");
        assert_eq!(
            category(StageName::Compile, judged.ended),
            expected,
            "{end:?}"
        );
    }
}

#[test]
fn the_commands_own_failure_is_named_after_its_stage() {
    assert_eq!(
        category(StageName::Compile, StageEnd::Exited),
        FailureCategory::Compile
    );
    assert_eq!(
        category(StageName::TargetedTests, StageEnd::Exited),
        FailureCategory::Test
    );
    assert_eq!(
        category(StageName::StartupSmoke, StageEnd::Signalled),
        FailureCategory::Startup
    );
}

#[test]
fn exit_code_zero_passes_with_code_and_without_reason() {
    let expected = Judgement {
        status: StageStatus::Pass,
        ended: StageEnd::Exited,
        exit_code: Some(0),
        signal: None,
        reason: None,
    };
    assert_eq!(
        judge(StageName::Compile, &seen(End::Exited { code: 0 })),
        expected
    );
}

#[test]
fn exit_code_zero_with_no_test_run_fails_only_where_tests_were_asked_for() {
    let mut observation = seen(End::Exited { code: 0 });
    observation.tests = TestsRan::None;
    let judged = judge(StageName::TargetedTests, &observation);
    assert_eq!(
        (judged.status, judged.ended),
        (StageStatus::Fail, StageEnd::Exited)
    );
    assert_eq!(
        judge(StageName::Compile, &observation).status,
        StageStatus::Pass
    );
    observation.tests = TestsRan::Some(1);
    assert_eq!(
        judge(StageName::TargetedTests, &observation).status,
        StageStatus::Pass
    );
}

#[test]
fn exit_code_zero_of_a_runner_without_a_summary_fails_with_that_reason() {
    let mut observation = seen(End::Exited { code: 0 });
    observation.tests = TestsRan::CutShort;
    let judged = judge(StageName::TargetedTests, &observation);
    let reason = "exit code 0, but its runner ended without a summary";
    assert_eq!(
        (judged.status, judged.reason.as_deref()),
        (StageStatus::Fail, Some(reason))
    );
    let compiled = judge(StageName::Compile, &observation);
    assert_eq!(compiled.status, StageStatus::Pass);
}

#[test]
fn a_changed_member_that_no_test_exercised_fails_with_its_name() {
    let mut observation = seen(End::Exited { code: 0 });
    observation.tests = TestsRan::Some(3);
    observation.untested = vec!["api".to_owned()];
    let judged = judge(StageName::TargetedTests, &observation);
    let reason = "exit code 0, but no test ran in `api`, nor in what depends on it";
    assert_eq!(
        (judged.status, judged.reason.as_deref()),
        (StageStatus::Fail, Some(reason))
    );
}

#[test]
fn tampering_outweighs_the_commands_own_end_but_not_a_bound() {
    let tampered = |end| {
        let mut observation = seen(end);
        observation.tampered = (0..7).map(|i| format!("t{i}")).collect();
        judge(StageName::Compile, &observation)
    };
    let judged = tampered(End::Exited { code: 0 });
    assert_eq!(
        (judged.status, judged.ended),
        (StageStatus::Fail, StageEnd::Tampered)
    );
    assert_eq!(
        judged.reason.as_deref(),
        Some("changed tracked files: `t0`, `t1`, `t2`, `t3`, `t4` and 2 more")
    );
    assert_eq!(
        tampered(End::LeakedProcesses { count: 1 }).ended,
        StageEnd::Tampered
    );
    assert_eq!(tampered(End::MemoryLimit).ended, StageEnd::MemoryLimit);
    assert_eq!(tampered(End::Aborted).ended, StageEnd::Aborted);
}

#[test]
fn a_smoke_says_what_it_waited_for() {
    let mut observation = seen(End::TimedOut {
        bound: TimeBound::Wall,
    });
    observation.not_ready = Some("not ready: no line contains `up`".to_owned());
    assert_eq!(
        judge(StageName::StartupSmoke, &observation)
            .reason
            .as_deref(),
        Some("not ready: no line contains `up` within 30s")
    );
}

#[test]
fn a_missing_file_of_the_tree_is_the_candidates_doing_and_a_missing_tool_is_not() {
    let absent = Problem::new(Kind::ProgramNotFound, "not there");
    let exited = End::Exited { code: NOT_FOUND };
    assert_eq!(unstarted(Some("./check.sh"), &absent), exited);
    let infra = End::Infra {
        message: "not there".to_owned(),
    };
    assert_eq!(unstarted(Some("cargo"), &absent), infra);
    let outside = Problem::new(Kind::OutsideWorkspace, "not there");
    assert_eq!(unstarted(Some("../check.sh"), &outside), infra);
}
