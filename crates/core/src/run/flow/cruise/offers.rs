//! Tasks with pull requests of their own: their runs offer a commit, hear people until it has landed, and
//! mend what keeps it from landing.

use super::super::super::model::{
    Ask, Build, Child, Diagnosis, Flow, Landable, Run, RunMessage, TaskState,
};
use super::super::tree;
use super::{MOST_ATTEMPTS, did_not_land, landing, with_build};
use crate::ids::{CommitSha, RunId, TaskId};

/// Whether a run waits for the train or for a person, and no agent works for it.
pub(super) fn is_idle(child: &Child) -> bool {
    let report = child.report.as_ref();
    report.is_some_and(|report| report.landable != Landable::NotYet)
}

/// Takes up which commits the runs of tasks offer. One that is offered no more leaves the train: somebody
/// said something about it.
pub(super) fn take(run: &mut Run) {
    let Flow::Cruise { build } = &run.flow else {
        return;
    };
    let mut changes = Vec::new();
    for (task, record) in &build.tasks {
        let Some((id, child)) = live_run(run, build, task) else {
            continue;
        };
        let report = child.report.as_ref();
        let offered = match report.map(|report| &report.landable) {
            Some(Landable::Ready { head }) => Some(head.clone()),
            Some(Landable::Unapproved { .. } | Landable::NotYet) | None => None,
        };
        let at = match &record.state {
            TaskState::Building { .. } => None,
            TaskState::Landing { head } => Some(head.clone()),
            TaskState::Waiting { .. }
            | TaskState::Landed { .. }
            | TaskState::Blocked { .. }
            | TaskState::Skipped => continue,
        };
        if offered != at {
            changes.push((task.clone(), id.clone(), offered));
        }
    }
    with_build(run, |build| {
        for (task, id, offered) in changes {
            match offered {
                Some(head) => landing::queue(build, &task, head),
                None => take_back(build, &task, id),
            }
        }
    });
}

fn take_back(build: &mut Build, task: &TaskId, run: RunId) {
    if let Some(train) = &mut build.train {
        train.remove(task);
    }
    if let Some(record) = build.tasks.get_mut(task) {
        record.state = TaskState::Building { run };
    }
}

/// The run of a task that hears people, while it lives.
fn live_run<'r>(run: &'r Run, build: &Build, task: &TaskId) -> Option<(&'r RunId, &'r Child)> {
    let last = build.tasks.get(task)?.runs.last()?;
    let (id, child) = run.children.get_key_value(last)?;
    let report = child.report.as_ref();
    let is_its_own = report.is_some_and(|report| report.pull_request.is_some());
    (child.is_live() && is_its_own).then_some((id, child))
}

/// What landed needs nobody any more.
pub(super) fn conclude(run: &mut Run, task: &TaskId) {
    let Flow::Cruise { build } = &run.flow else {
        return;
    };
    if let Some((id, _)) = live_run(run, build, task) {
        let id = id.clone();
        let ask = Ask::Conclude;
        tree::tell(run, id, RunMessage::AskRun { ask });
    }
}

/// A commit left the train: its run mends it, as often as a task is tried. Returns whether it does.
pub(super) fn mend(run: &mut Run, task: &TaskId, head: &CommitSha, why: &str) -> bool {
    let Flow::Cruise { build } = &run.flow else {
        return false;
    };
    let Some((id, _)) = live_run(run, build, task) else {
        return false;
    };
    let id = id.clone();
    let mut may = false;
    with_build(run, |build| {
        let Some(record) = build.tasks.get_mut(task) else {
            return;
        };
        may = record.attempts < MOST_ATTEMPTS;
        if may {
            record.attempts += 1;
            record.state = TaskState::Building { run: id.clone() };
        } else {
            let diagnosis = Diagnosis {
                what: why.to_owned(),
                head: Some(head.clone()),
            };
            did_not_land(build, task, diagnosis, true);
        }
    });
    if may {
        let ask = Ask::Mend {
            head: head.clone(),
            why: why.to_owned(),
        };
        tree::tell(run, id, RunMessage::AskRun { ask });
    } else {
        tree::stop_child(run, &id);
    }
    true
}
