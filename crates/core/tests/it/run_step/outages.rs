//! Tests a spawn whose model is unavailable: it waits, and its agent starts again.

use super::{ended, next, pending, status, to_the_end};
use crate::common::{agent_ended, at, good, kept, request, run_id};
use drive_core::agent::{Budget, Failure};
use drive_core::ids::{EffectKey, RunId, TaskId};
use drive_core::problem::Kind;
use drive_core::run::{
    AfterEnd, Ask, Effect, EffectResult, Event, OutcomeStatus, Parent, Publish, Request, Run,
    Timer, paused_for, step,
};

/// A spawn with this budget whose agent works.
fn working(tokens: Option<u64>) -> Run {
    let mut asked = request(Publish::BranchOnly, AfterEnd::Remove);
    asked.budget.tokens = tokens;
    let request = Box::new(asked);
    let run = next(Run::new(run_id()), Event::Requested { request });
    let made = good(run.pending.values().next().unwrap());
    ended(run, made)
}

fn away() -> EffectResult {
    agent_ended(Some(Failure::Model { status: Some(529) }))
}

fn rolled_back(run: Run) -> Run {
    ended(run, EffectResult::RolledBack { kept: None })
}

/// Wakes the run when its pause ends; returns the length of the pause.
fn after_hold(run: Run) -> (Run, i64) {
    let timer = Timer::Hold;
    let due = run.timers[&timer];
    let run = step(run, Event::Woken { timer }, due).unwrap().0;
    (run, due.as_second() - at(0).as_second())
}

#[test]
fn a_spawn_waits_for_a_model_that_is_away_and_starts_its_agent_again() {
    let mut run = ended(working(None), away());
    assert_eq!(pending(&run), ["rollBack/1"]);
    run = ended(run, EffectResult::RolledBack { kept: Some(kept()) });
    assert_eq!(pending(&run), [""; 0]);
    let wait = paused_for(&run).unwrap();
    assert!(
        wait.starts_with("a retry at ") && wait.contains("could not use its model"),
        "{wait}"
    );
    let (again, first) = after_hold(run);
    assert_eq!((pending(&again), first), (vec!["runAgent/2"], 30));
    assert_eq!(paused_for(&again), None);
    // The saved work of the first agent is still unused if the second one leaves none.
    let (third, second) = after_hold(rolled_back(ended(again, away())));
    assert_eq!((pending(&third), second), (vec!["runAgent/3"], 60));
    let Some(Effect::RunAgent { job, .. }) = third.pending.values().next() else {
        panic!("an agent")
    };
    assert!(job.prompt.contains(kept().sha.as_str()), "{}", job.prompt);
    let (run, _) = to_the_end(third);
    assert_eq!(status(&run), (OutcomeStatus::Succeeded, None));
}

#[test]
fn a_pause_that_ends_before_the_work_is_saved_starts_the_agent_afterwards() {
    let (run, _) = after_hold(ended(working(None), away()));
    assert_eq!(pending(&run), ["rollBack/1"]);
    assert_eq!(pending(&rolled_back(run)), ["runAgent/2"]);
}

#[test]
fn a_pause_that_ends_while_a_report_is_on_its_way_starts_the_agent() {
    let asked = Request {
        parent: Some(Parent {
            run: RunId::new("r-parent"),
            task: TaskId::new("a"),
        }),
        ..request(Publish::BranchOnly, AfterEnd::Remove)
    };
    let budget = |tokens| Budget {
        tokens: Some(tokens),
        cost: None,
    };
    let request = Box::new(Request {
        budget: budget(1_000),
        ..asked
    });
    let run = next(Run::new(run_id()), Event::Requested { request });
    let made = good(run.pending.values().next().unwrap());
    let finished = |run: Run, name: &str, result: EffectResult| {
        let key = pending(&run).into_iter().find(|key| key.starts_with(name));
        let key = EffectKey::new(key.unwrap());
        next(run, Event::EffectEnded { key, result })
    };
    let back = || EffectResult::RolledBack { kept: None };
    // It has reported its usage once, so it will report again.
    let run = finished(ended(ended(run, made), away()), "rollBack", back());
    let (run, _) = after_hold(run);
    let run = finished(run, "reportToParent", EffectResult::Delivered);
    let ask = Ask::Extend {
        budget: budget(100_000),
        rounds: 0,
    };
    let run = next(run, Event::Asked { ask });
    let run = finished(run, "runAgent", away());
    let run = finished(run, "rollBack", back());
    let (run, _) = after_hold(run);
    let left = pending(&run);
    assert!(left[0].starts_with("reportToParent/"), "{left:?}");
    assert!(left[1].starts_with("runAgent/"), "{left:?}");
}

#[test]
fn a_spawn_does_not_wait_for_ever_nor_for_a_limit_that_ends_too_late() {
    let mut run = working(None);
    let mut waited = 0;
    loop {
        run = ended(run, away());
        if run.shutdown.is_some() {
            break;
        }
        let (again, seconds) = after_hold(rolled_back(run));
        assert!(seconds <= 15 * 60, "{seconds}");
        (run, waited) = (again, waited + seconds);
    }
    assert_eq!(run.decided["runAgent"], 21);
    assert!(waited > 3600, "some hours: {waited}");
    let ends = status(&to_the_end(run).0);
    assert_eq!(ends, (OutcomeStatus::Failed, Some(Kind::ModelUnavailable)));

    let limit = |hours: i64| {
        let resets_at = Some(at(hours * 3600));
        agent_ended(Some(Failure::UsageLimit { resets_at }))
    };
    let (late, _) = to_the_end(ended(working(None), limit(7)));
    assert_eq!(
        status(&late),
        (OutcomeStatus::NeedsHuman, Some(Kind::AgentUsageLimit))
    );
    let (soon, waited) = after_hold(rolled_back(ended(working(None), limit(5))));
    assert_eq!((pending(&soon), waited), (vec!["runAgent/2"], 5 * 3600));
}

#[test]
fn a_spawn_that_waits_for_its_model_can_be_stopped_and_resumed() {
    let run = rolled_back(ended(working(None), away()));
    let (run, order) = to_the_end(next(run, Event::CancelAsked));
    assert_eq!(order, ["removeSandbox/1"]);
    assert_eq!(
        status(&run),
        (OutcomeStatus::Cancelled, Some(Kind::Interrupted))
    );
    let (run, _) = to_the_end(next(run, Event::Resumed { granted: None }));
    assert_eq!(status(&run), (OutcomeStatus::Succeeded, None));
}

#[test]
fn an_outage_that_used_up_the_budget_asks_a_person_for_more() {
    let (run, _) = after_hold(rolled_back(ended(working(Some(1_000)), away())));
    let (run, _) = to_the_end(run);
    assert_eq!(
        status(&run),
        (OutcomeStatus::NeedsHuman, Some(Kind::BudgetExceeded))
    );
}
