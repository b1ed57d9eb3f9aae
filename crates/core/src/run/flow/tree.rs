//! Parents and children: how a run starts, stops and hears its children.
//!
//! A child has a deterministic id, so that starting it again starts nothing new. It reports to its
//! parent by an effect, one report at a time, and ends only after its parent has its last report.

use super::super::model::{
    Ask, Checked, Child, ChildReport, ChildStage, ChildState, Effect, Entry, Flow, Landable, Life,
    Makes, OutcomeStatus, Parent, PhaseEnd, PlanCheck, Request, Run, RunMessage, Stage,
};
use crate::Problem;
use crate::agent::Budget;
use crate::agent::answer::{Handoff, read_handoff};
use crate::ids::{CommitSha, RunId, TaskId};
use crate::plan::Plan;

/// The id of the run that works on a task. `+` is in no task id, so that the ids of nested runs
/// cannot meet.
pub(super) fn child_id(parent: &RunId, task: &TaskId) -> RunId {
    RunId::new(format!("{parent}+{task}"))
}

/// The run that a person started, of which this one is a part.
pub(in crate::run) fn root_id(run: &RunId) -> &str {
    let (root, _) = run.as_str().split_once('+').unwrap_or((run.as_str(), ""));
    root
}

/// Whether two runs are parts of the same one that a person started.
pub fn is_same_cruise(one: &RunId, other: &RunId) -> bool {
    root_id(one) == root_id(other)
}

/// Starts the run of a task with this share of the budget.
pub(super) fn start(run: &mut Run, (id, task): (RunId, TaskId), request: Request, share: Budget) {
    let request = Request {
        budget: share,
        parent: Some(Parent {
            run: run.id.clone(),
            task: task.clone(),
        }),
        ..request
    };
    let child = Child {
        task,
        stage: ChildStage::Starting,
        granted: share,
        granted_for: 0,
        report: None,
    };
    run.children.insert(id.clone(), child);
    let request = Box::new(request);
    tell(run, id, RunMessage::StartRun { request });
}

/// Decides to tell another run something.
pub(super) fn tell(run: &mut Run, other: RunId, message: RunMessage) {
    run.decide(Effect::ToRun {
        run: other,
        message,
    });
}

/// Asks every child that has begun to stop. Returns false where no child lives.
pub(super) fn stop_children(run: &mut Run) -> bool {
    let started: Vec<RunId> = run
        .children
        .iter_mut()
        .filter(|(_, child)| child.stage == ChildStage::Started)
        .map(|(id, child)| {
            child.stage = ChildStage::Stopping;
            id.clone()
        })
        .collect();
    for run_id in started {
        tell(run, run_id, RunMessage::StopRun);
    }
    run.has_live_children()
}

/// Asks one child that has begun to stop.
pub(super) fn stop_child(run: &mut Run, id: &RunId) {
    let begun = |child: &&mut Child| child.stage == ChildStage::Started;
    if let Some(child) = run.children.get_mut(id).filter(begun) {
        child.stage = ChildStage::Stopping;
        tell(run, id.clone(), RunMessage::StopRun);
    }
}

/// A child was started, or could not be.
pub(super) fn started(run: &mut Run, id: &RunId, failed: Option<&Problem>) {
    let Some(child) = run.children.get_mut(id) else {
        return;
    };
    match failed {
        None if child.stage == ChildStage::Starting => child.stage = ChildStage::Started,
        None => {}
        Some(problem) => give_up(child, problem),
    }
}

/// A child that has ended goes on.
pub(super) fn revive(run: &mut Run, id: &RunId) {
    if let Some(child) = run.children.get_mut(id) {
        child.stage = ChildStage::Started;
        if let Some(report) = &mut child.report {
            report.state = ChildState::Working;
        }
    }
}

/// A child cannot be stopped: nothing more is expected of it.
pub(super) fn not_stopped(run: &mut Run, id: &RunId, problem: &Problem) {
    if let Some(child) = run.children.get_mut(id) {
        give_up(child, problem);
        run.warnings
            .push(format!("could not stop run `{id}`: {problem}"));
    }
}

/// A child could not be asked: a share that it did not get is there for others.
pub(super) fn not_asked(run: &mut Run, id: &RunId, ask: &Ask, problem: &Problem) {
    match (run.children.get_mut(id), ask) {
        (Some(child), Ask::Extend { budget, .. }) => {
            child.granted = child.granted.without(*budget);
        }
        // It would never end.
        (Some(child), Ask::Conclude | Ask::Landed { .. } | Ask::Mend { .. }) if child.is_live() => {
            give_up(child, problem)
        }
        (_, _) => {}
    }
    run.warnings
        .push(format!("could not send a request to run `{id}`: {problem}"));
}

fn give_up(child: &mut Child, problem: &Problem) {
    child.stage = ChildStage::Ended;
    child.report = Some(ChildReport {
        number: child.report.as_ref().map_or(0, |report| report.number),
        state: ChildState::Ended {
            status: OutcomeStatus::Failed,
            failure: Some(problem.clone()),
        },
        budget: child.granted,
        spent: child.spent(),
        branch: None,
        head_sha: None,
        pull_request: None,
        handoff: None,
        plan: None,
        checked: None,
        outside: Vec::new(),
        tests: Vec::new(),
        landable: Landable::NotYet,
        merged: None,
    });
}

