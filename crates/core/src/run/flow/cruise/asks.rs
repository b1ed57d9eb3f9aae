//! Applies people's decisions about a cruise and its tasks.

use super::super::super::model::{Ask, Build, Effect, Flow, OutcomeStatus, Run, TaskState, Timer};
use super::super::tree;
use super::{go_on, is_over, leave, offers, probe, with_build};
use crate::ids::{RunId, TaskId};
use crate::problem::{Kind, Problem};
use crate::time::Timestamp;

/// A person, or the parent, asks for something. Returns false for what only a phase can do.
pub(in crate::run::flow) fn asked(run: &mut Run, ask: &Ask, now: Timestamp) -> bool {
    match ask {
        Ask::Extend { budget, .. } => {
            run.grant(*budget);
            ask_again(run);
        }
        Ask::Cleanup => {
            let problem = Problem::new(Kind::Interrupted, "cleaned up on request");
            leave::leave(run, OutcomeStatus::Cancelled, problem, now);
            return true;
        }
        // Once what landed is checked, it is too late for both.
        Ask::RetryTask { .. } | Ask::SkipTask { .. } if is_over(run) => return true,
        Ask::RetryTask { task } => {
            offers::end(run, task);
            with_build(run, |build| {
                if let Some(record) = build.tasks.get_mut(task)
                    && let TaskState::Blocked { diagnosis, .. } = &record.state
                {
                    let diagnosis = diagnosis.clone();
                    record.attempts = 0;
                    record.outages = 0;
                    record.state = TaskState::Waiting { diagnosis };
                    build.amending.over = false;
                }
            });
        }
        Ask::SkipTask { task } => skip(run, task),
        Ask::Pause => with_build(run, |build| build.paused = true),
        Ask::Unpause => with_build(run, |build| build.paused = false),
        Ask::Poll => {}
        // Of the plan itself its own run hears.
        Ask::Approve { .. } => probe::accept(run),
        Ask::Comment { .. } | Ask::Conclude | Ask::Landed { .. } | Ask::Mend { .. } => {
            return false;
        }
    }
    run.timers.remove(&Timer::Inactivity);
    go_on(run, now);
    true
}

/// Leaves a task out. What its run made stays on its branch.
pub(super) fn skip(run: &mut Run, task: &TaskId) {
    with_build(run, |build| {
        let Some(record) = build.tasks.get_mut(task).filter(|one| !one.is_through()) else {
            return;
        };
        record.state = TaskState::Skipped;
        hand_down(build, task);
        if let Some(train) = &mut build.train {
            train.remove(task);
        }
    });
}

/// Whoever waits for a task that is left out still waits for what it waited for: they may change the
/// same files. Returns whether that is anything new.
pub(super) fn hand_down(build: &mut Build, task: &TaskId) -> bool {
    let Some(before) = build.tasks.get(task).map(|record| record.after.clone()) else {
        return false;
    };
    let mut is_changed = false;
    let waiting = build.tasks.iter_mut();
    for (id, other) in waiting.filter(|(_, one)| one.after.contains(task)) {
        let is_new = |one: &&TaskId| *one != id && !other.after.contains(one);
        let new: Vec<TaskId> = before.iter().filter(is_new).cloned().collect();
        is_changed |= !new.is_empty();
        other.after.extend(new);
    }
    is_changed
}

/// Stops the runs of tasks that were left out, once they have begun.
pub(super) fn stop_skipped(run: &mut Run) {
    let Flow::Cruise { build } = &run.flow else {
        return;
    };
    let skipped = build.tasks.values();
    let skipped = skipped.filter(|task| task.state == TaskState::Skipped);
    let runs: Vec<RunId> = skipped.flat_map(|task| task.runs.clone()).collect();
    for child in runs {
        tree::stop_child(run, &child);
    }
}

/// Lets children that still wait for a larger share be granted one, although an earlier grant was on
/// its way to them: it may never have arrived.
fn ask_again(run: &mut Run) {
    let pending = &run.pending;
    for (id, child) in &mut run.children {
        let is_told = |effect: &Effect| matches!(effect, Effect::ToRun { run, .. } if run == id);
        if !pending.values().any(is_told) {
            child.granted_for = 0;
        }
    }
}
