//! The journals of a tree, the process that owns all of them, and a world in which most effects succeed.

mod requests;

use super::checks;
use crate::common::{self, agent_ended, agent_said, good, problem};
use crate::cruise_simulation::rng::Rng;
use drive_core::agent::{Budget, Cost, Ending, Failure, Role, Usage};
use drive_core::ids::{EffectKey, RunId, TaskId};
use drive_core::run::{
    AfterEnd, Ask, BuildTerms, Effect, EffectResult, Event, Makes, OutcomeStatus, PlanApproval,
    Publish, Request, Run, RunKind, RunMessage, STATE_FORMAT, TaskOrder, Timer, fold, read_run,
    step, write_run,
};
use drive_core::sandbox::Sandbox;
use drive_core::settings::TeamMode;
use drive_core::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

/// A tree with more turns than this is in an endless loop.
const MOST_TURNS: u64 = 60_000;
const MOST_CRASHES: u64 = 12;

/// A journal, and the state to which it folds.
pub struct Tree {
    pub run: Run,
    pub journal: Vec<(Event, Timestamp)>,
    known: BTreeSet<String>,
}

/// An effect that the owner performs.
struct UnderWay {
    run: RunId,
    key: EffectKey,
    /// Set after it has happened in the world.
    result: Option<EffectResult>,
}

pub struct Forest {
    pub rng: Rng,
    pub root: RunId,
    pub trees: BTreeMap<RunId, Tree>,
    /// The usage of each agent that ever worked, by run and effect: the final bill.
    pub bills: Vec<(RunId, Usage, Cost)>,
    pub granted: Budget,
    under_way: Vec<UnderWay>,
    is_owned: bool,
    seconds: i64,
    said: u64,
    steps: u64,
    dies_at: Option<u64>,
    deadliness: u64,
    faults: u64,
    /// The probability that a person stops something in a turn, in parts per ten thousand.
    stops: u64,
    grown: Grown,
}

/// The result of a tree.
pub struct Grown {
    pub status: OutcomeStatus,
    pub was_stopped: bool,
    pub crashes: u64,
    pub extended: u64,
    pub is_nested: bool,
    pub children: u64,
    pub widest: usize,
    pub grants: u64,
    pub steps: u64,
}

enum Turn {
    Start(RunId, EffectKey),
    Go(usize),
    Wake(RunId, Timer),
}

