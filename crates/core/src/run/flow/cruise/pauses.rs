//! Pauses of tasks whose model or machine is away: they cost time and no attempt.

use super::super::super::model::{Diagnosis, Flow, Run, TaskState, Timer};
use super::super::outage;
use super::with_build;
use crate::ids::TaskId;
use crate::problem::{Class, Kind, Problem};
use crate::time::Timestamp;

/// Whether nothing but time helps: the work itself did not fail.
pub(super) fn is_away(problem: &Problem) -> bool {
    problem.class() == Class::Environment && problem.kind != Kind::AgentLoginExpired
}

/// Starts a task again after a pause; that is no attempt. Returns false where it was away too often.
pub(super) fn hold(run: &mut Run, task: &TaskId, diagnosis: &Diagnosis, now: Timestamp) -> bool {
    let Flow::Cruise { build } = &mut run.flow else {
        return false;
    };
    let Some(record) = build.tasks.get_mut(task) else {
        return false;
    };
    if !outage::is_patient(record.outages) {
        return false;
    }
    let until = outage::held_until(record.outages, None, now);
    record.outages += 1;
    record.attempts = record.attempts.saturating_sub(1);
    record.held_until = Some(until);
    record.state = TaskState::Waiting {
        diagnosis: diagnosis.head.as_ref().map(|_| diagnosis.clone()),
    };
    wake_held(run);
    true
}

/// Wakes the run when the first pause of a task ends.
fn wake_held(run: &mut Run) {
    let Flow::Cruise { build } = &run.flow else {
        return;
    };
    let first = build
        .tasks
        .values()
        .filter_map(|task| task.held_until)
        .min();
    match first {
        Some(at) => run.timers.insert(Timer::Hold, at),
        None => run.timers.remove(&Timer::Hold),
    };
}

/// Lets tasks start whose pause has ended.
pub(super) fn release(run: &mut Run, now: Timestamp) {
    with_build(run, |build| {
        for task in build.tasks.values_mut() {
            task.held_until = task.held_until.filter(|at| *at > now);
        }
    });
    wake_held(run);
}
