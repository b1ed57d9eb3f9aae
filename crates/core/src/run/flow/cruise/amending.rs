//! Follows the plan while it is built. A child run takes up people's comments on the pull request
//! and amends the plan. The tasks follow: one that was not started takes the new entry, one at work
//! starts again from its commits, and one that landed gets another task on top of it.

use super::super::super::model::{
    Ask, Build, BuildStage, BuildTerms, Child, ChildState, Diagnosis, Effect, Flow, LineAct,
    LineTerms, Listening, OutcomeStatus, Run, RunMessage, TaskRecord, TaskState, Timer,
};
use super::super::{budget, shutdown, tree};
use super::board::Board;
use super::context::with_build;
use super::skipping::{hand_down, skip};
use super::{leave, order, probe};
use crate::ids::{RunId, TaskId};
use crate::plan::{Plan, PlanTask};
use crate::problem::{Kind, Problem};
use crate::time::Timestamp;

/// The live run that amends the plan, if there is one.
pub fn amending_run(run: &Run) -> Option<RunId> {
    let Flow::Cruise { build } = &run.flow else {
        return None;
    };
    let id = order::amending_id(&run.id, build.amending.runs);
    let child = run.children.get(&id)?;
    child.is_live().then_some(id)
}

/// Whether a child only amends the plan; the cruise does not wait for it.
pub(super) fn is_listener(run: &Run, id: &RunId) -> bool {
    last(run).is_some_and(|(last, _)| last == *id)
}

/// The amending run that was started last.
fn last(run: &Run) -> Option<(RunId, &Child)> {
    let Flow::Cruise { build } = &run.flow else {
        return None;
    };
    let id = order::amending_id(&run.id, build.amending.runs);
    let child = run.children.get(&id)?;
    Some((id, child))
}

/// Starts a run that takes up comments while tasks are built.
pub(super) fn listen(run: &mut Run, terms: &BuildTerms, line_terms: &LineTerms) {
    let Flow::Cruise { build } = &run.flow else {
        return;
    };
    let is_open = build.tasks.values().any(|task| !task.is_through());
    let may_start = build.amending.listening != Listening::GivenUp;
    let is_wanted = build.stage == BuildStage::Building && may_start && is_open;
    if !is_wanted || amending_run(run).is_some() {
        return;
    }
    let Some(request) = order::amending_request(run, line_terms) else {
        return;
    };
    let number = build.amending.runs + 1;
    let unstarted = Board::of(run, terms).unstarted().count();
    if build.amending.over {
        return;
    }
    let share = budget::share(run, unstarted + 2);
    if share.is_used_up() {
        return;
    }
    with_build(run, |build| {
        build.amending.runs = number;
        build.amending.listening = Listening::On;
    });
    let id = order::amending_id(&run.id, number);
    tree::start(run, (id, order::amending_task()), request, share);
}

/// Asks the amending run to end once it has no work left. Returns whether it has ended.
pub(super) fn dismiss(run: &mut Run) -> bool {
    let Some(id) = amending_run(run) else {
        return true;
    };
    let mut is_asked = false;
    with_build(run, |build| {
        let before = std::mem::replace(&mut build.amending.listening, Listening::Dismissed);
        is_asked = before == Listening::Dismissed;
    });
    if !is_asked {
        let ask = Ask::Conclude;
        tree::tell(run, id, RunMessage::AskRun { ask });
    }
    false
}

/// Whether the wait for blocked tasks is over and the amending run has ended.
pub(super) fn is_over(run: &Run) -> bool {
    let is_over = matches!(&run.flow, Flow::Cruise { build } if build.amending.over);
    is_over && amending_run(run).is_none()
}

/// Takes over the amended plan. Returns whether the cruise ends because its pull request was closed
/// or merged.
pub(super) fn take(run: &mut Run, now: Timestamp) -> bool {
    let Some((_, child)) = last(run) else {
        return false;
    };
    let report = child.report.clone();
    let is_live = child.is_live();
    let plan = report.as_ref().and_then(|report| report.plan.clone());
    with_build(run, |build| {
        if plan.is_some() {
            build.amending.heard = plan;
        }
    });
    if let Some(plan) = heard(run) {
        amend(run, &plan);
    }
    match report.map(|report| report.state) {
        Some(ChildState::Ended { status, failure }) if !is_live => {
            listener_ended(run, status, failure, now)
        }
        Some(_) | None => false,
    }
}

