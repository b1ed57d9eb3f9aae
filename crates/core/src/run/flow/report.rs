//! Builds a child's report to its parent; an effect delivers it, one report at a time.

use super::super::model::{
    Checked, ChildReport, ChildState, Entry, Flow, Landable, Life, Makes, PhaseEnd, PlanCheck, Run,
    RunMessage, Stage,
};
use super::tree;
use crate::agent::answer::{Handoff, read_handoff};
use crate::plan::Plan;

/// Decides a report to the parent. Returns false if there is no parent.
pub(super) fn report(run: &mut Run, state: ChildState) -> bool {
    let Some(parent) = run.parent().map(|parent| parent.run.clone()) else {
        return false;
    };
    let report = ChildReport {
        number: run.reported.as_ref().map_or(0, |last| last.number) + 1,
        state,
        budget: run.budget(),
        spent: run.spent_in_all(),
        rounds: run.rounds_in_all(),
        open_comments: run.open_comments_in_all(),
        branch: run.work.branch.clone(),
        head_sha: run.work.head_sha.clone(),
        pull_request: run.work.pull_request.clone(),
        handoff: handoff(run),
        plan: plan(run),
        checked: checked(run),
        outside: outside(run),
        tests: tests(run),
        landable: landable(run),
        merged: run.merged().cloned(),
    };
    run.reported = Some(report.clone());
    let report = Box::new(report);
    tree::tell(run, parent, RunMessage::ReportToParent { report });
    true
}

/// The handoff of a task's agent; a plan has none.
fn handoff(run: &Run) -> Option<Handoff> {
    match &run.flow {
        Flow::Phase { phase } => phase.handoff.clone(),
        Flow::Spawn { .. } => read_handoff(run.work.summary.as_ref()?),
        Flow::Awaiting | Flow::Cruise { .. } => None,
    }
}

pub(super) fn plan(run: &Run) -> Option<Plan> {
    match &run.flow {
        // A plan whose pull request was merged or closed without an approval is not built.
        Flow::Phase { phase } => match (&phase.plan, &phase.end) {
            (PlanCheck::Valid { plan }, Some(PhaseEnd::Approved { .. })) => Some(plan.clone()),
            // A commit that is not pushed may never reach the branch.
            (PlanCheck::Valid { plan }, _)
                if is_amended(run) && phase.pushed == run.work.head_sha =>
            {
                Some(plan.clone())
            }
            (PlanCheck::Valid { .. } | PlanCheck::Unread | PlanCheck::Invalid { .. }, _) => None,
        },
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. } => None,
    }
}

/// Whether the run amends the plan while tasks are built.
pub(super) fn is_amended(run: &Run) -> bool {
    let terms = run.request.as_ref().and_then(|one| one.kind.phase_terms());
    terms.is_some_and(|terms| matches!(terms.makes, Makes::Amendments { .. }))
}

/// The check results of the commits that go to the base.
pub(super) fn checked(run: &Run) -> Option<Checked> {
    match &run.flow {
        Flow::Phase { phase } => phase.whole.checked.clone(),
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. } => None,
    }
}

/// Changed files outside the task's paths.
fn outside(run: &Run) -> Vec<String> {
    match &run.flow {
        Flow::Phase { phase } => phase.outside.clone(),
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. } => Vec::new(),
    }
}

/// How near the commits of a task are to landing. A comment without an answer, or somebody else's
/// commit, withdraws the offer.
pub(super) fn landable(run: &Run) -> Landable {
    let Flow::Phase { phase } = &run.flow else {
        return Landable::NotYet;
    };
    let is_idle = matches!(phase.stage, Stage::Watching | Stage::Polling);
    let waits = |entry: &Entry| match entry.life {
        Life::Seen | Life::Dispatched { .. } | Life::Pushed { .. } => true,
        Life::Replied { .. }
        | Life::Asked { .. }
        | Life::Unanswerable { .. }
        | Life::Left
        | Life::Superseded
        | Life::Withdrawn { .. } => false,
    };
    let is_open = phase.ledger.open().any(waits)
        || !phase.findings.is_empty()
        || !phase.injected.is_empty()
        || phase.watch.moved.is_some();
    match &phase.landable {
        Landable::Ready { head } | Landable::Unapproved { head }
            if is_open || !is_idle || Some(head) != run.work.head_sha.as_ref() =>
        {
            Landable::NotYet
        }
        Landable::Ready { .. } if !phase.watch.objections.is_empty() => Landable::NotYet,
        Landable::NotYet | Landable::Unapproved { .. } | Landable::Ready { .. } => {
            phase.landable.clone()
        }
    }
}

/// Existing tests that the task changed.
fn tests(run: &Run) -> Vec<String> {
    match &run.flow {
        Flow::Phase { phase } => phase.tests.clone(),
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. } => Vec::new(),
    }
}
