//! Tests parents and children, step by step.

mod rounds;
mod shares;

use crate::common::{
    agent_ended, agent_said, at, good, over_budget, problem, request, sandbox, team_request,
};
use drive_core::agent::{Budget, Cost, Role, Usage};
use drive_core::ids::{CommitSha, EffectKey, RunId, TaskId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{
    AfterEnd, Ask, BuildTerms, ChildReport, ChildStage, ChildState, Effect, EffectResult, Event,
    Landable, OutcomeStatus, Parent, Publish, Request, Run, RunKind, RunMessage, Spent, TaskOrder,
    Timer, paused_for, step, waits_for_person,
};
use drive_core::sandbox::{Sandbox, SandboxSpec};
use drive_core::settings::TeamMode;
use shares::a_child_of;
use std::num::NonZeroU32;

fn order(id: &str, after: &[&str]) -> TaskOrder {
    TaskOrder {
        id: TaskId::new(id),
        after: after.iter().map(|id| TaskId::new(*id)).collect(),
        request: request(Publish::BranchOnly, AfterEnd::Remove),
    }
}

fn root(tasks: Vec<TaskOrder>, tokens: Option<u64>) -> Run {
    let terms = BuildTerms {
        tasks,
        max_parallel: NonZeroU32::new(3).unwrap(),
        line: None,
    };
    let request = Request {
        kind: RunKind::Build(Box::new(terms)),
        budget: Budget { tokens, cost: None },
        ..request(Publish::BranchOnly, AfterEnd::Remove)
    };
    let request = Box::new(request);
    next(Run::new(RunId::new("r1")), Event::Requested { request })
}

fn next(run: Run, event: Event) -> Run {
    step(run, event, at(0)).unwrap().0
}

fn child(task: &str) -> RunId {
    RunId::new(format!("r1+{task}"))
}

/// Delivers every pending message.
fn delivered(mut run: Run) -> Run {
    while let Some(key) = run.pending.keys().next().cloned() {
        let result = EffectResult::Delivered;
        run = next(run, Event::EffectEnded { key, result });
    }
    run
}

fn reports(run: Run, task: &str, number: u32, state: ChildState, tokens: u64) -> Run {
    let usage = Usage {
        input: tokens,
        ..Usage::default()
    };
    let report = Box::new(ChildReport {
        number,
        state,
        budget: Budget::default(),
        spent: Spent { usage, cost: None },
        rounds: 0,
        open_comments: 0,
        branch: None,
        head_sha: None,
        pull_request: None,
        handoff: None,
        plan: None,
        checked: None,
        outside: Vec::new(),
        tests: Vec::new(),
        landable: Landable::default(),
        merged: None,
    });
    let child = child(task);
    next(run, Event::ChildReported { child, report })
}

fn succeeded() -> ChildState {
    ChildState::Ended {
        status: OutcomeStatus::Succeeded,
        failure: None,
    }
}

fn failed() -> ChildState {
    ChildState::Ended {
        status: OutcomeStatus::Failed,
        failure: Some(problem()),
    }
}

fn needs_budget() -> ChildState {
    ChildState::NeedsBudget {
        why: "the run used too many tokens".into(),
    }
}

fn made(spec: &SandboxSpec) -> EffectResult {
    EffectResult::SandboxCreated {
        sandbox: Box::new(Sandbox {
            id: spec.id.clone(),
            ..sandbox()
        }),
    }
}

/// The pending messages as `name child`.
fn telling(run: &Run) -> Vec<String> {
    let line = |effect: &Effect| match effect {
        Effect::ToRun { run, message } => format!("{} {run}", message.name()),
        other => other.name().to_owned(),
    };
    run.pending.values().map(line).collect()
}

fn tokens(run: &Run, task: &str) -> Option<u64> {
    run.children[&child(task)].granted.tokens
}

#[test]
fn a_task_starts_once_the_tasks_before_it_have_succeeded() {
    let run = root(vec![order("a", &[]), order("b", &["a"])], None);
    assert_eq!(telling(&run), ["startRun r1+a"]);
    let run = delivered(run);
    let run = reports(run, "a", 1, ChildState::Working, 10);
    assert!(telling(&run).is_empty());
    let run = reports(run, "a", 2, succeeded(), 20);
    assert_eq!(telling(&run), ["startRun r1+b"]);
    let run = delivered(run);
    let run = reports(run, "b", 1, succeeded(), 5);
    assert_eq!(
        run.outcome.as_ref().unwrap().status,
        OutcomeStatus::Succeeded
    );
    assert_eq!(run.spent_in_all().usage.counted(), 25);
}

#[test]
fn a_child_knows_its_parent_its_task_and_its_share() {
    let run = root(vec![order("a", &[]), order("b", &[])], Some(1_000));
    let Effect::ToRun { run: id, message } = run.pending.values().next().unwrap() else {
        panic!("a message");
    };
    let RunMessage::StartRun { request } = message else {
        panic!("a start");
    };
    assert_eq!(id, &child("a"));
    assert_eq!(request.budget.tokens, Some(500));
    let parent = Parent {
        run: RunId::new("r1"),
        task: TaskId::new("a"),
    };
    assert_eq!(request.parent, Some(parent));
}

#[test]
fn children_that_run_side_by_side_share_what_is_left() {
    let tasks = vec![
        order("a", &[]),
        order("b", &[]),
        order("c", &[]),
        order("d", &[]),
    ];
    let run = delivered(root(tasks, Some(1_000)));
    let held: u64 = run
        .children
        .values()
        .filter_map(|one| one.granted.tokens)
        .sum();
    assert_eq!((run.children.len(), held), (3, 750));
    // `a` used little, so its rest goes to the last one.
    let run = reports(run, "a", 1, succeeded(), 50);
    assert_eq!(tokens(&run, "d"), Some(450));
}

#[test]
fn a_child_at_its_limit_gets_more_while_something_is_left() {
    let run = delivered(root(vec![order("a", &[]), order("b", &[])], Some(1_000)));
    let run = reports(run, "b", 1, succeeded(), 100);
    let run = reports(run, "a", 1, needs_budget(), 510);
    assert_eq!(telling(&run), ["askRun r1+a"]);
    // `b` used 100, and `a` used 510.
    assert_eq!(tokens(&run, "a"), Some(500 + 390));
    let run = delivered(run);
    assert_eq!(run.children[&child("a")].granted_for, 1);
    // A repetition of the report requests nothing more.
    let run = reports(run, "a", 1, needs_budget(), 510);
    assert!(telling(&run).is_empty());
}

#[test]
fn a_spent_budget_waits_for_a_person_who_extends_it() {
    let run = delivered(root(vec![order("a", &[]), order("b", &["a"])], Some(1_000)));
    assert_eq!(tokens(&run, "a"), Some(500));
    let run = reports(run, "a", 1, succeeded(), 1_000);
    assert!(run.outcome.is_none() && telling(&run).is_empty());
    let wait = paused_for(&run).unwrap();
    assert_eq!(
        wait,
        "you: the token limit is reached; raise the budget with `drive runs extend r1 --tokens 1000000`"
    );
    let budget = Budget {
        tokens: Some(300),
        cost: None,
    };
    let ask = Ask::Extend { budget, rounds: 0 };
    let run = next(run, Event::Asked { ask });
    assert_eq!(telling(&run), ["startRun r1+b"]);
    assert_eq!(tokens(&run, "b"), Some(300));
}

#[test]
fn a_failed_task_keeps_what_depends_on_it_from_starting() {
    let tasks = vec![
        order("a", &[]),
        order("b", &["a"]),
        order("c", &["b"]),
        order("d", &[]),
    ];
    let run = delivered(root(tasks, None));
    let run = reports(run, "a", 1, failed(), 0);
    assert!(run.outcome.is_none(), "`d` goes on");
    let run = reports(run, "d", 1, succeeded(), 0);
    let failure = run.outcome.unwrap().failure.unwrap();
    assert_eq!(failure.kind, Kind::TasksFailed);
    assert_eq!(
        failure.message,
        "task `a` did not succeed; 2 dependent tasks were not started"
    );
    assert_eq!(
        failure.hint.as_deref(),
        Some("see why with `drive runs show r1+a`")
    );
}

#[test]
fn a_stopped_root_ends_after_its_children() {
    let run = delivered(root(
        vec![order("a", &[]), order("b", &[]), order("c", &["a"])],
        None,
    ));
    let run = next(run, Event::CancelAsked);
    assert_eq!(telling(&run), ["stopRun r1+a", "stopRun r1+b"]);
    let run = delivered(run);
    let run = reports(run, "a", 1, succeeded(), 0);
    assert!(run.outcome.is_none(), "`b` still lives");
    assert!(telling(&run).is_empty(), "`c` does not start any more");
    let run = reports(run, "b", 1, failed(), 0);
    assert_eq!(run.outcome.unwrap().status, OutcomeStatus::Cancelled);
}

#[test]
fn a_root_that_is_cleaned_up_waits_for_a_child_that_is_being_started() {
    let run = root(vec![order("a", &[])], None);
    let run = next(run, Event::Asked { ask: Ask::Cleanup });
    assert_eq!(telling(&run), ["startRun r1+a"], "it may have been started");
    let key = run.pending.keys().next().unwrap().clone();
    let result = EffectResult::Delivered;
    let run = next(run, Event::EffectEnded { key, result });
    assert_eq!(telling(&run), ["stopRun r1+a"]);
    let run = delivered(run);
    let run = reports(run, "a", 1, failed(), 0);
    assert!(run.outcome.is_some());
}

#[test]
fn a_child_that_cannot_be_started_has_failed() {
    let run = root(vec![order("a", &[])], None);
    let key = run.pending.keys().next().unwrap().clone();
    let result = EffectResult::Failed { problem: problem() };
    let run = next(run, Event::EffectEnded { key, result });
    assert_eq!(run.children[&child("a")].stage, ChildStage::Ended);
    assert_eq!(run.outcome.unwrap().status, OutcomeStatus::Failed);
}

#[test]
fn an_old_report_changes_nothing() {
    let run = delivered(root(vec![order("a", &[])], None));
    let run = reports(run, "a", 2, ChildState::Working, 20);
    let before = run.clone();
    let run = reports(run, "a", 1, needs_budget(), 10);
    assert_eq!(run, before);
    let run = reports(run, "unknown", 1, succeeded(), 0);
    assert_eq!(run, before);
}

#[test]
fn a_child_ends_only_after_its_parent_was_told() {
    let parent = Parent {
        run: RunId::new("r1"),
        task: TaskId::new("a"),
    };
    let request = Box::new(Request {
        parent: Some(parent),
        ..request(Publish::BranchOnly, AfterEnd::Remove)
    });
    let mut run = next(Run::new(child("a")), Event::Requested { request });
    let mut told = Vec::new();
    while let Some((key, effect)) = run.pending.first_key_value() {
        let (key, effect): (EffectKey, Effect) = (key.clone(), effect.clone());
        assert!(run.outcome.is_none());
        let result = match &effect {
            Effect::RunAgent { .. } => agent_ended(None),
            Effect::CreateSandbox { spec } => made(spec),
            other => good(other),
        };
        if let Effect::ToRun {
            message: RunMessage::ReportToParent { report },
            run: parent,
        } = &effect
        {
            assert_eq!(parent, &RunId::new("r1"));
            told.push(report.as_ref().clone());
        }
        run = next(run, Event::EffectEnded { key, result });
    }
    let numbers: Vec<u32> = told.iter().map(|report| report.number).collect();
    assert_eq!(numbers, (1..=told.len() as u32).collect::<Vec<_>>());
    let last = told.last().unwrap();
    assert_eq!(last.state, succeeded());
    assert_eq!(last.spent, run.spent);
    assert!(last.branch.is_some() && last.head_sha.is_some());
    assert_eq!(run.outcome.unwrap().status, OutcomeStatus::Succeeded);
}

/// A regression test: its root waited for a report that was never sent again.
#[test]
fn a_last_report_that_is_refused_is_sent_again_until_the_parent_has_it() {
    let mut run = a_child_of("r1", Budget::default());
    let mut refused = 0;
    while run.outcome.is_none() {
        let Some((key, effect)) = run.pending.first_key_value() else {
            let waits = paused_for(&run).unwrap();
            assert!(waits.ends_with("the last report to its parent"), "{waits}");
            let timer = Timer::Retry;
            assert!(run.timers.contains_key(&timer));
            run = next(run, Event::Woken { timer });
            continue;
        };
        let is_last = matches!(effect, Effect::ToRun { message: RunMessage::ReportToParent { report }, .. }
            if report.state == succeeded());
        let result = match effect {
            Effect::ToRun { .. } if is_last && refused < 3 => {
                refused += 1;
                EffectResult::Failed { problem: problem() }
            }
            Effect::CreateSandbox { spec } => made(spec),
            other => good(other),
        };
        let key = key.clone();
        run = next(run, Event::EffectEnded { key, result });
    }
    assert_eq!(refused, 3);
    assert_eq!(run.outcome.unwrap().status, OutcomeStatus::Succeeded);
}

#[test]
fn a_child_whose_parent_is_gone_ends_without_it() {
    let mut run = a_child_of("r1", Budget::default());
    while let Some((key, effect)) = run.pending.first_key_value() {
        let result = match effect {
            Effect::ToRun { .. } => EffectResult::Failed {
                problem: Problem::new(Kind::UnknownRun, "no run `r1`"),
            },
            Effect::CreateSandbox { spec } => made(spec),
            other => good(other),
        };
        let key = key.clone();
        run = next(run, Event::EffectEnded { key, result });
    }
    assert_eq!(run.outcome.unwrap().status, OutcomeStatus::Succeeded);
    assert_eq!(
        run.warnings
            .iter()
            .filter(|one| one.contains("could not report"))
            .count(),
        1
    );
}

fn delivered_all(mut run: Run) -> Run {
    while let Some((key, effect)) = run.pending.first_key_value() {
        let (key, result) = (key.clone(), good(effect));
        run = next(run, Event::EffectEnded { key, result });
    }
    run
}

#[test]
fn a_root_whose_task_can_never_start_fails_and_names_it() {
    let run = root(
        vec![order("a", &[]), order("b", &["c"]), order("c", &["b"])],
        None,
    );
    let run = delivered(run);
    let run = reports(run, "a", 1, succeeded(), 0);
    let failure = run.outcome.unwrap().failure.unwrap();
    assert_eq!(failure.kind, Kind::TasksFailed);
    assert_eq!(
        failure.message,
        "task `b` cannot start: it depends on itself or on an unknown task"
    );
}

#[test]
fn a_share_that_did_not_reach_its_child_is_there_for_others() {
    let run = delivered(root(vec![order("a", &[]), order("b", &[])], Some(1_000)));
    let run = reports(run, "b", 1, succeeded(), 100);
    let run = reports(run, "a", 1, needs_budget(), 510);
    assert_eq!(tokens(&run, "a"), Some(890));
    let key = run.pending.keys().next().unwrap().clone();
    let result = EffectResult::Failed { problem: problem() };
    let run = next(run, Event::EffectEnded { key, result });
    assert_eq!(tokens(&run, "a"), Some(500));
    assert!(run.warnings[0].starts_with("could not send a request to run `r1+a`: "));
    // After a person raises the budget, the state does not remain "working" forever.
    let budget = Budget {
        tokens: Some(1_000),
        cost: None,
    };
    let ask = Ask::Extend { budget, rounds: 0 };
    let run = next(run, Event::Asked { ask });
    assert_eq!(tokens(&run, "a"), Some(1_890));
}
