//! Advances a cruise: at its begin, and after each result of its effects.

use super::super::super::model::{
    Ask, BuildStage, BuildTerms, ChildState, Diagnosis, Effect, EffectResult, Flow, OutcomeStatus,
    PlanFrom, Run, RunKind, RunMessage, TaskState, Timer,
};
use super::super::{budget, shutdown, tree};
use super::board::Board;
use super::context::{did_not_land, is_over, is_paused, stage, take_plan, with_build};
use super::live::{has_live_tasks, live_tasks};
use super::skipping::stop_skipped;
use super::waits::needs_budget;
use super::{amending, ending, landing, offers, order, pauses, probe};
use crate::cruise::Train;
use crate::ids::{EffectKey, RunId, TaskId};
use crate::problem::{Kind, Problem};
use crate::time::{Timestamp, after};

pub(in crate::run::flow) fn begin(run: &mut Run, now: Timestamp) {
    run.flow = Flow::Cruise {
        build: Box::default(),
    };
    if let Some(request) = run.request.clone()
        && let RunKind::Build(terms) = &request.kind
        && let Some(line) = &terms.line
    {
        let train = Train::new(line.slots);
        let level = line.level;
        with_build(run, |build| build.level = level);
        match &line.plan {
            PlanFrom::File { plan } => {
                let plan = plan.clone();
                with_build(run, |build| {
                    build.train = Some(train);
                    take_plan(build, plan);
                });
                landing::begin_line(run);
            }
            PlanFrom::Phase { request } => {
                with_build(run, |build| build.train = Some(train));
                let share = budget::share(run, 2);
                let id = order::planning_id(&run.id);
                let task = order::planning_task();
                tree::start(run, (id, task), request.as_ref().clone(), share);
            }
        }
    }
    go_on(run, now);
}

/// Decides everything that the children, the line and the budget allow now.
pub(in crate::run::flow) fn go_on(run: &mut Run, now: Timestamp) {
    let Some(request) = run.request.clone() else {
        return;
    };
    let RunKind::Build(terms) = &request.kind else {
        return;
    };
    if run.outcome.is_some() || run.shutdown.is_some() || run.stop_asked {
        return;
    }
    grant(run, terms);
    if let Some(line) = &terms.line {
        let end = after(run.started_at.unwrap_or(now), line.max_age);
        run.timers.entry(Timer::Age).or_insert(end);
        if !landing::is_open(run, now) {
            return;
        }
        stop_skipped(run);
        offers::take(run);
        take_reports(run, now);
        if amending::take(run, now) {
            return;
        }
        ending::take_checked(run);
        landing::run_train(run);
    }
    if !is_over(run) && stage(run) != Some(BuildStage::Probing) {
        start_ready(run, terms);
    }
    if let Some(line) = &terms.line {
        amending::listen(run, terms, line);
        ending::describe(run, &request);
    }
    if has_live_tasks(run) || needs_budget(run) {
        return;
    }
    match &terms.line {
        Some(line) => ending::end_line(run, terms, line, now),
        None => end_plain(run, terms, now),
    }
}

fn end_plain(run: &mut Run, terms: &BuildTerms, now: Timestamp) {
    let failure = unfinished(run, terms);
    let status = match failure {
        None => OutcomeStatus::Succeeded,
        Some(_) => OutcomeStatus::Failed,
    };
    shutdown::abandon(run, status, failure, now);
}

/// Handles the result of an effect of the root itself.
pub(in crate::run::flow) fn ended(
    run: &mut Run,
    key: &EffectKey,
    effect: Effect,
    result: EffectResult,
    now: Timestamp,
) {
    if let EffectResult::Failed { problem } = result {
        if landing::failed(run, key, effect, problem, now) {
            go_on(run, now);
        }
        return;
    }
    with_build(run, |build| {
        build.tries = 0;
        build.trouble = None;
    });
    match (effect, result) {
        (_, EffectResult::BranchChosen { branch }) => landing::branch_chosen(run, branch),
        (Effect::OnLine { act }, EffectResult::OnLine { answer }) => {
            landing::answered(run, act, answer, now);
            landing::unblock_train(run);
        }
        // The pull request's data is recorded for every flow elsewhere.
        (_, _) => {}
    }
    go_on(run, now);
}

/// Handles a timer: a retry is due, a pause is over, or nobody reacted in time.
pub(in crate::run::flow) fn woken(run: &mut Run, timer: Timer, now: Timestamp) {
    match timer {
        Timer::Retry => {
            let mut retries = Vec::new();
            with_build(run, |build| retries = std::mem::take(&mut build.retries));
            for effect in retries {
                run.decide(effect);
            }
        }
        Timer::Inactivity => {
            probe::give_up(run, now);
            ending::give_up(run);
        }
        Timer::Hold => pauses::release(run, now),
        Timer::Age => return ending::too_old(run, now),
        Timer::Poll => {}
    }
    go_on(run, now);
}

