//! The flow of a run that builds tasks: it has no sandbox of its own and starts a child run for each
//! task once the tasks before it have succeeded.
//!
//! Its state is what it knows of its children: nothing else is stored.

use super::super::model::{
    Ask, BuildTerms, ChildState, Effect, Flow, OutcomeStatus, Run, RunKind, RunMessage, TaskOrder,
};
use super::{budget, shutdown, tree};
use crate::ids::{RunId, TaskId};
use crate::problem::{Kind, Problem};
use crate::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn begin(run: &mut Run, now: Timestamp) {
    run.flow = Flow::Cruise;
    go_on(run, now);
}

/// Decides whatever its children and its budget allow now.
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
    start_ready(run, terms);
    if run.has_live_children() || needs_budget(run) {
        return;
    }
    let failure = unfinished(run, terms);
    let status = match failure {
        None => OutcomeStatus::Succeeded,
        Some(_) => OutcomeStatus::Failed,
    };
    shutdown::abandon(run, status, failure, now);
}

/// A person, or the parent, asks for something. Returns false for what only a phase can do.
pub(super) fn asked(run: &mut Run, ask: &Ask, now: Timestamp) -> bool {
    match ask {
        Ask::Extend { budget, .. } => {
            run.grant(*budget);
            ask_again(run);
            go_on(run, now);
            true
        }
        Ask::Cleanup => {
            let problem = Problem::new(Kind::Interrupted, "cleaned up on request");
            shutdown::abandon(run, OutcomeStatus::Cancelled, Some(problem), now);
            true
        }
        Ask::Poll => true,
        Ask::Comment { .. } | Ask::Approve { .. } => false,
    }
}

/// What the run waits for that only a person can provide; `None` while it works.
pub(in crate::run) fn waits_for(run: &Run) -> Option<String> {
    if needs_budget(run) {
        let spent = run.spent_in_all();
        let left = run.budget().minus(spent.usage, spent.cost);
        let what = match (left.tokens, left.cost) {
            (Some(0), _) => "the token limit is reached",
            (_, Some(cost)) if cost.micro_usd() == 0 => "the cost limit is reached",
            _ => "what is left of the budget is too small for the next task",
        };
        return Some(what.to_owned());
    }
    let mut reason = None;
    for child in run.children.values().filter(|child| child.is_live()) {
        match child.report.as_ref().map(|report| &report.state) {
            Some(ChildState::NeedsPerson { why } | ChildState::NeedsBudget { why }) => {
                reason.get_or_insert_with(|| format!("task `{}`: {why}", child.task));
            }
            Some(ChildState::Working | ChildState::Ended { .. }) | None => return None,
        }
    }
    reason
}

/// Whether only a larger budget lets the run continue.
pub(in crate::run) fn needs_budget(run: &Run) -> bool {
    let Some(terms) = terms(run) else {
        return false;
    };
    let is_waiting = |child: &super::super::model::Child| {
        let state = child.report.as_ref().map(|report| &report.state);
        matches!(state, Some(ChildState::NeedsBudget { .. }))
    };
    let mut live = run.children.values().filter(|child| child.is_live());
    let has_any = live.clone().next().is_some();
    let is_telling = |effect: &Effect| matches!(effect, Effect::ToRun { .. });
    let is_granting = run.pending.values().any(is_telling);
    if is_granting || !live.all(is_waiting) {
        return false;
    }
    has_any || Board::of(run, terms).ready().next().is_some()
}

/// Lets children that still wait for a larger share be granted one, although an earlier grant was on
/// its way to them: it may never have arrived.
fn ask_again(run: &mut Run) {
    let pending = &run.pending;
    for (id, child) in &mut run.children {
        let is_told = |effect: &Effect| matches!(effect, Effect::ToRun { run, .. } if run == id);
        if !pending.values().any(is_told) {
            child.granted_for = 0;
        }
    }
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
    loop {
        let live = run
            .children
            .values()
            .filter(|child| child.is_live())
            .count();
        if live >= terms.max_parallel.get() as usize {
            return;
        }
        let board = Board::of(run, terms);
        let unstarted = board.unstarted().count();
        let Some(order) = board.ready().next() else {
            return;
        };
        let share = budget::share(run, unstarted);
        if share.is_used_up() {
            return;
        }
        tree::start(run, order, share);
    }
}

/// The failure of a root whose tasks did not all succeed.
fn unfinished(run: &Run, terms: &BuildTerms) -> Option<Problem> {
    let board = Board::of(run, terms);
    let failed: Vec<&str> = board.failed().map(TaskId::as_str).collect();
    if failed.is_empty() {
        let stuck = board.unstarted().next()?;
        return Some(Problem::new(
            Kind::TasksFailed,
            format!(
                "task `{}` cannot start: it depends on itself or on an unknown task",
                stuck.id
            ),
        ));
    }
    let skipped = board.blocked.len();
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

/// The states of the tasks of a root.
struct Board<'a> {
    terms: &'a BuildTerms,
    /// Tasks whose run was started; `Some(succeeded)` once it ended.
    runs: BTreeMap<&'a TaskId, Option<bool>>,
    /// Tasks that will not start, because one before them did not succeed.
    blocked: BTreeSet<&'a TaskId>,
}

impl<'a> Board<'a> {
    fn of(run: &Run, terms: &'a BuildTerms) -> Self {
        let mut runs = BTreeMap::new();
        for order in &terms.tasks {
            if let Some(child) = run.children.get(&tree::child_id(&run.id, &order.id)) {
                let through = (!child.is_live()).then(|| child.has_succeeded());
                runs.insert(&order.id, through);
            }
        }
        let mut board = Self {
            terms,
            runs,
            blocked: BTreeSet::new(),
        };
        // One pass for each task is enough, whatever the order they are listed in.
        for _ in &terms.tasks {
            let before = board.blocked.len();
            for order in &terms.tasks {
                let is_stuck = |task: &TaskId| {
                    board.blocked.contains(task) || board.runs.get(task) == Some(&Some(false))
                };
                if !board.runs.contains_key(&order.id) && order.after.iter().any(is_stuck) {
                    board.blocked.insert(&order.id);
                }
            }
            if board.blocked.len() == before {
                break;
            }
        }
        board
    }

    /// Tasks that may still start, in the order of the plan.
    fn unstarted(&self) -> impl Iterator<Item = &'a TaskOrder> {
        self.terms
            .tasks
            .iter()
            .filter(|order| !self.runs.contains_key(&order.id) && !self.blocked.contains(&order.id))
    }

    /// Those whose dependencies have succeeded.
    fn ready(&self) -> impl Iterator<Item = &'a TaskOrder> {
        self.unstarted().filter(|order| {
            let is_through = |task: &TaskId| self.runs.get(task) == Some(&Some(true));
            order.after.iter().all(is_through)
        })
    }

    /// Tasks whose run did not succeed.
    fn failed(&self) -> impl Iterator<Item = &'a TaskId> {
        let failed = |order: &&TaskOrder| self.runs.get(&order.id) == Some(&Some(false));
        self.terms
            .tasks
            .iter()
            .filter(failed)
            .map(|order| &order.id)
    }
}
