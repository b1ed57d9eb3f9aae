//! Tests the state machine of a run: its transitions and its invariants.

mod notices;
mod outages;

use crate::common::{
    self, agent_ended, at, committed, good, identity, kept, problem, pull_request, request, run_id,
    sandbox,
};
use drive_core::agent::Failure;
use drive_core::ids::{CommitSha, EffectKey, PrNumber};
use drive_core::problem::{Kind, Problem};
use drive_core::process::TimeBound;
use drive_core::prompts::Prompts;
use drive_core::run::{
    AfterEnd, BranchTip, CommitSummary, Effect, EffectResult, Event, OutcomeStatus, Publish,
    Request, Run, Timer, fold, read_run, step, write_run,
};
use proptest::prelude::*;

fn begun(publish: Publish, after_end: AfterEnd) -> Run {
    next(
        Run::new(run_id()),
        Event::Requested {
            request: Box::new(request(publish, after_end)),
        },
    )
}

fn next(run: Run, event: Event) -> Run {
    step(run, event, at(0)).unwrap().0
}

fn pending(run: &Run) -> Vec<&str> {
    run.pending.keys().map(EffectKey::as_str).collect()
}

/// Ends the only pending effect with this result.
fn ended(run: Run, result: EffectResult) -> Run {
    let key = run.pending.keys().next().unwrap().clone();
    next(run, Event::EffectEnded { key, result })
}

/// Lets everything succeed until the run ends; returns the effects in order.
fn to_the_end(mut run: Run) -> (Run, Vec<String>) {
    let mut order = Vec::new();
    loop {
        while let Some((key, effect)) = run.pending.first_key_value() {
            order.push(key.to_string());
            let result = good(effect);
            run = ended(run, result);
        }
        let Some((&timer, &due)) = run.timers.first_key_value() else {
            return (run, order);
        };
        run = step(run, Event::Woken { timer }, due).unwrap().0;
    }
}

fn status(run: &Run) -> (OutcomeStatus, Option<Kind>) {
    let outcome = run.outcome.as_ref().unwrap();
    (outcome.status, outcome.failure.as_ref().map(|p| p.kind))
}

#[test]
fn a_spawn_makes_a_sandbox_runs_the_agent_commits_publishes_and_cleans_up() {
    let (run, order) = to_the_end(begun(common::pull_request(), AfterEnd::Remove));
    assert_eq!(
        order,
        [
            "createSandbox/1",
            "runAgent/1",
            "commitWork/1",
            "push/1",
            "openPullRequest/1",
            "removeSandbox/1"
        ]
    );
    assert_eq!(status(&run), (OutcomeStatus::Succeeded, None));
    assert_eq!(run.work.branch.as_deref(), Some("drive/fix-the-login"));
    assert_eq!(run.work.pull_request.unwrap().number, PrNumber::new(7));
    assert_eq!(run.spent.usage.counted(), 1200);
    assert_eq!(run.kept, [kept()]);
}

#[test]
fn a_coder_is_told_the_rules_of_its_work() {
    let prompt = |prompts: Option<Prompts>| {
        let request = Request {
            prompts,
            ..request(Publish::BranchOnly, AfterEnd::Remove)
        };
        let run = next(
            Run::new(run_id()),
            Event::Requested {
                request: Box::new(request),
            },
        );
        let run = ended(
            run,
            EffectResult::SandboxCreated {
                sandbox: Box::new(sandbox()),
            },
        );
        match run.pending.values().next() {
            Some(Effect::RunAgent { job, .. }) => {
                assert!(job.input.task.starts_with("Fix the login\n"));
                job.prompt.clone()
            }
            other => panic!("{other:?}"),
        }
    };
    let told = prompt(Some(Prompts::default()));
    for words in [
        "Fix the login\n\nIt fails for names with a dot.",
        "Do not push",
        "Your last message becomes the description",
    ] {
        assert!(told.contains(words), "{told}");
    }
    let own = Prompts::default()
        .replace("code.md", "Be brief: {{task}}")
        .unwrap();
    let told = prompt(Some(own));
    assert!(told.starts_with("Be brief: Fix the login"), "{told}");
    // A run of an older version stored no prompts.
    let told = prompt(None);
    assert!(told.starts_with("Fix the login\n"), "{told}");
    assert!(!told.contains("Do not push"), "{told}");
}

