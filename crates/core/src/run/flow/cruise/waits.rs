//! Determines what a cruise waits for.

use super::super::super::model::{BuildStage, Child, ChildState, Run};
use super::super::super::needs::{Need, is_of_plan};
use super::board::Board;
use super::context::{has_train, is_over, is_paused, stage, terms};
use super::live::live_tasks;
use super::{amending, ending, probe};

/// What the run waits for and only a person can provide; `None` while it works.
pub(in crate::run) fn waits_for(run: &Run) -> Option<String> {
    need(run).map(|need| need.reason)
}

/// Like `waits_for`, with the command that a person can run.
pub(in crate::run) fn need(run: &Run) -> Option<Need> {
    if needs_budget(run) {
        let spent = run.spent_in_all();
        let left = run.budget().minus(spent.usage, spent.cost);
        let what = match (left.tokens, left.cost) {
            (Some(0), _) => "the token limit is reached",
            (_, Some(cost)) if cost.micro_usd() == 0 => "the cost limit is reached",
            _ => "what is left of the budget is too small for the next task",
        };
        return Some(Need::of_text(what.to_owned()));
    }
    let mut first = None;
    for (id, child) in run.children.iter().filter(|(_, child)| child.is_live()) {
        let hears = amending::is_listener(run, id);
        match child.report.as_ref().map(|report| &report.state) {
            Some(ChildState::NeedsPerson { .. }) => {
                first = first.or_else(|| Need::of_child(id, child));
            }
            Some(ChildState::NeedsBudget { why }) => {
                first = first.or_else(|| {
                    let what = format!("task `{}`: {why}", child.task);
                    let what = if is_of_plan(id) { what } else { why.clone() };
                    Some(Need::of_text(what))
                });
            }
            Some(ChildState::Working | ChildState::Ended { .. }) | None if hears => {}
            Some(ChildState::Working | ChildState::Ended { .. }) | None => return None,
        }
    }
    let own = || probe::waits_for(run).or_else(|| ending::waits_for(run));
    first.or_else(|| own().map(Need::of_text))
}

/// Whether only a larger budget lets the run continue.
pub(in crate::run) fn needs_budget(run: &Run) -> bool {
    let Some(terms) = terms(run) else {
        return false;
    };
    let is_waiting = |child: &Child| {
        let state = child.report.as_ref().map(|report| &report.state);
        matches!(state, Some(ChildState::NeedsBudget { .. }))
    };
    let mut live = live_tasks(run);
    let has_any = live.clone().next().is_some();
    let is_probing = stage(run) == Some(BuildStage::Probing);
    let is_at_work = !run.pending.is_empty() || is_paused(run) || has_train(run);
    let is_at_work = is_at_work || is_probing || is_over(run);
    if is_at_work || !live.all(is_waiting) {
        return false;
    }
    has_any || Board::of(run, terms).ready().next().is_some()
}
