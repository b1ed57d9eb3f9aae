use super::*;
use proptest::prelude::*;

fn command(timeout: u64) -> StageCommand {
    StageCommand {
        argv: vec!["x".to_owned()],
        timeout: Duration::from_secs(timeout),
        ..StageCommand::default()
    }
}

fn planned(name: StageName, work: Work) -> PlannedStage {
    PlannedStage {
        name,
        route: "r".to_owned(),
        work,
    }
}

fn three() -> Plan {
    Plan {
        stages: StageName::ALL
            .map(|name| planned(name, Work::Run(command(10))))
            .to_vec(),
        notes: Vec::new(),
    }
}

fn result(turn: &Turn, status: StageStatus, ended: StageEnd) -> Stage {
    let stage = planned(turn.name, Work::Run(turn.command.clone()));
    let mut done = unrun(&stage, status, true, String::new());
    done.ended = Some(ended);
    done.reason = None;
    done
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Runs a sequence where the n-th command ends like `ends[n]`, and passes beyond.
fn play(plan: Plan, ends: &[(StageStatus, StageEnd)]) -> (Vec<Stage>, Overall, Option<Failure>) {
    let mut sequence = Sequence::new(plan, at(1000));
    let mut count = 0;
    while let Next::Run(turn) = sequence.next(at(0)) {
        let (status, ended) = ends
            .get(count)
            .copied()
            .unwrap_or((StageStatus::Pass, StageEnd::Exited));
        sequence.record(result(&turn, status, ended));
        count += 1;
    }
    sequence.finish()
}

#[test]
fn the_first_stage_that_does_not_pass_stops_the_rest() {
    let ends = [
        (StageStatus::Pass, StageEnd::Exited),
        (StageStatus::Fail, StageEnd::Exited),
    ];
    let (stages, overall, failure) = play(three(), &ends);
    let statuses: Vec<_> = stages
        .iter()
        .map(|s| (s.status, s.ended, s.reason.clone()))
        .collect();
    assert_eq!(
        statuses,
        [
            (StageStatus::Pass, Some(StageEnd::Exited), None),
            (StageStatus::Fail, Some(StageEnd::Exited), None),
            (
                StageStatus::Skipped,
                None,
                Some("targeted tests of route `r` failed".to_owned())
            ),
        ]
    );
    assert!(
        stages[2].required,
        "a stage that was stopped is still required"
    );
    assert_eq!(overall, Overall::Fail);
    let failure = failure.unwrap();
    assert_eq!(
        (failure.category, failure.stage),
        (FailureCategory::Test, Some(StageName::TargetedTests))
    );
}

#[test]
fn the_overall_verdict_is_that_of_the_stage_that_stopped_it() {
    let table = [
        (
            StageStatus::Fail,
            StageEnd::Tampered,
            Overall::Fail,
            FailureCategory::Policy,
        ),
        (
            StageStatus::Timeout,
            StageEnd::TimedOut,
            Overall::Timeout,
            FailureCategory::Timeout,
        ),
        (
            StageStatus::Error,
            StageEnd::Infra,
            Overall::Error,
            FailureCategory::Infra,
        ),
        (
            StageStatus::Error,
            StageEnd::Aborted,
            Overall::Error,
            FailureCategory::Infra,
        ),
        (
            StageStatus::Fail,
            StageEnd::MemoryLimit,
            Overall::Fail,
            FailureCategory::Resource,
        ),
    ];
    for (status, ended, expected, category) in table {
        let (_, overall, failure) = play(three(), &[(status, ended)]);
        assert_eq!(
            (overall, failure.unwrap().category),
            (expected, category),
            "{ended:?}"
        );
    }
}

#[test]
fn a_stage_with_nothing_to_run_is_skipped_and_not_required() {
    let plan = Plan {
        stages: vec![
            planned(StageName::Compile, Work::Run(command(10))),
            planned(
                StageName::TargetedTests,
                Work::Nothing("docs only".to_owned()),
            ),
        ],
        notes: Vec::new(),
    };
    let (stages, overall, failure) = play(plan, &[]);
    assert_eq!((overall, failure), (Overall::Pass, None));
    assert_eq!(
        (
            stages[1].status,
            stages[1].required,
            stages[1].reason.as_deref()
        ),
        (StageStatus::Skipped, false, Some("docs only"))
    );
}

#[test]
fn a_plan_without_stages_fails_as_policy() {
    let (_, overall, failure) = play(Plan::default(), &[]);
    assert_eq!(
        (overall, failure.unwrap().category),
        (Overall::Fail, FailureCategory::Policy)
    );
}

#[test]
fn a_stage_gets_the_smaller_of_its_timeout_and_what_is_left() {
    let mut sequence = Sequence::new(three(), at(15));
    let Next::Run(turn) = sequence.next(at(0)) else {
        panic!("a stage")
    };
    assert_eq!(turn.within, Duration::from_secs(10));
    sequence.record(result(&turn, StageStatus::Pass, StageEnd::Exited));
    let Next::Run(turn) = sequence.next(at(12)) else {
        panic!("a stage")
    };
    assert_eq!(turn.within, Duration::from_secs(3));
    sequence.record(result(&turn, StageStatus::Pass, StageEnd::Exited));
    assert_eq!(sequence.next(at(15)), Next::Done);
    let (stages, overall, failure) = sequence.finish();
    assert_eq!(
        (stages[2].status, stages[2].ended),
        (StageStatus::Timeout, Some(StageEnd::TimedOut))
    );
    assert_eq!(
        (overall, failure.unwrap().category),
        (Overall::Timeout, FailureCategory::Timeout)
    );
}

fn any_end() -> impl Strategy<Value = (StageStatus, StageEnd)> {
    prop_oneof![
        3 => Just((StageStatus::Pass, StageEnd::Exited)),
        1 => Just((StageStatus::Fail, StageEnd::Exited)),
        1 => Just((StageStatus::Timeout, StageEnd::TimedOut)),
        1 => Just((StageStatus::Error, StageEnd::Infra)),
    ]
}

proptest! {
    #[test]
    fn a_pass_means_that_every_command_passed(ends in prop::collection::vec(any_end(), 3)) {
        let (stages, overall, failure) = play(three(), &ends);
        let all = ends.iter().all(|(status, _)| *status == StageStatus::Pass);
        prop_assert_eq!(overall == Overall::Pass, all);
        prop_assert_eq!(failure.is_none(), all);
        prop_assert_eq!(stages.len(), 3);
        let after = stages.iter().skip_while(|s| s.status == StageStatus::Pass).skip(1);
        prop_assert!(after.into_iter().all(|s| s.status == StageStatus::Skipped));
    }
}