#[test]
fn without_a_pull_request_nothing_is_pushed() {
    let (run, order) = to_the_end(begun(Publish::BranchOnly, AfterEnd::Remove));
    assert_eq!(
        order,
        [
            "createSandbox/1",
            "runAgent/1",
            "commitWork/1",
            "removeSandbox/1"
        ]
    );
    assert_eq!(status(&run), (OutcomeStatus::Succeeded, None));
}

#[test]
fn a_sandbox_that_is_to_stay_is_not_removed() {
    let (run, order) = to_the_end(begun(Publish::BranchOnly, AfterEnd::Stay));
    assert_eq!(order, ["createSandbox/1", "runAgent/1", "commitWork/1"]);
    assert_eq!(run.sandboxes.len(), 1);
}

#[test]
fn an_agent_that_changes_nothing_is_a_clear_outcome_without_a_branch() {
    let nothing = EffectResult::WorkCommitted {
        head_sha: CommitSha::new("a".repeat(40)),
        commits: Vec::new(),
        warnings: Vec::new(),
        changed: Vec::new(),
    };
    for (result, kind) in [
        (nothing, Kind::NothingChanged),
        (committed(0), Kind::NothingOnBranch),
    ] {
        let run = ended(
            begun(common::pull_request(), AfterEnd::Remove),
            EffectResult::SandboxCreated {
                sandbox: Box::new(sandbox()),
            },
        );
        let run = ended(run, agent_ended(None));
        let run = ended(run, result);
        let (run, order) = to_the_end(run);
        assert_eq!(order, ["removeSandbox/1"]);
        assert_eq!(status(&run), (OutcomeStatus::Failed, Some(kind)));
        assert_eq!((run.work.branch, run.work.head_sha), (None, None));
    }
}

#[test]
fn what_a_failed_agent_committed_by_itself_is_told_when_its_sandbox_goes() {
    let run = ended(
        begun(common::pull_request(), AfterEnd::Remove),
        EffectResult::SandboxCreated {
            sandbox: Box::new(sandbox()),
        },
    );
    let run = ended(run, agent_ended(Some(Failure::Reported)));
    let tip = BranchTip {
        head_sha: CommitSha::new("b".repeat(40)),
        commits: vec![CommitSummary {
            sha: CommitSha::new("b".repeat(40)),
            subject: "by itself".into(),
        }],
    };
    let removed = EffectResult::SandboxRemoved {
        kept: None,
        branch: Some(tip.clone()),
    };
    let run = ended(run, removed);
    assert_eq!(
        status(&run),
        (OutcomeStatus::Failed, Some(Kind::AgentFailed))
    );
    assert_eq!(run.work.branch.as_deref(), Some("drive/fix-the-login"));
    assert_eq!(
        (run.work.head_sha, run.work.commits),
        (Some(tip.head_sha), tip.commits)
    );
}

#[test]
fn an_effect_that_was_interrupted_cancels_the_run() {
    let run = begun(common::pull_request(), AfterEnd::Remove);
    let problem = Problem::new(Kind::Interrupted, "`git push` was interrupted");
    let run = ended(run, EffectResult::Failed { problem });
    let (run, _) = to_the_end(run);
    assert_eq!(
        status(&run),
        (OutcomeStatus::Cancelled, Some(Kind::Interrupted))
    );
}

#[test]
fn every_failure_leads_through_the_removal_of_the_sandbox() {
    for failing in 1..=5 {
        let mut run = begun(common::pull_request(), AfterEnd::Remove);
        for _ in 1..failing {
            let result = good(run.pending.values().next().unwrap());
            run = ended(run, result);
        }
        run = ended(run, EffectResult::Failed { problem: problem() });
        assert_eq!(pending(&run), ["removeSandbox/1"], "after step {failing}");
        let (run, _) = to_the_end(run);
        assert_eq!(status(&run), (OutcomeStatus::Failed, Some(Kind::DiskFull)));
    }
}

#[test]
fn a_sandbox_that_cannot_be_removed_is_a_warning_and_no_endless_loop() {
    let mut run = begun(Publish::BranchOnly, AfterEnd::Remove);
    for _ in 0..3 {
        let result = good(run.pending.values().next().unwrap());
        run = ended(run, result);
    }
    let run = ended(run, EffectResult::Failed { problem: problem() });
    assert_eq!(status(&run), (OutcomeStatus::Succeeded, None));
    assert_eq!(
        run.warnings.last().unwrap(),
        "could not remove the sandbox: no space left on `/state`: ENOSPC"
    );
}

