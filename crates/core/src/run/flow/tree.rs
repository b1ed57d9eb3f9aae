//! Parents and children: how a run starts and stops its children and takes their reports.
//!
//! A child has a deterministic id, so that starting it again starts nothing new.

use super::super::model::{
    Ask, Child, ChildReport, ChildStage, ChildState, Effect, Landable, OutcomeStatus, Parent,
    Request, Run, RunMessage,
};
use crate::Problem;
use crate::agent::Budget;
use crate::ids::{RunId, TaskId};

/// The id of the run of a task. No task id contains `+`, so the ids of nested runs cannot clash.
pub(super) fn child_id(parent: &RunId, task: &TaskId) -> RunId {
    RunId::new(format!("{parent}+{task}"))
}

/// The id of the root of a run's tree, which a person started.
pub(in crate::run) fn root_id(run: &RunId) -> &str {
    let (root, _) = run.as_str().split_once('+').unwrap_or((run.as_str(), ""));
    root
}

/// Whether two runs belong to the same root.
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

/// Decides to send a message to another run.
pub(super) fn tell(run: &mut Run, other: RunId, message: RunMessage) {
    run.decide(Effect::ToRun {
        run: other,
        message,
    });
}

/// Asks every started child to stop. Returns false if no child is live.
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

/// Asks one started child to stop.
pub(super) fn stop_child(run: &mut Run, id: &RunId) {
    let begun = |child: &&mut Child| child.stage == ChildStage::Started;
    if let Some(child) = run.children.get_mut(id).filter(begun) {
        child.stage = ChildStage::Stopping;
        tell(run, id.clone(), RunMessage::StopRun);
    }
}

/// Handles the result of starting a child.
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

/// Continues a child that has ended.
pub(super) fn revive(run: &mut Run, id: &RunId) {
    if let Some(child) = run.children.get_mut(id) {
        child.stage = ChildStage::Started;
        if let Some(report) = &mut child.report {
            report.state = ChildState::Working;
        }
    }
}

/// Gives up a child that cannot be stopped.
pub(super) fn not_stopped(run: &mut Run, id: &RunId, problem: &Problem) {
    if let Some(child) = run.children.get_mut(id) {
        give_up(child, problem);
        run.warnings
            .push(format!("could not stop run `{id}`: {problem}"));
    }
}

/// Handles a request that did not reach a child. A share that it did not get is free for others.
pub(super) fn not_asked(run: &mut Run, id: &RunId, ask: &Ask, problem: &Problem) {
    match (run.children.get_mut(id), ask) {
        (Some(child), Ask::Extend { budget, .. }) => {
            child.granted = child.granted.without(*budget);
        }
        // Otherwise the child would never end.
        (Some(child), Ask::Conclude | Ask::Landed { .. } | Ask::Mend { .. } | Ask::Hear { .. })
            if child.is_live() =>
        {
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
        rounds: child.rounds(),
        open_comments: 0,
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

/// Takes a child's report. An outdated report changes nothing.
pub(super) fn heard(run: &mut Run, id: &RunId, report: ChildReport) {
    let Some(child) = run.children.get_mut(id) else {
        return;
    };
    let known = child.report.as_ref().map_or(0, |report| report.number);
    if report.number <= known || child.stage == ChildStage::Ended {
        return;
    }
    // A report proves that the child has begun, even if its start was not confirmed.
    child.stage = match (&report.state, child.stage) {
        (ChildState::Ended { .. }, _) => ChildStage::Ended,
        (_, ChildStage::Starting) => ChildStage::Started,
        (_, stage) => stage,
    };
    child.report = Some(report);
}