/// The last plan of the file, if the tasks can follow it now; they cannot while the contract runs.
fn heard(run: &Run) -> Option<Plan> {
    let Flow::Cruise { build } = &run.flow else {
        return None;
    };
    let is_free = match build.stage {
        BuildStage::Building => true,
        BuildStage::Probing => !build.doubts.is_empty(),
        BuildStage::Opening
        | BuildStage::Checking
        | BuildStage::Validating
        | BuildStage::Reporting => false,
    };
    let is_run = |effect: &Effect| {
        matches!(
            effect,
            Effect::OnLine {
                act: LineAct::CheckContract { .. }
            }
        )
    };
    let mut under_way = run.pending.values().chain(&build.retries);
    let is_free = is_free && !under_way.any(is_run);
    build.amending.heard.clone().filter(|_| is_free)
}

fn listener_ended(
    run: &mut Run,
    status: OutcomeStatus,
    failure: Option<Problem>,
    now: Timestamp,
) -> bool {
    let Flow::Cruise { build } = &mut run.flow else {
        return false;
    };
    let is_building = matches!(build.stage, BuildStage::Building | BuildStage::Probing);
    if build.amending.listening != Listening::On || !is_building {
        return false;
    }
    match failure {
        None if status == OutcomeStatus::Succeeded => {
            let problem = Problem::new(
                Kind::TasksFailed,
                "the pull request was merged before every task had landed",
            )
            .hint("what landed is on the base; start another cruise for the rest");
            leave::leave(run, OutcomeStatus::NeedsHuman, problem, now);
            true
        }
        Some(problem) if problem.kind == Kind::PullRequestClosed => {
            shutdown::abandon(run, OutcomeStatus::Cancelled, Some(problem), now);
            true
        }
        failure => {
            build.amending.listening = Listening::GivenUp;
            let why = failure.map_or_else(|| "it was stopped".to_owned(), |one| one.to_string());
            run.warnings.push(format!(
                "comments are not read while tasks are built: {why}. They are answered after all tasks \
                 have landed"
            ));
            false
        }
    }
}

/// Lets the tasks follow the new plan. A task that cannot follow yet does so once its run or its
/// landing has ended.
fn amend(run: &mut Run, new: &Plan) {
    let Flow::Cruise { build } = &mut run.flow else {
        return;
    };
    let agreed = build.amending.agreed.as_ref().or(build.plan.as_ref());
    let Some(agreed) = agreed.filter(|agreed| *agreed != new).cloned() else {
        return;
    };
    let mut settled = Plan { tasks: Vec::new() };
    let (mut changed, mut at_work, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
    let mut again = Vec::new();
    for task in &new.tasks {
        let before = of(&agreed, &task.id);
        let is_same = before == Some(task);
        let state = build.tasks.get(&task.id).map(|record| record.state.clone());
        let follows = match state {
            _ if is_same => true,
            None => {
                add(build, task.clone());
                changed.push(task.id.clone());
                true
            }
            Some(TaskState::Waiting { .. } | TaskState::Blocked { .. }) => {
                replace(build, before, task);
                changed.push(task.id.clone());
                true
            }
            Some(TaskState::Building { run }) => {
                at_work.push(run);
                false
            }
            Some(TaskState::Landing { .. }) => false,
            Some(TaskState::Landed { .. }) => {
                let id = build_again(build, before, task, new);
                again.push((task.id.clone(), id.clone()));
                changed.push(id);
                true
            }
            Some(TaskState::Skipped) if before.is_none() => {
                revive(build, task);
                changed.push(task.id.clone());
                true
            }
            // A person left it out.
            Some(TaskState::Skipped) => true,
        };
        let agreed = if follows { Some(task) } else { before };
        settled.tasks.extend(agreed.cloned());
    }
    for task in &agreed.tasks {
        if of(new, &task.id).is_some() {
            continue;
        }
        match build.tasks.get(&task.id).map(|record| &record.state) {
            Some(TaskState::Landing { .. }) => settled.tasks.push(task.clone()),
            Some(
                TaskState::Waiting { .. } | TaskState::Blocked { .. } | TaskState::Building { .. },
            ) => dropped.push(task.id.clone()),
            Some(TaskState::Landed { .. }) => run.warnings.push(format!(
                "task `{}` has landed; taking it out of the plan does not undo it",
                task.id
            )),
            Some(TaskState::Skipped) | None => {}
        }
    }
    for (landed, id) in again {
        follow(build, &landed, &id);
    }
    build.amending.agreed = Some(settled);
    for task in &dropped {
        skip(run, task);
    }
    for id in at_work {
        tree::stop_child(run, &id);
    }
    if changed.is_empty() && dropped.is_empty() {
        return;
    }
    with_build(run, |build| {
        build.amending.over = false;
        set_order(build);
    });
    run.timers.remove(&Timer::Inactivity);
    probe::again(run, &changed);
}

fn of<'p>(plan: &'p Plan, id: &TaskId) -> Option<&'p PlanTask> {
    plan.tasks.iter().find(|task| task.id == *id)
}