impl Forest {
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let deadliness = rng.weighed(&[(1, 0), (2, 5), (2, 30)]);
        let faults = rng.weighed(&[(4, 0), (2, 3), (1, 20)]);
        let stops = rng.weighed(&[(4, 0), (1, 2), (1, 10)]);
        Self {
            rng,
            root: RunId::new("r1"),
            trees: BTreeMap::new(),
            bills: Vec::new(),
            granted: Budget {
                tokens: Some(0),
                cost: Some(Cost::default()),
            },
            under_way: Vec::new(),
            is_owned: true,
            seconds: 0,
            said: 0,
            steps: 0,
            dies_at: None,
            deadliness,
            faults,
            stops,
            grown: Grown {
                status: OutcomeStatus::Failed,
                was_stopped: false,
                crashes: 0,
                extended: 0,
                is_nested: false,
                children: 0,
                widest: 0,
                grants: 0,
                steps: 0,
            },
        }
    }

    /// Disables random deaths and stops.
    pub fn calm(mut self) -> Self {
        self.deadliness = 0;
        self.stops = 0;
        self
    }

    pub fn dying_at(mut self, step: u64) -> Self {
        self.dies_at = Some(step);
        self
    }

    pub fn grow(mut self) -> Grown {
        let request = self.root_request();
        let event = Event::Requested {
            request: Box::new(request),
        };
        let root = self.root.clone();
        self.deliver(&root, event, "request");
        let mut turns = 0;
        while self.trees[&root].run.outcome.is_none() {
            self.turn();
            turns += 1;
            assert!(turns < MOST_TURNS, "it goes round in circles");
        }
        checks::at_end(&self);
        self.check_journals();
        let outcome = self.trees[&root].run.outcome.as_ref().unwrap();
        self.grown.status = outcome.status;
        self.grown.steps = self.steps;
        self.grown.children = self.trees.len() as u64 - 1;
        self.grown.widest = self.trees[&root].run.children.len();
        self.grown
    }

    fn now(&self) -> Timestamp {
        common::at(self.seconds)
    }

    /// Delivers an event: once per name, folded, durable. Then the owner may die.
    fn deliver(&mut self, id: &RunId, event: Event, name: &str) {
        let now = self.now();
        let tree = self.trees.entry(id.clone()).or_insert_with(|| Tree {
            run: Run::new(id.clone()),
            journal: Vec::new(),
            known: BTreeSet::new(),
        });
        if !tree.known.insert(name.to_owned()) {
            return;
        }
        tree.journal.push((event.clone(), now));
        let run = std::mem::replace(&mut tree.run, Run::new(id.clone()));
        let (run, decided) = step(run, event, now).expect("only what can happen is delivered");
        tree.run = run;
        for key in &decided {
            if let Effect::ToRun {
                message:
                    RunMessage::AskRun {
                        ask: Ask::Extend { .. },
                    },
                ..
            } = &tree.run.pending[key]
            {
                self.grown.grants += 1;
            }
        }
        checks::after_step(self, id);
        self.maybe_die();
    }

    fn name(&mut self, what: &str) -> String {
        self.said += 1;
        format!("{what}/{}", self.said)
    }

    fn maybe_die(&mut self) {
        self.steps += 1;
        let is_chance = self.rng.below(1_000) < self.deadliness;
        let is_time = self.dies_at.is_some_and(|at| at == self.steps - 1);
        if !self.is_owned || !(is_time || is_chance && self.grown.crashes < MOST_CRASHES) {
            return;
        }
        self.grown.crashes += 1;
        self.is_owned = false;
        for one in std::mem::take(&mut self.under_way) {
            // Its current effects have happened or not; no run got their results.
            if one.result.is_none() && self.rng.percent(50) {
                self.happen(&one.run, &one.key);
            }
        }
    }

    /// The next owner knows only what was written.
    fn take_over(&mut self) {
        for tree in self.trees.values_mut() {
            let text = write_run(&tree.run).unwrap();
            let read = read_run(STATE_FORMAT, &text).unwrap();
            assert_eq!(read, tree.run, "a state is not read as it was written");
            tree.run = read;
        }
        self.is_owned = true;
        // A sweep that takes a run of the tree for an orphan changes nothing.
        if self.rng.percent(30) {
            let ids: Vec<RunId> = self.trees.keys().cloned().collect();
            for id in ids {
                if self.trees[&id].run.shutdown.is_none() {
                    let name = self.name("ownerLost");
                    self.deliver(&id, Event::OwnerLost, &name);
                }
            }
        }
    }

    /// Checks that every journal folds to its saved state.
    fn check_journals(&self) {
        for (id, tree) in &self.trees {
            let folded = fold(id.clone(), tree.journal.iter().cloned()).unwrap();
            assert_eq!(folded, tree.run, "the journal of {id} tells another story");
        }
    }

    fn turn(&mut self) {
        self.seconds += 1;
        if !self.is_owned {
            return self.take_over();
        }
        self.people();
        if !self.is_owned {
            return;
        }
        let gone = |one: &UnderWay| !self.trees[&one.run].run.pending.contains_key(&one.key);
        let (dropped, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut self.under_way)
            .into_iter()
            .partition(gone);
        self.under_way = kept;
        drop(dropped);
        let mut turns = Vec::new();
        for (id, tree) in &self.trees {
            for key in tree.run.pending.keys() {
                let is_under_way = |one: &UnderWay| one.run == *id && one.key == *key;
                if !self.under_way.iter().any(is_under_way) {
                    turns.push(Turn::Start(id.clone(), key.clone()));
                }
            }
        }
        turns.extend((0..self.under_way.len()).map(Turn::Go));
        let is_asked_for =
            turns.is_empty() && drive_core::run::paused_for(&self.trees[&self.root].run).is_some();
        if is_asked_for && self.rng.percent(70) {
            return self.help();
        }
        if turns.is_empty() {
            for (id, tree) in &self.trees {
                for timer in tree.run.timers.keys() {
                    turns.push(Turn::Wake(id.clone(), *timer));
                }
            }
        }
        if turns.is_empty() {
            return self.help();
        }
        let at = self.rng.below(turns.len() as u64) as usize;
        match turns.swap_remove(at) {
            Turn::Start(run, key) => self.under_way.push(UnderWay {
                run,
                key,
                result: None,
            }),
            Turn::Go(at) => self.go(at),
            Turn::Wake(id, timer) => {
                let due = self.trees[&id].run.timers[&timer];
                self.seconds = self
                    .seconds
                    .max(due.as_second() - common::at(0).as_second());
                let name = self.name("timer");
                self.deliver(&id, Event::Woken { timer }, &name);
            }
        }
    }

    /// Performs a current effect, or reports its result to its run.
    fn go(&mut self, at: usize) {
        let one = self.under_way.swap_remove(at);
        match one.result {
            None => {
                let result = self.happen(&one.run, &one.key);
                self.under_way.push(UnderWay {
                    result: Some(result),
                    ..one
                });
                self.maybe_die();
            }
            Some(result) => {
                let name = format!("result/{}", one.key);
                let event = Event::EffectEnded {
                    key: one.key,
                    result,
                };
                self.deliver(&one.run, event, &name);
            }
        }
    }

    /// Performs an effect in the world.
    fn happen(&mut self, id: &RunId, key: &EffectKey) -> EffectResult {
        let Some(effect) = self.trees[id].run.pending.get(key).cloned() else {
            return EffectResult::Failed { problem: problem() };
        };
        match &effect {
            Effect::ToRun { run, message } => {
                self.tell(id, key, run, message);
                EffectResult::Delivered
            }
            Effect::RunAgent { job, .. } => {
                let is_cut = self.trees[id].run.stop_asked;
                let mut ended = match job.role {
                    _ if is_cut => agent_ended(Some(Failure::Cancelled)),
                    _ if self.rng.below(100) < self.faults => {
                        agent_ended(Some(if self.rng.percent(50) {
                            Failure::Garbage
                        } else {
                            Failure::Model { status: Some(529) }
                        }))
                    }
                    Role::Reviewer => agent_said(r#"{"verdict": "approved"}"#),
                    _ => agent_ended(None),
                };
                let budget = self.trees[id].run.budget_for(key);
                if let EffectResult::AgentEnded { outcome, .. } = &mut ended {
                    let (usage, cost) = self.used(budget);
                    outcome.usage = usage;
                    outcome.cost = Some(cost);
                    // An agent that exceeds its budget is stopped.
                    if let Some(overrun) = budget.overrun(usage, Some(cost)).filter(|_| !is_cut) {
                        outcome.ending = Ending::Failed {
                            reason: Failure::Budget { overrun },
                            message: String::new(),
                        };
                    }
                    self.bills.push((id.clone(), usage, cost));
                }
                ended
            }
            Effect::CreateSandbox { spec } => EffectResult::SandboxCreated {
                sandbox: Box::new(Sandbox {
                    id: spec.id.clone(),
                    ..common::sandbox()
                }),
            },
            Effect::RemoveSandbox { .. } => good(&effect),
            _ if self.rng.below(100) < self.faults / 4 => {
                EffectResult::Failed { problem: problem() }
            }
            other => good(other),
        }
    }

    /// The usage of an agent, which stops after it has exceeded its budget; its last action may
    /// exceed it a little.
    fn used(&mut self, budget: Budget) -> (Usage, Cost) {
        let wanted = self.rng.weighed(&[(4, 500), (3, 5_000), (1, 100_000)]);
        let tokens = self.rng.below(wanted);
        let tokens = tokens.min(
            budget
                .tokens
                .map_or(u64::MAX, |most| most + checks::OVERSHOOT),
        );
        let micros = tokens * 20;
        let micros = micros.min(
            budget
                .cost
                .map_or(u64::MAX, |most| most.micro_usd() + checks::OVERSHOOT),
        );
        let usage = Usage {
            input: tokens,
            cached: 0,
            output: 0,
        };
        (usage, Cost::from_micro_usd(micros))
    }

    /// Delivers a message like the engine: with the same key for every attempt.
    fn tell(&mut self, from: &RunId, key: &EffectKey, to: &RunId, message: &RunMessage) {
        let (event, name) = match message.clone() {
            RunMessage::StartRun { request } => (Event::Requested { request }, "request".into()),
            RunMessage::AskRun { ask } => (Event::Asked { ask }, format!("ask/{from}/{key}")),
            RunMessage::StopRun => (Event::CancelAsked, format!("stop/{from}/{key}")),
            RunMessage::ReportToParent { report } => {
                let name = format!("report/{from}/{}", report.number);
                let child = from.clone();
                (Event::ChildReported { child, report }, name)
            }
        };
        self.deliver(to, event, &name);
    }

    /// Sometimes a person stops the whole tree or one of its runs.
    fn people(&mut self) {
        if self.rng.below(10_000) >= self.stops {
            return;
        }
        let ids: Vec<RunId> = self.trees.keys().cloned().collect();
        let one = self.rng.below(ids.len() as u64) as usize;
        let id = if self.rng.percent(50) {
            self.root.clone()
        } else {
            ids[one].clone()
        };
        self.grown.was_stopped |= id == self.root;
        let name = self.name("stop");
        self.deliver(&id, Event::CancelAsked, &name);
    }

    /// Nothing can happen without a person, so one acts.
    fn help(&mut self) {
        let root = &self.trees[&self.root].run;
        assert!(
            drive_core::run::paused_for(root).is_some(),
            "it waits for nobody: {:?}",
            root.children
        );
        self.grown.extended += 1;
        if self.grown.extended > 40 {
            let root = self.root.clone();
            self.grown.was_stopped = true;
            return self.deliver(&root, Event::CancelAsked, "enough");
        }
        let budget = Budget {
            tokens: Some(20_000),
            cost: Some(Cost::from_micro_usd(2_000_000)),
        };
        self.granted = self.granted.plus(budget);
        let ask = Ask::Extend { budget, rounds: 0 };
        let name = self.name("extend");
        let root = self.root.clone();
        self.deliver(&root, Event::Asked { ask }, &name);
    }
}
