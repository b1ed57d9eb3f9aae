//! The invariants of every tree.

use super::forest::Forest;
use drive_core::agent::Cost;
use drive_core::ids::RunId;
use drive_core::problem::Kind;
use drive_core::run::{Effect, Event, OutcomeStatus, Run, RunKind, RunMessage};

/// How much one agent may exceed its budget before it is stopped.
pub const OVERSHOOT: u64 = 50;

/// Checks the invariants after every event of a run.
pub fn after_step(forest: &Forest, id: &RunId) {
    let run = &forest.trees[id].run;
    if let Some(RunKind::Build(terms)) = run.request.as_ref().map(|request| &request.kind) {
        let live = run
            .children
            .values()
            .filter(|child| child.is_live())
            .count();
        assert!(
            live <= terms.max_parallel.get() as usize,
            "{live} children live at once"
        );
    }
    check_order(forest, run);
    check_end(forest, run);
    check_grants(forest, run);
}

/// Checks that a task starts only after its dependencies have ended successfully.
fn check_order(forest: &Forest, run: &Run) {
    let Some(RunKind::Build(terms)) = run.request.as_ref().map(|request| &request.kind) else {
        return;
    };
    for effect in run.pending.values() {
        let Effect::ToRun {
            run: child,
            message: RunMessage::StartRun { .. },
        } = effect
        else {
            continue;
        };
        let task = &run.children[child].task;
        let order = terms.tasks.iter().find(|order| order.id == *task).unwrap();
        for before in &order.after {
            let ended = run.children.values().find(|child| child.task == *before);
            assert!(
                ended.unwrap().has_succeeded(),
                "{task} starts before {before}"
            );
            let its = RunId::new(format!("{}+{before}", run.id));
            let outcome = forest.trees[&its].run.shutdown.as_ref();
            assert_eq!(
                outcome.map(|ends| ends.status),
                Some(OutcomeStatus::Succeeded)
            );
        }
    }
}

/// Checks that an ended run has no living child, and that its parent knows of its end.
fn check_end(forest: &Forest, run: &Run) {
    if run.outcome.is_none() {
        return;
    }
    assert!(run.pending.is_empty() && run.timers.is_empty());
    for child in run.children.keys() {
        let Some(child) = forest.trees.get(child) else {
            continue;
        };
        let is_through = |effect: &Effect| {
            let is_report = matches!(effect, Effect::ToRun { .. });
            assert!(is_report, "{} ended before its child", run.id);
            true
        };
        let is_over = child.run.outcome.is_some() || child.run.pending.values().all(is_through);
        assert!(is_over);
        assert!(
            child.run.sandboxes.is_empty(),
            "a sandbox of a child is left"
        );
    }
}

/// Checks that the shares of living children plus all usage fit into the budget, except for what an
/// agent may use beyond its share before it is stopped.
fn check_grants(forest: &Forest, run: &Run) {
    if run.children.is_empty() {
        return;
    }
    let whole = run.budget();
    let mut tokens = run.spent.usage.counted();
    let mut micros = run.spent.cost.map_or(0, Cost::micro_usd);
    for child in run.children.values() {
        let spent = child.spent();
        let used = spent.usage.counted();
        let paid = spent.cost.map_or(0, Cost::micro_usd);
        if child.is_live() {
            tokens += child.granted.tokens.unwrap_or(0).max(used);
            micros += child.granted.cost.map_or(0, Cost::micro_usd).max(paid);
        } else {
            tokens += used;
            micros += paid;
        }
    }
    let most = OVERSHOOT * shares(forest, &run.id);
    if let Some(whole) = whole.tokens {
        assert!(tokens <= whole + most, "{tokens} tokens of {whole}");
    }
    if let Some(whole) = whole.cost {
        let whole = whole.micro_usd();
        assert!(micros <= whole + most, "{micros} of {whole}");
    }
}

/// The shares of the runs below this one: each has one agent at a time, which may exceed its share.
fn shares(forest: &Forest, id: &RunId) -> u64 {
    let below = format!("{id}+");
    let runs = forest.trees.keys();
    runs.filter(|run| run.as_str().starts_with(&below)).count() as u64
}

/// Checks the invariants after the last event of the root.
pub fn at_end(forest: &Forest) {
    let root = &forest.trees[&forest.root].run;
    let mut counted = 0;
    for (id, tree) in &forest.trees {
        let requests = tree.journal.iter();
        let requests = requests.filter(|(event, _)| matches!(event, Event::Requested { .. }));
        assert_eq!(requests.count(), 1, "{id} was started more than once");
        counted += tree.run.spent.usage.counted();
        let failure = tree
            .run
            .outcome
            .as_ref()
            .and_then(|end| end.failure.as_ref());
        assert!(
            failure.is_none_or(|failure| failure.kind != Kind::BudgetExceeded),
            "{id} ended at its share and asked nobody for more"
        );
    }
    assert_eq!(
        root.spent_in_all().usage.counted(),
        counted,
        "the root does not know what its tree used"
    );
    // An agent that a crash interrupted is billed as well, but nothing could report that to the run.
    let tokens: u64 = forest
        .bills
        .iter()
        .map(|(_, usage, _)| usage.counted())
        .sum();
    let unheard = tokens - counted;
    if let (Some(asked), 0) = (root.request.as_ref().unwrap().budget.tokens, unheard) {
        let allowed = asked + forest.granted.tokens.unwrap_or(0);
        assert!(
            tokens <= allowed + shares(forest, &root.id) * OVERSHOOT,
            "{tokens} tokens where {allowed} are allowed"
        );
    }
    let outcome = root.outcome.as_ref().unwrap();
    let has_all = |run: &Run| match run.request.as_ref().map(|request| &request.kind) {
        Some(RunKind::Build(terms)) => terms.tasks.iter().all(|order| {
            let mut children = run.children.values();
            children.any(|child| child.task == order.id && child.has_succeeded())
        }),
        _ => false,
    };
    assert_eq!(
        outcome.status == OutcomeStatus::Succeeded,
        has_all(root),
        "a root succeeds exactly when all its tasks did"
    );
}
