//! The audit of a cruise: what became of every task, and what proves it.
//!
//! What a program showed is evidence; what an agent said is not.

use super::model::{Build, Flow, Level, Receipt, ReceiptResult, Run, TaskState};
use crate::ids::{CommitSha, TaskId};
use crate::plan::{Acceptance, Check, PlanTask};

/// The audit of a cruise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// The level that was asked for.
    pub level: Level,
    /// The commit it is about.
    pub commit: Option<CommitSha>,
    /// Every task of the plan, in its order.
    pub tasks: Vec<TaskAudit>,
    /// What is left to do.
    pub gaps: Vec<String>,
}

/// What became of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskAudit {
    /// The task.
    pub id: TaskId,
    /// What it is, in one line.
    pub title: String,
    /// What became of it.
    pub status: TaskResult,
    /// What the plan asks for, and what shows it.
    pub evidence: Vec<Evidence>,
}

/// What became of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskResult {
    /// It landed, and nothing that was checked failed.
    Implemented,
    /// It landed, and something that was checked failed.
    Partial,
    /// It did not land.
    Missing,
}

/// One acceptance entry and what shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// What must be true.
    pub criterion: String,
    /// The command that checks it; none where only a person or an agent can judge it.
    pub command: Vec<String>,
    /// What was expected of it.
    pub expected: Option<String>,
    /// What came of it.
    pub actual: Option<String>,
    /// Whether it is met.
    pub result: ReceiptResult,
}

/// The audit of a cruise; `None` for other runs, and before there is a plan.
pub fn audit(run: &Run) -> Option<Audit> {
    let Flow::Cruise { build } = &run.flow else {
        return None;
    };
    let plan = build.plan.as_ref()?;
    let tasks: Vec<TaskAudit> = plan.tasks.iter().map(|task| of_task(build, task)).collect();
    Some(Audit {
        level: build.level,
        commit: build.checked.clone().or_else(|| tip(build)),
        gaps: tasks.iter().flat_map(gaps).collect(),
        tasks,
    })
}

fn tip(build: &Build) -> Option<CommitSha> {
    build.line.as_ref().map(|line| line.tip.clone())
}

fn of_task(build: &Build, task: &PlanTask) -> TaskAudit {
    let state = build.tasks.get(&task.id).map(|one| &one.state);
    let is_landed = matches!(state, Some(TaskState::Landed { .. }));
    let evidence = task.acceptance.iter();
    let evidence: Vec<Evidence> = evidence
        .map(|entry| of_entry(build, &task.id, entry))
        .collect();
    let has_failed = evidence
        .iter()
        .any(|one| one.result == ReceiptResult::Failed);
    TaskAudit {
        id: task.id.clone(),
        title: task.title.clone(),
        status: match (is_landed, has_failed) {
            (false, _) => TaskResult::Missing,
            (true, true) => TaskResult::Partial,
            (true, false) => TaskResult::Implemented,
        },
        evidence,
    }
}

fn of_entry(build: &Build, task: &TaskId, entry: &Acceptance) -> Evidence {
    let is_it = |one: &&Receipt| one.task == *task && one.id == entry.id;
    let receipt = build.receipts.iter().find(is_it);
    let run = match &entry.check {
        Check::Judge => None,
        Check::Command(run) | Check::Observe(run) => Some(run),
    };
    Evidence {
        criterion: entry.text.clone(),
        command: run.map_or_else(Vec::new, |run| run.command.clone()),
        expected: run.map(|run| match &run.expect.contains {
            Some(words) => format!("exit {}, prints `{words}`", run.expect.exit),
            None => format!("exit {}", run.expect.exit),
        }),
        actual: receipt.map(|one| match (one.exit, &one.why) {
            (Some(exit), None) => format!("exit {exit}"),
            (Some(exit), Some(why)) => format!("exit {exit}: {why}"),
            (None, Some(why)) => why.clone(),
            (None, None) => "the command did not exit".to_owned(),
        }),
        result: receipt.map_or(ReceiptResult::Unproven, |one| one.result),
    }
}

fn gaps(task: &TaskAudit) -> Vec<String> {
    if task.status == TaskResult::Missing {
        return vec![format!("task `{}` did not land", task.id)];
    }
    let open = task
        .evidence
        .iter()
        .filter(|one| one.result != ReceiptResult::Proven);
    open.map(|one| match one.result {
        ReceiptResult::Failed => format!("task `{}`: not met: {}", task.id, one.criterion),
        ReceiptResult::Unproven | ReceiptResult::Proven => {
            format!("task `{}`: no evidence: {}", task.id, one.criterion)
        }
    })
    .collect()
}
