//! Decides when a child reports to its parent: as soon as something changed that the parent does not
//! know.
//!
//! A run ends only after its parent has its last report, which its shutdown sends.

use super::super::model::{
    ChildReport, ChildState, Effect, Flow, Landable, Run, RunMessage, Wants,
};
use super::cruise::{needs_budget, waits_for};
use super::report::{checked, is_amended, landable, plan, report};

/// Reports a change to the parent, once the previous report has arrived. The shutdown reports the end.
pub(super) fn report_change(run: &mut Run) {
    if run.outcome.is_some() || run.shutdown.is_some() || run.parent().is_none() {
        return;
    }
    if run.pending.values().any(is_report) {
        return;
    }
    let state = state(run);
    let is_news = match &run.reported {
        Some(last) => {
            let is_granted = last.budget != run.budget();
            let is_spent = last.spent != run.spent_in_all();
            let is_known = last.state == state && !is_counted(run, last, &state);
            is_granted || is_spent || !is_known || is_moved(run, last)
        }
        // A parent needs an amended plan or an offered commit at once.
        None => {
            let is_offered = landable(run) != Landable::NotYet;
            let is_busy = run.rounds_in_all() > 0 || run.open_comments_in_all() > 0;
            let has_plan = is_amended(run) && plan(run).is_some();
            state != ChildState::Working || is_offered || is_busy || has_plan
        }
    };
    if is_news {
        report(run, state);
    }
}

/// Whether the numbers of rounds or open comments changed since the last report. A new report of a child
/// without budget is answered with a larger share, so such a child reports them with its next step.
fn is_counted(run: &Run, last: &ChildReport, state: &ChildState) -> bool {
    let is_same =
        last.rounds == run.rounds_in_all() && last.open_comments == run.open_comments_in_all();
    !is_same && !matches!(state, ChildState::NeedsBudget { .. })
}

fn is_moved(run: &Run, last: &ChildReport) -> bool {
    last.head_sha != run.work.head_sha
        || last.branch != run.work.branch
        || last.pull_request != run.work.pull_request
        || last.checked != checked(run)
        || last.landable != landable(run)
        || (is_amended(run) && plan(run).is_some() && last.plan != plan(run))
}

fn state(run: &Run) -> ChildState {
    let limit = run.limit().map(|why| (why.to_owned(), Wants::Limit));
    let waits = match &run.flow {
        Flow::Cruise { .. } => waits_for(run).map(|why| (why, Wants::Limit)),
        Flow::Phase { phase } => {
            let head = run.work.head_sha.as_ref();
            let left = || Some((phase.left_to_person(head)?, phase.wants(head)));
            limit.or_else(left)
        }
        Flow::Awaiting | Flow::Spawn { .. } => limit,
    };
    let Some((why, wants)) = waits else {
        return ChildState::Working;
    };
    let spent = run.spent_in_all();
    let is_budget = match run.flow {
        Flow::Cruise { .. } => needs_budget(run),
        Flow::Phase { .. } | Flow::Awaiting | Flow::Spawn { .. } => {
            run.budget().overrun(spent.usage, spent.cost).is_some()
        }
    };
    if is_budget {
        ChildState::NeedsBudget { why }
    } else {
        ChildState::NeedsPerson { why, wants }
    }
}

/// Whether an effect is a report to the parent.
fn is_report(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::ToRun {
            message: RunMessage::ReportToParent { .. },
            ..
        }
    )
}
