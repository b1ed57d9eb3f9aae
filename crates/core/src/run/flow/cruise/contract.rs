//! What programs must show of a plan.

use super::super::super::model::{Build, ContractCheck};
use crate::ids::TaskId;
use crate::plan::Check;

/// What programs must show of these tasks.
pub(super) fn contract(build: &Build, counts: impl Fn(&TaskId) -> bool) -> Vec<ContractCheck> {
    let mut checks = Vec::new();
    let tasks = build.plan.iter().flat_map(|plan| &plan.tasks);
    for task in tasks.filter(|task| counts(&task.id)) {
        for entry in &task.acceptance {
            if let Check::Command(one) | Check::Observe(one) = &entry.check {
                checks.push(ContractCheck {
                    task: task.id.clone(),
                    id: entry.id.clone(),
                    criterion: entry.text.clone(),
                    command: one.command.clone(),
                    exit: one.expect.exit,
                    contains: one.expect.contains.clone(),
                });
            }
        }
    }
    checks
}
