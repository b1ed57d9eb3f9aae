//! Skips tasks that a person leaves out.

use super::super::super::model::{Build, Flow, Run, TaskState};
use super::super::tree;
use super::context::with_build;
use crate::ids::{RunId, TaskId};

/// Skips a task. The work of its run stays on its branch.
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

/// Hands the dependencies of a skipped task to the tasks that wait for it: they may change the same
/// files. Returns whether anything changed.
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

/// Stops the runs of skipped tasks.
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
