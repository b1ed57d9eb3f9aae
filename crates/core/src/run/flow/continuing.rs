//! Gives an ended run a new task, on its branch and its pull request.

use super::super::model::{Flow, Run, RunKind, SpawnStage};
use super::phase;
use super::resume::start_over;
use crate::time::Timestamp;
use std::sync::Arc;

/// Why a run cannot be continued with a new task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotContinuable {
    /// The run has not ended.
    Active,
    /// The run is a task of a cruise.
    Child,
    /// The run is a cruise, which takes new work as comments.
    Cruise,
    /// The run left no commit to build on.
    NoWork,
    /// The run's budget is used up.
    OverBudget,
}

/// Checks whether a run can be continued with a new task.
pub fn require_continuable(run: &Run) -> Result<(), NotContinuable> {
    let Some(request) = &run.request else {
        return Err(NotContinuable::NoWork);
    };
    if run.parent().is_some() {
        return Err(NotContinuable::Child);
    }
    match &request.kind {
        RunKind::Spawn | RunKind::Team(_) => {}
        RunKind::Cruise(_) | RunKind::Build(_) => return Err(NotContinuable::Cruise),
    }
    if run.outcome.is_none() {
        return Err(NotContinuable::Active);
    }
    if run.work.branch.is_none() || run.work.commits.is_empty() {
        return Err(NotContinuable::NoWork);
    }
    match run.budget().overrun(run.spent.usage, run.spent.cost) {
        Some(_) => Err(NotContinuable::OverBudget),
        None => Ok(()),
    }
}

/// Continues a run with a new task: its first agent builds on the existing commits.
pub(super) fn continued(run: &mut Run, task: &str, now: Timestamp) -> Result<(), NotContinuable> {
    require_continuable(run)?;
    if let Some(request) = &mut run.request {
        let request = Arc::make_mut(request);
        request.task = follow_up(task, &request.task);
        let first = request
            .kind
            .phase_terms()
            .map(|terms| terms.review_plan().first());
        match (&mut run.flow, first) {
            (Flow::Spawn { stage }, _) => *stage = SpawnStage::CreatingSandbox,
            (Flow::Phase { phase }, Some(first)) => phase::ask_for_more(phase, task, first),
            (Flow::Phase { .. } | Flow::Awaiting | Flow::Cruise { .. }, _) => {}
        }
    }
    run.work.summary = None;
    let follows = run.work.head_sha.clone();
    start_over(run, follows, now);
    Ok(())
}

/// The new task, followed by the earlier one as an explanation.
fn follow_up(task: &str, before: &str) -> String {
    format!(
        "{}\n\nEarlier work on this branch was for this task:\n\n{before}",
        task.trim_end()
    )
}
