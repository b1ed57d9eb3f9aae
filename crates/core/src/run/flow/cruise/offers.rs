//! Tasks with their own pull requests: a task's run offers a commit, takes up comments until the
//! commit has landed, and fixes what keeps it from landing.

use super::super::super::model::{
    Ask, Build, Child, ChildReport, Diagnosis, Effect, Flow, Landable, LineAct, Run, RunMessage,
    TaskState,
};
use super::super::tree;
use super::context::{MOST_ATTEMPTS, did_not_land, with_build};
use crate::cruise::Car;
use crate::cruise::train::Step;
use crate::ids::{CommitSha, RunId, TaskId};

/// Whether a run waits for the train or for a person while no agent works.
pub(super) fn is_idle(child: &Child) -> bool {
    let report = child.report.as_ref();
    report.is_some_and(|report| report.landable != Landable::NotYet)
}

/// Takes up the commits that the runs of tasks offer. A commit that is no longer offered leaves the
/// train: somebody commented on it, pushed to it, or closed its pull request.
pub(super) fn take(run: &mut Run) {
    let Flow::Cruise { build } = &run.flow else {
        return;
    };
    let mut changes = Vec::new();
    for (task, record) in &build.tasks {
        let Some((id, child, report)) = last_run(run, build, task) else {
            continue;
        };
        let offered = match &report.landable {
            Landable::Ready { head } => Some(head.clone()).filter(|_| child.is_live()),
            Landable::Unapproved { .. } | Landable::NotYet => None,
        };
        let change = match (&record.state, offered) {
            // A commit that a person merged stays in the train.
            (TaskState::Landing { .. }, None) if child.has_succeeded() => None,
            (TaskState::Landing { .. }, None) => Some(None),
            (TaskState::Landing { head }, Some(offered)) => {
                (*head != offered).then_some(Some(offered))
            }
            (TaskState::Building { .. }, Some(offered)) => Some(Some(offered)),
            // The run fixed it while the older commit landed.
            (TaskState::Landed { .. }, Some(offered)) => {
                let landed = record.landed.as_ref();
                let is_newer = landed.is_some_and(|landed| *landed != offered);
                is_newer.then_some(Some(offered))
            }
            (_, _) => None,
        };
        if let Some(offered) = change {
            changes.push((task.clone(), id.clone(), report.clone(), offered));
        }
    }
    with_build(run, |build| {
        for (task, id, report, offered) in changes {
            match offered {
                Some(head) => {
                    if let Some(record) = build.tasks.get_mut(&task) {
                        record.handoff = report.handoff;
                        record.outside = report.outside;
                        record.tests = report.tests;
                    }
                    queue(build, &task, head);
                }
                None => take_back(build, &task, id),
            }
        }
    });
}

/// Queues a reviewed task for landing.
pub(super) fn queue(build: &mut Build, task: &TaskId, head: CommitSha) {
    if let Some(record) = build.tasks.get_mut(task) {
        record.state = TaskState::Landing { head: head.clone() };
    }
    if let Some(train) = &mut build.train {
        train.queue(Car {
            task: task.clone(),
            head,
        });
    }
}

pub(super) fn take_back(build: &mut Build, task: &TaskId, run: RunId) {
    if let Some(train) = &mut build.train {
        train.remove(task);
        // A failed push is not repeated, because it may contain the task.
        let is_push = |effect: &Effect| {
            let Effect::OnLine { act } = effect else {
                return false;
            };
            matches!(act, LineAct::Land { .. })
        };
        if build.retries.iter().any(is_push) {
            build.retries.retain(|effect| !is_push(effect));
            train.failed(Step::Landing, "a task was taken back".to_owned());
        }
    }
    if let Some(record) = build.tasks.get_mut(task) {
        record.state = TaskState::Building { run };
    }
}

/// The last run of a task with its own pull request, and that run's report.
pub(super) fn last_run<'r>(
    run: &'r Run,
    build: &Build,
    task: &TaskId,
) -> Option<(&'r RunId, &'r Child, &'r ChildReport)> {
    let last = build.tasks.get(task)?.runs.last()?;
    let (id, child) = run.children.get_key_value(last)?;
    let report = child.report.as_ref()?;
    report.pull_request.as_ref()?;
    Some((id, child, report))
}

fn live_run(run: &Run, task: &TaskId) -> Option<RunId> {
    let Flow::Cruise { build } = &run.flow else {
        return None;
    };
    let (id, child, _) = last_run(run, build, task)?;
    child.is_live().then(|| id.clone())
}

/// Reports to a task's run that its commit landed: the run ends unless something new came in.
pub(super) fn landed(run: &mut Run, task: &TaskId, head: CommitSha) {
    if let Some(id) = live_run(run, task) {
        let ask = Ask::Landed { head };
        tree::tell(run, id, RunMessage::AskRun { ask });
    }
}

/// Ends the run of a task that is blocked or starts anew.
pub(super) fn end(run: &mut Run, task: &TaskId) {
    if let Some(id) = live_run(run, task) {
        tree::stop_child(run, &id);
    }
}

/// Asks a task's run to fix a commit that left the train, as often as a task may be tried. Returns
/// whether it was asked.
pub(super) fn mend(run: &mut Run, task: &TaskId, head: &CommitSha, why: &str) -> bool {
    let Some(id) = live_run(run, task) else {
        return false;
    };
    // The offered commit was refused; the run offers the fixed one.
    let child = run.children.get_mut(&id);
    if let Some(report) = child.and_then(|child| child.report.as_mut()) {
        report.landable = Landable::NotYet;
    }
    let mut may = false;
    with_build(run, |build| {
        let Some(record) = build.tasks.get_mut(task) else {
            return;
        };
        may = record.attempts < MOST_ATTEMPTS;
        if may {
            record.attempts += 1;
            record.state = TaskState::Building { run: id.clone() };
        } else {
            let diagnosis = Diagnosis {
                what: why.to_owned(),
                head: Some(head.clone()),
            };
            did_not_land(build, task, diagnosis, true);
        }
    });
    if may {
        let ask = Ask::Mend {
            head: head.clone(),
            why: why.to_owned(),
        };
        tree::tell(run, id, RunMessage::AskRun { ask });
    } else {
        tree::stop_child(run, &id);
    }
    true
}
