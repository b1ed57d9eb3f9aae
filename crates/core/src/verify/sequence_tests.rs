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
    while let Next::Run(turns) = sequence.next(at(0), 1) {
        let [turn] = turns.as_slice() else {
            panic!("one at a time");
        };
        let (status, ended) = ends
            .get(count)
            .copied()
            .unwrap_or((StageStatus::Pass, StageEnd::Exited));
        sequence.record(result(turn, status, ended));
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
    for (now, within) in [(0, 10), (12, 3)] {
        let Next::Run(turns) = sequence.next(at(now), 1) else {
            panic!("a stage")
        };
        assert_eq!(turns[0].within, Duration::from_secs(within));
        sequence.record(result(&turns[0], StageStatus::Pass, StageEnd::Exited));
    }
    assert_eq!(sequence.next(at(15), 1), Next::Done);
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

fn in_folder(name: StageName, dir: &str, program: &str) -> PlannedStage {
    let command = StageCommand {
        argv: vec![program.to_owned()],
        dir: dir.to_owned(),
        ..command(10)
    };
    PlannedStage {
        route: dir.to_owned(),
        ..planned(name, Work::Run(command))
    }
}

/// The programs of each batch.
fn batches(stages: Vec<PlannedStage>, at_once: usize) -> Vec<Vec<String>> {
    let plan = Plan::ordered(stages, Vec::new());
    let mut sequence = Sequence::new(plan, at(1000));
    let mut batches = Vec::new();
    loop {
        let width = sequence.width(at_once);
        let Next::Run(turns) = sequence.next(at(0), at_once) else {
            return batches;
        };
        assert_eq!(turns.len(), width);
        batches.push(
            turns
                .iter()
                .map(|turn| turn.command.argv[0].clone())
                .collect(),
        );
        for turn in &turns {
            sequence.record(result(turn, StageStatus::Pass, StageEnd::Exited));
        }
    }
}

#[test]
fn projects_in_separate_folders_run_at_the_same_time_and_their_own_commands_in_order() {
    use StageName::{Compile, TargetedTests};
    let stages = || {
        vec![
            in_folder(Compile, "a", "a1"),
            in_folder(Compile, "a", "a2"),
            in_folder(Compile, "b", "b1"),
            in_folder(TargetedTests, "a", "a3"),
            in_folder(TargetedTests, "b", "b3"),
        ]
    };
    assert_eq!(
        batches(stages(), 9),
        [vec!["a1", "b1"], vec!["a2"], vec!["a3", "b3"]]
    );
    assert_eq!(batches(stages(), 1).len(), 5);
    // Stages without a command block no others.
    let nothing = |dir: &str| PlannedStage {
        work: Work::Nothing("x".to_owned()),
        ..in_folder(Compile, dir, "x")
    };
    let tests = ["a", "b"].map(|dir| in_folder(TargetedTests, dir, dir));
    let stages = [nothing("a"), nothing("b")].into_iter().chain(tests);
    assert_eq!(batches(stages.collect(), 9), [["a", "b"]]);
}

#[test]
fn what_may_touch_the_same_files_never_runs_at_the_same_time() {
    for (one, two) in [
        ("", "a"),
        ("a", ""),
        ("a", "a"),
        ("a", "a/b"),
        ("a/b/", "a"),
        ("", ""),
    ] {
        let stages = vec![
            in_folder(StageName::Compile, one, "x"),
            in_folder(StageName::Compile, two, "y"),
        ];
        assert_eq!(batches(stages, 9), [["x"], ["y"]], "{one:?} {two:?}");
    }
    // Only a folder contains another, not a name.
    let stages = vec![
        in_folder(StageName::Compile, "ab", "x"),
        in_folder(StageName::Compile, "a", "y"),
    ];
    assert_eq!(batches(stages, 9), [["x", "y"]]);
}

#[test]
fn a_failure_beside_another_stage_stops_what_comes_after_both() {
    let stages = vec![
        in_folder(StageName::Compile, "a", "a1"),
        in_folder(StageName::Compile, "b", "b1"),
        in_folder(StageName::TargetedTests, "b", "b2"),
    ];
    let mut sequence = Sequence::new(Plan::ordered(stages, Vec::new()), at(1000));
    let Next::Run(turns) = sequence.next(at(0), 2) else {
        panic!("two stages");
    };
    sequence.record(result(&turns[0], StageStatus::Fail, StageEnd::Exited));
    sequence.record(result(&turns[1], StageStatus::Pass, StageEnd::Exited));
    assert_eq!(sequence.next(at(0), 2), Next::Done);
    let (stages, overall, _) = sequence.finish();
    assert_eq!(overall, Overall::Fail);
    let statuses: Vec<_> = stages.iter().map(|stage| stage.status).collect();
    assert_eq!(
        statuses,
        [StageStatus::Fail, StageStatus::Pass, StageStatus::Skipped]
    );
}