/// Takes a report over. One that is older than the latest changes nothing.
pub(super) fn heard(run: &mut Run, id: &RunId, report: ChildReport) {
    let Some(child) = run.children.get_mut(id) else {
        return;
    };
    let known = child.report.as_ref().map_or(0, |report| report.number);
    if report.number <= known || child.stage == ChildStage::Ended {
        return;
    }
    // A report proves that the child has begun, even before its start was confirmed.
    child.stage = match (&report.state, child.stage) {
        (ChildState::Ended { .. }, _) => ChildStage::Ended,
        (_, ChildStage::Starting) => ChildStage::Started,
        (_, stage) => stage,
    };
    child.report = Some(report);
}

/// Reports a change to the parent, once the report before it has arrived. An ended run is reported by
/// its shutdown.
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
            is_granted || is_spent || last.state != state || is_moved(run, last)
        }
        // A parent that follows the plan, or lands the commits, hears of them at once.
        None => {
            let is_offered = landable(run) != Landable::NotYet;
            state != ChildState::Working || is_offered || (is_amended(run) && plan(run).is_some())
        }
    };
    if is_news {
        report(run, state);
    }
}

/// Reports to the parent. Returns false where there is none.
pub(super) fn report(run: &mut Run, state: ChildState) -> bool {
    let Some(parent) = run.parent().map(|parent| parent.run.clone()) else {
        return false;
    };
    let report = ChildReport {
        number: run.reported.as_ref().map_or(0, |last| last.number) + 1,
        state,
        budget: run.budget(),
        spent: run.spent_in_all(),
        branch: run.work.branch.clone(),
        head_sha: run.work.head_sha.clone(),
        pull_request: run.work.pull_request.clone(),
        handoff: handoff(run),
        plan: plan(run),
        checked: checked(run),
        outside: outside(run),
        tests: tests(run),
        landable: landable(run),
        merged: merged(run),
    };
    run.reported = Some(report.clone());
    let report = Box::new(report);
    tell(run, parent, RunMessage::ReportToParent { report });
    true
}

/// What the agent of a task left; of a plan nobody needs it.
fn handoff(run: &Run) -> Option<Handoff> {
    match &run.flow {
        Flow::Phase { phase } => phase.handoff.clone(),
        Flow::Spawn { .. } => read_handoff(run.work.summary.as_ref()?),
        Flow::Awaiting | Flow::Cruise { .. } => None,
    }
}

fn plan(run: &Run) -> Option<Plan> {
    match &run.flow {
        // A plan that was merged or closed without an approval is not built.
        Flow::Phase { phase } => match (&phase.plan, &phase.end) {
            (PlanCheck::Valid { plan }, Some(PhaseEnd::Approved { .. })) => Some(plan.clone()),
            // What is not on the branch yet may never come there.
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

/// Whether the plan follows what people say while it is built.
fn is_amended(run: &Run) -> bool {
    let terms = run.request.as_ref().and_then(|one| one.kind.phase_terms());
    terms.is_some_and(|terms| matches!(terms.makes, Makes::Amendments { .. }))
}

/// What programs showed of the commits that go to the base.
fn checked(run: &Run) -> Option<Checked> {
    match &run.flow {
        Flow::Phase { phase } => phase.whole.checked.clone(),
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. } => None,
    }
}

/// Changed files that the task is not about.
fn outside(run: &Run) -> Vec<String> {
    match &run.flow {
        Flow::Phase { phase } => phase.outside.clone(),
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. } => Vec::new(),
    }
}

/// How far the commits of a task are from landing. A comment that waits for its answer, or a commit of
/// somebody else, takes the offer back.
fn landable(run: &Run) -> Landable {
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
        other @ (Landable::NotYet | Landable::Unapproved { .. } | Landable::Ready { .. }) => {
            other.clone()
        }
    }
}

/// Tests of others that the task changed.
fn tests(run: &Run) -> Vec<String> {
    match &run.flow {
        Flow::Phase { phase } => phase.tests.clone(),
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. } => Vec::new(),
    }
}

/// The commit on the base, once it is there.
fn merged(run: &Run) -> Option<CommitSha> {
    match &run.flow {
        Flow::Phase { phase } => phase.merged.clone(),
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. } => None,
    }
}

/// Whether an effect is a report to the parent.
pub(super) fn is_report(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::ToRun {
            message: RunMessage::ReportToParent { .. },
            ..
        }
    )
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
    let limit = match &run.flow {
        Flow::Cruise { .. } => super::cruise::waits_for(run),
        Flow::Phase { phase } => {
            let limit = run.limit().map(str::to_owned);
            limit.or_else(|| phase.left_to_person(run.work.head_sha.as_ref()))
        }
        Flow::Awaiting | Flow::Spawn { .. } => run.limit().map(str::to_owned),
    };
    let Some(why) = limit else {
        return ChildState::Working;
    };
    let spent = run.spent_in_all();
    let is_budget = match run.flow {
        Flow::Cruise { .. } => super::cruise::needs_budget(run),
        Flow::Phase { .. } | Flow::Awaiting | Flow::Spawn { .. } => {
            run.budget().overrun(spent.usage, spent.cost).is_some()
        }
    };
    if is_budget {
        ChildState::NeedsBudget { why }
    } else {
        ChildState::NeedsPerson { why }
    }
}
