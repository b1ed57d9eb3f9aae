//! Leaves tasks out.

use super::super::super::model::{Build, Flow, Run, TaskState};
use super::super::tree;
use super::context::with_build;
use crate::ids::{RunId, TaskId};

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
