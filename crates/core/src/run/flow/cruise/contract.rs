//! The checks of a plan that programs perform.

use super::super::super::model::{Build, ContractCheck, JudgeCheck, Shows, TaskState};
use crate::ids::TaskId;
use crate::plan::Check;

/// The checks of these tasks that programs perform.
pub(super) fn contract(build: &Build, counts: impl Fn(&TaskId) -> bool) -> Vec<ContractCheck> {
    let mut checks = Vec::new();
    let tasks = build.plan.iter().flat_map(|plan| &plan.tasks);
    for task in tasks.filter(|task| counts(&task.id)) {
        for entry in &task.acceptance {
            if let Check::Command(one) | Check::Observe(one) = &entry.check {
                checks.push(ContractCheck {
                    task: task.id.clone(),
                    id: entry.id.clone(),
                    shows: Shows::Criterion(entry.text.clone()),
                    command: one.command.clone(),
                    exit: one.expect.exit,
                    contains: one.expect.contains.clone(),
                });
            }
        }
    }
    checks
}

/// The criteria of landed tasks that a validator judges.
pub(super) fn judged(build: &Build) -> Vec<JudgeCheck> {
    let mut entries = Vec::new();
    for task in build.plan.iter().flat_map(|plan| &plan.tasks) {
        let state = build.tasks.get(&task.id).map(|one| &one.state);
        if !matches!(state, Some(TaskState::Landed { .. })) {
            continue;
        }
        let judged = task.acceptance.iter();
        let judged = judged.filter(|entry| entry.check == Check::Judge);
        entries.extend(judged.map(|entry| JudgeCheck {
            task: task.id.clone(),
            id: entry.id.clone(),
            criterion: entry.text.clone(),
        }));
    }
    entries
}