#[test]
fn a_stop_waits_for_what_is_under_way_and_begins_nothing_new() {
    let run = next(
        begun(common::pull_request(), AfterEnd::Remove),
        Event::CancelAsked,
    );
    assert_eq!(pending(&run), ["createSandbox/1"]);
    let (run, order) = to_the_end(run);
    assert_eq!(order, ["createSandbox/1", "removeSandbox/1"]);
    assert_eq!(
        status(&run),
        (OutcomeStatus::Cancelled, Some(Kind::Interrupted))
    );
}

#[test]
fn a_lost_owner_has_its_process_ended_before_its_sandbox_goes() {
    let run = ended(
        begun(common::pull_request(), AfterEnd::Remove),
        EffectResult::SandboxCreated {
            sandbox: Box::new(sandbox()),
        },
    );
    let run = next(
        run,
        Event::ProcessStarted {
            key: EffectKey::new("runAgent/1"),
            identity: identity(42),
        },
    );
    let run = next(run, Event::OwnerLost);
    assert_eq!(pending(&run), ["endProcess/1"]);
    // The process that cleans up may be killed as well: the identity is still on record.
    let run = next(run, Event::OwnerLost);
    assert_eq!(pending(&run), ["endProcess/2"]);
    let (run, order) = to_the_end(run);
    assert_eq!(order, ["endProcess/2", "removeSandbox/1"]);
    assert_eq!(status(&run), (OutcomeStatus::Failed, Some(Kind::OwnerLost)));
    assert!(run.processes.is_empty());
}

#[test]
fn an_owner_lost_on_the_way_out_does_not_turn_success_into_failure() {
    let mut run = begun(Publish::BranchOnly, AfterEnd::Remove);
    for _ in 0..3 {
        let result = good(run.pending.values().next().unwrap());
        run = ended(run, result);
    }
    let (run, order) = to_the_end(next(run, Event::OwnerLost));
    assert_eq!(order, ["removeSandbox/2"]);
    assert_eq!(status(&run), (OutcomeStatus::Succeeded, None));
}

#[test]
fn a_result_nobody_waits_for_is_illegal_and_changes_nothing() {
    let run = begun(Publish::BranchOnly, AfterEnd::Remove);
    let event = Event::EffectEnded {
        key: EffectKey::new("push/1"),
        result: EffectResult::Pushed,
    };
    let error = step(run, event, at(0)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a result for `push/1`, which is not pending, does not fit the state of run `r20261115-0942-k3f9a`"
    );
}

/// A random choice of the next event.
#[derive(Clone, Debug)]
enum Choice {
    Good(usize),
    Fail(usize),
    Agent(Failure),
    Empty,
    Start(usize),
    Cancel,
    OwnerLost,
    Wake,
    Foreign(usize),
}

fn choice() -> impl Strategy<Value = Choice> {
    let failures = [
        Failure::Reported,
        Failure::Cancelled,
        Failure::LoginExpired,
        Failure::Model { status: Some(529) },
        Failure::TimedOut {
            bound: TimeBound::Wall,
        },
    ];
    prop_oneof![
        6 => (0usize..4).prop_map(Choice::Good),
        1 => (0usize..4).prop_map(Choice::Fail),
        1 => prop::sample::select(failures.to_vec()).prop_map(Choice::Agent),
        1 => Just(Choice::Empty),
        2 => (0usize..4).prop_map(Choice::Start),
        1 => Just(Choice::Cancel),
        1 => Just(Choice::OwnerLost),
        1 => Just(Choice::Wake),
        2 => (0usize..15).prop_map(Choice::Foreign),
    ]
}