/// Adds a task at the end. It waits for tasks that change the same files.
fn add(build: &mut Build, task: PlanTask) {
    let record = TaskRecord::new(task.title.clone(), Vec::new());
    build.tasks.insert(task.id.clone(), record);
    if let Some(plan) = &mut build.plan {
        plan.tasks.push(task);
    }
}

/// Replaces a task's entry by the new one. An acceptance entry that a person accepted stays accepted.
fn replace(build: &mut Build, before: Option<&PlanTask>, task: &PlanTask) {
    let planned = build.plan.iter_mut().flat_map(|plan| &mut plan.tasks);
    for one in planned.filter(|one| one.id == task.id) {
        let mut new = task.clone();
        for entry in &mut new.acceptance {
            let old = before.and_then(|old| old.acceptance.iter().find(|old| *old == entry));
            let accepted = one
                .acceptance
                .iter()
                .find(|accepted| accepted.id == entry.id);
            if let (Some(_), Some(accepted)) = (old, accepted) {
                *entry = accepted.clone();
            }
        }
        *one = new;
    }
    let Some(record) = build.tasks.get_mut(&task.id) else {
        return;
    };
    record.title.clone_from(&task.title);
    let (TaskState::Waiting { diagnosis } | TaskState::Blocked { diagnosis, .. }) = &record.state
    else {
        return;
    };
    let diagnosis = diagnosis.clone().map(|diagnosis| Diagnosis {
        what: format!("The plan was amended after that. {}", diagnosis.what),
        ..diagnosis
    });
    record.attempts = 0;
    record.outages = 0;
    record.state = TaskState::Waiting { diagnosis };
}

/// Adds a new task that builds a landed task again. Returns its id.
fn build_again(
    build: &mut Build,
    before: Option<&PlanTask>,
    task: &PlanTask,
    new: &Plan,
) -> TaskId {
    let is_taken = |id: &TaskId| build.tasks.contains_key(id) || of(new, id).is_some();
    let mut number = 2;
    let mut id = TaskId::new(format!("{}-{number}", task.id));
    while is_taken(&id) {
        number += 1;
        id = TaskId::new(format!("{}-{number}", task.id));
    }
    let mut again = task.clone();
    again.id = id.clone();
    again.description = format!(
        "{}\n\nTask `{}` has landed. The plan was amended since: change what landed so that it does \
         what the plan says now.",
        task.description, task.id
    );
    if !again.depends_on.contains(&task.id) {
        again.depends_on.push(task.id.clone());
    }
    for one in build.plan.iter_mut().flat_map(|plan| &mut plan.tasks) {
        if one.id == task.id {
            // Criteria that the plan dropped need no evidence.
            let old = before.map_or(&[][..], |before| &before.acceptance);
            let stays = |id: &str| {
                let mut both = old.iter().filter(|entry| task.acceptance.contains(entry));
                both.any(|entry| entry.id == id)
            };
            one.acceptance.retain(|entry| stays(&entry.id));
        }
    }
    add(build, again);
    id
}

/// Makes the tasks that depend on a landed task also wait for the new task on top of it.
fn follow(build: &mut Build, landed: &TaskId, again: &TaskId) {
    for one in build.plan.iter_mut().flat_map(|plan| &mut plan.tasks) {
        let is_other = one.id != *again && !one.depends_on.contains(again);
        if is_other && one.depends_on.contains(landed) {
            one.depends_on.push(again.clone());
        }
    }
}

/// Puts a task back that had been taken out of the plan.
fn revive(build: &mut Build, task: &PlanTask) {
    if let Some(record) = build.tasks.get_mut(&task.id) {
        record.state = TaskState::Waiting { diagnosis: None };
    }
    replace(build, None, task);
}

/// Updates what tasks wait for that were not started yet.
fn set_order(build: &mut Build) {
    let Some(plan) = &build.plan else {
        return;
    };
    let order = plan.order();
    for (id, record) in &mut build.tasks {
        if matches!(
            record.state,
            TaskState::Waiting { .. } | TaskState::Blocked { .. } | TaskState::Skipped
        ) {
            record.after = order.waits_for(id).to_vec();
        }
    }
    let skipped = build.tasks.iter();
    let skipped = skipped.filter(|(_, record)| record.state == TaskState::Skipped);
    let skipped: Vec<TaskId> = skipped.map(|(id, _)| id.clone()).collect();
    // One pass for each skipped task is enough, in any order.
    for _ in 0..=skipped.len() {
        let mut is_changed = false;
        for id in &skipped {
            is_changed |= hand_down(build, id);
        }
        if !is_changed {
            break;
        }
    }
}
