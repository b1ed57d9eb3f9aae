//! The flow of a run that builds tasks: it has no sandbox of its own and starts a child run for each
//! task once the tasks before it are through.
//!
//! A root of plain runs knows nothing but its children. A cruise has a plan and a line besides: a task
//! is through when it has landed there ([`landing`]), and at the end programs check what the plan says
//! must be true ([`ending`]).

mod amending;
mod asks;
mod board;
mod briefing;
mod contract;
mod ending;
mod landing;
mod leave;
mod offers;
mod order;
mod pauses;
mod probe;
mod texts;

pub use self::amending::amending_run;
pub use self::order::{planning_run, validating_run};

pub(super) use self::asks::asked;
pub(super) use self::order::plan_again;

use self::asks::stop_skipped;
use self::board::Board;
use super::super::model::{
    Ask, Build, BuildStage, BuildTerms, Child, ChildState, Diagnosis, Effect, EffectResult, Flow,
    Line, OutcomeStatus, PlanFrom, Run, RunKind, RunMessage, TaskRecord, TaskState, Timer,
};
use super::super::needs::{Need, is_of_plan};
use super::{budget, shutdown, tree};
use crate::cruise::Train;
use crate::ids::{EffectKey, RunId, TaskId};
use crate::plan::Plan;
use crate::problem::{Kind, Problem};
use crate::time::{Timestamp, after};

/// How many runs are started for a task before a person is asked.
const MOST_ATTEMPTS: u32 = 3;

pub(super) fn begin(run: &mut Run, now: Timestamp) {
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

/// Takes over the tasks of a plan.
fn take_plan(build: &mut Build, plan: Plan) {
    let order = plan.order();
    for task in &plan.tasks {
        let after = order.waits_for(&task.id).to_vec();
        let record = TaskRecord::new(task.title.clone(), after);
        build.tasks.insert(task.id.clone(), record);
    }
    build.amending.agreed = Some(plan.clone());
    build.plan = Some(plan);
}

/// Decides whatever its children, its line and its budget allow now.
pub(super) fn go_on(run: &mut Run, now: Timestamp) {
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

/// An effect of the root itself has ended.
pub(super) fn ended(
    run: &mut Run,
    key: &EffectKey,
    effect: Effect,
    result: EffectResult,
    now: Timestamp,
) {
    if let EffectResult::Failed { problem } = result {
        return landing::failed(run, key, effect, problem, now);
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
        // What is known of a pull request is remembered for every flow.
        (_, _) => {}
    }
    go_on(run, now);
}

/// The pause of something that failed has ended, or a person did not come.
pub(super) fn woken(run: &mut Run, timer: Timer, now: Timestamp) {
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

/// Takes over how the runs of tasks ended.
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

/// A task gets its next attempt, or waits for a person.
fn did_not_land(build: &mut Build, task: &TaskId, diagnosis: Diagnosis, is_final: bool) {
    let Some(record) = build.tasks.get_mut(task) else {
        return;
    };
    record.state = if is_final || record.attempts >= MOST_ATTEMPTS {
        TaskState::Blocked {
            why: diagnosis.what.clone(),
            diagnosis: Some(diagnosis),
        }
    } else {
        TaskState::Waiting {
            diagnosis: Some(diagnosis),
        }
    };
}

/// Its living children, but for the one that only listens.
fn live_tasks(run: &Run) -> impl Iterator<Item = &Child> + Clone {
    let live = run.children.iter().filter(|(_, child)| child.is_live());
    live.filter(|(id, _)| !amending::is_listener(run, id))
        .map(|(_, child)| child)
}

fn has_live_tasks(run: &Run) -> bool {
    live_tasks(run).next().is_some()
}

/// Whether all that will land has landed.
fn is_over(run: &Run) -> bool {
    match stage(run) {
        Some(BuildStage::Checking | BuildStage::Validating | BuildStage::Reporting) => true,
        Some(BuildStage::Opening | BuildStage::Probing | BuildStage::Building) | None => false,
    }
}

/// What the run waits for that only a person can provide; `None` while it works.
pub(in crate::run) fn waits_for(run: &Run) -> Option<String> {
    need(run).map(|need| need.reason)
}

/// The same, with what a person can do.
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

fn is_paused(run: &Run) -> bool {
    matches!(&run.flow, Flow::Cruise { build } if build.paused || !build.retries.is_empty())
}

/// Whether tasks are about to land.
fn has_train(run: &Run) -> bool {
    let train = match &run.flow {
        Flow::Cruise { build } => build.train.as_ref(),
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Phase { .. } => None,
    };
    train.is_some_and(|train| !train.is_empty())
}

/// Grants more to children that used up their share.
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
        // Whoever hears people meanwhile needs a share, too.
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

fn terms(run: &Run) -> Option<&BuildTerms> {
    match &run.request.as_ref()?.kind {
        RunKind::Build(terms) => Some(terms),
        RunKind::Spawn | RunKind::Team(_) | RunKind::Cruise(_) => None,
    }
}

/// Changes the state of a cruise.
fn with_build(run: &mut Run, change: impl FnOnce(&mut Build)) {
    if let Flow::Cruise { build } = &mut run.flow {
        change(build);
    }
}

/// The line that tasks land on, once it is there.
fn line(run: &Run) -> Option<&Line> {
    match &run.flow {
        Flow::Cruise { build } => build.line.as_ref(),
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Phase { .. } => None,
    }
}

/// What a cruise does.
fn stage(run: &Run) -> Option<BuildStage> {
    match &run.flow {
        Flow::Cruise { build } => Some(build.stage),
        Flow::Awaiting | Flow::Spawn { .. } | Flow::Phase { .. } => None,
    }
}