fn event_for(run: &Run, choice: Choice) -> Option<Event> {
    let nth = |n: usize| run.pending.iter().nth(n % run.pending.len().max(1));
    let of = |wanted: fn(&Effect) -> bool| run.pending.iter().find(|(_, e)| wanted(e));
    Some(match choice {
        Choice::Good(n) => {
            let (key, effect) = nth(n)?;
            Event::EffectEnded {
                key: key.clone(),
                result: good(effect),
            }
        }
        Choice::Fail(n) => Event::EffectEnded {
            key: nth(n)?.0.clone(),
            result: EffectResult::Failed { problem: problem() },
        },
        Choice::Agent(failure) => {
            let (key, _) = of(|e| matches!(e, Effect::RunAgent { .. }))?;
            Event::EffectEnded {
                key: key.clone(),
                result: agent_ended(Some(failure)),
            }
        }
        Choice::Empty => {
            let (key, _) = of(|e| matches!(e, Effect::CommitWork { .. }))?;
            Event::EffectEnded {
                key: key.clone(),
                result: committed(0),
            }
        }
        Choice::Start(n) => Event::ProcessStarted {
            key: nth(n)?.0.clone(),
            identity: identity(n as i32 + 1),
        },
        Choice::Cancel => Event::CancelAsked,
        Choice::OwnerLost => Event::OwnerLost,
        Choice::Wake => Event::Woken { timer: Timer::Hold },
        Choice::Foreign(n) => {
            common::events::events().swap_remove(n % common::events::events().len())
        }
    })
}

/// Checks the invariants of a state that a journal, or a prefix of one, folds to.
fn assert_legal(run: &Run) {
    if run.outcome.is_some() {
        assert!(
            run.pending.is_empty(),
            "an ended run wants nothing: {run:?}"
        );
        assert!(run.timers.is_empty(), "an ended run is not woken: {run:?}");
    } else if run.request.is_some() {
        assert!(
            !run.pending.is_empty() || !run.timers.is_empty(),
            "a living run always has something under way: {run:?}"
        );
    }
    for key in run.pending.keys() {
        let (name, number) = key.as_str().split_once('/').unwrap();
        assert!(
            number.parse::<u32>().unwrap() <= run.decided[name],
            "keys are numbered: {key}"
        );
    }
    assert_eq!(
        read_run(1, &write_run(run).unwrap()).unwrap(),
        *run,
        "a state survives being written"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_fold_of_any_prefix_of_a_journal_is_a_legal_state(choices in prop::collection::vec(choice(), 0..40), stay: bool, pr: bool) {
        let publish = if pr { common::pull_request() } else { Publish::BranchOnly };
        let after = if stay { AfterEnd::Stay } else { AfterEnd::Remove };
        let mut run = begun(publish.clone(), after);
        let mut journal = vec![(Event::Requested { request: Box::new(request(publish, after)) }, at(0))];
        for choice in choices {
            assert_legal(&run);
            let Some(event) = event_for(&run, choice) else { continue };
            // An illegal event is refused and changes nothing; a legal one is journaled.
            if let Ok((after, decided)) = step(run.clone(), event.clone(), at(0)) {
                for key in &decided {
                    prop_assert!(after.pending.contains_key(key) && !run.pending.contains_key(key));
                }
                run = after;
                journal.push((event, at(0)));
            }
        }
        assert_legal(&run);
        for length in 0..=journal.len() {
            assert_legal(&fold(run_id(), journal[..length].to_vec()).unwrap());
        }
        prop_assert_eq!(fold(run_id(), journal).unwrap(), run);
    }

    #[test]
    fn whatever_happened_success_from_here_on_ends_the_run(choices in prop::collection::vec(choice(), 0..40)) {
        let mut run = begun(common::pull_request(), AfterEnd::Remove);
        for choice in choices {
            if let Some(event) = event_for(&run, choice)
                && let Ok((after, _)) = step(run.clone(), event, at(0)) {
                run = after;
            }
        }
        let (run, order) = to_the_end(run);
        prop_assert!(run.outcome.is_some());
        prop_assert!(order.len() < 16, "bounded: {order:?}");
    }
}

#[test]
fn the_model_a_person_asked_for_is_the_coders() {
    let mut asked = request(pull_request(), AfterEnd::Remove);
    asked.model = Some("large".to_owned());
    let requested = Event::Requested {
        request: Box::new(asked),
    };
    let run = fold(run_id(), [(requested, at(0))]).unwrap();
    let (key, effect) = run.pending.first_key_value().unwrap();
    let made = Event::EffectEnded {
        key: key.clone(),
        result: good(effect),
    };
    let run = step(run, made, at(1)).unwrap().0;
    let models: Vec<Option<String>> = run
        .pending
        .values()
        .filter_map(|effect| match effect {
            Effect::RunAgent { job, .. } => Some(job.model.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(models, [Some("large".to_owned())]);
}