/// Takes over the results of task runs.
fn take_reports(run: &mut Run, now: Timestamp) {
    let Flow::Cruise { build } = &run.flow else {
        return;
    };
    let at_work = build
        .tasks
        .iter()
        .filter_map(|(id, task)| match &task.state {
            TaskState::Building { run } => Some((id.clone(), run.clone())),
            TaskState::Waiting { .. }
            | TaskState::Landing { .. }
            | TaskState::Landed { .. }
            | TaskState::Blocked { .. }
            | TaskState::Skipped => None,
        });
    let at_work: Vec<(TaskId, RunId)> = at_work.collect();
    for (task, child) in at_work {
        let Some(child) = run.children.get(&child).filter(|child| !child.is_live()) else {
            continue;
        };
        let report = child.report.clone();
        let head = report.as_ref().and_then(|report| report.head_sha.clone());
        let handoff = report.as_ref().and_then(|report| report.handoff.clone());
        let outside = report.as_ref().map(|report| report.outside.clone());
        let outside = outside.unwrap_or_default();
        let tests = report.as_ref().map(|report| report.tests.clone());
        let tests = tests.unwrap_or_default();
        let (status, failure) = match report.map(|report| report.state) {
            Some(ChildState::Ended { status, failure }) => (status, failure),
            Some(
                ChildState::Working
                | ChildState::NeedsBudget { .. }
                | ChildState::NeedsPerson { .. },
            )
            | None => (OutcomeStatus::Failed, None),
        };
        match (status, head) {
            (OutcomeStatus::Succeeded, Some(head)) => {
                with_build(run, |build| {
                    if let Some(record) = build.tasks.get_mut(&task) {
                        record.handoff = handoff;
                        record.outside = outside;
                        record.tests = tests;
                    }
                    offers::queue(build, &task, head);
                });
            }
            (status, head) => {
                let is_silent = failure
                    .as_ref()
                    .is_some_and(|problem| problem.kind == Kind::Inactive);
                let is_away = failure.as_ref().is_some_and(pauses::is_away);
                let what = failure.map_or_else(
                    || "its run ended without a commit".to_owned(),
                    |problem| problem.to_string(),
                );
                let diagnosis = Diagnosis { what, head };
                let is_final = is_silent
                    || matches!(status, OutcomeStatus::NeedsHuman | OutcomeStatus::Cancelled);
                if is_away && !is_final && pauses::hold(run, &task, &diagnosis, now) {
                    continue;
                }
                with_build(run, |build| did_not_land(build, &task, diagnosis, is_final));
            }
        }
    }
}

/// Grants more budget to children that used up their share.
fn grant(run: &mut Run, terms: &BuildTerms) {
    let waiting: Vec<(RunId, u32)> = run
        .children
        .iter()
        .filter_map(|(id, child)| {
            let report = child.report.as_ref().filter(|_| child.is_live())?;
            let needs = matches!(report.state, ChildState::NeedsBudget { .. });
            let is_open = needs && child.granted_for < report.number;
            is_open.then(|| (id.clone(), report.number))
        })
        .collect();
    let unstarted = Board::of(run, terms).unstarted().count();
    for (at, (id, number)) in waiting.iter().enumerate() {
        let share = budget::share(run, unstarted + waiting.len() - at);
        if !budget::is_worthwhile(share, run.budget()) {
            return;
        }
        if let Some(child) = run.children.get_mut(id) {
            child.granted = child.granted.plus(share);
            child.granted_for = *number;
        }
        let ask = Ask::Extend {
            budget: share,
            rounds: 0,
        };
        tree::tell(run, id.clone(), RunMessage::AskRun { ask });
    }
}

fn start_ready(run: &mut Run, terms: &BuildTerms) {
    if is_paused(run) {
        return;
    }
    loop {
        let live = live_tasks(run)
            .filter(|child| !offers::is_idle(child))
            .count();
        if live >= terms.max_parallel.get() as usize {
            return;
        }
        let board = Board::of(run, terms);
        let unstarted = board.unstarted().count();
        let Some(task) = board.ready().next().cloned() else {
            return;
        };
        // The run that takes up comments needs a share, too.
        let listeners = usize::from(terms.line.is_some());
        let share = budget::share(run, unstarted + listeners);
        if share.is_used_up() {
            return;
        }
        let Some((id, request)) = order::request_of(run, terms, &task) else {
            return;
        };
        with_build(run, |build| {
            if let Some(record) = build.tasks.get_mut(&task) {
                record.attempts += 1;
                record.runs.push(id.clone());
                record.state = TaskState::Building { run: id.clone() };
            }
        });
        tree::start(run, (id, task), request, share);
    }
}

/// The failure of a root whose tasks did not all succeed.
fn unfinished(run: &Run, terms: &BuildTerms) -> Option<Problem> {
    let board = Board::of(run, terms);
    let failed: Vec<&str> = board.stuck().map(TaskId::as_str).collect();
    if failed.is_empty() {
        let stuck = board.unstarted().next()?;
        return Some(Problem::new(
            Kind::TasksFailed,
            format!("task `{stuck}` cannot start: it depends on itself or on an unknown task"),
        ));
    }
    let skipped = board.shut().count();
    let mut what = match failed.as_slice() {
        [task] => format!("task `{task}` did not succeed"),
        tasks => format!(
            "{} tasks did not succeed: `{}`",
            tasks.len(),
            tasks.join("`, `")
        ),
    };
    match skipped {
        0 => {}
        1 => what.push_str("; 1 dependent task was not started"),
        n => what.push_str(&format!("; {n} dependent tasks were not started")),
    }
    let first = failed
        .first()
        .map(|task| tree::child_id(&run.id, &TaskId::new(*task)));
    let hint = first.map(|id| format!("see why with `drive runs show {id}`"));
    let problem = Problem::new(Kind::TasksFailed, what);
    Some(match hint {
        Some(hint) => problem.hint(hint),
        None => problem,
    })
}
