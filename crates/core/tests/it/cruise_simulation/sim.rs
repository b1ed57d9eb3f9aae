//! Simulates one cruise from a seed: an owner that may die at any moment, its journal, and the world.
//!
//! The owner acts like the real dispatcher: it starts pending effects, reports their results, and
//! wakes the run when its timers are due. Only the journal outlives it.

use crate::common;
use crate::cruise_simulation::agents;
use crate::cruise_simulation::checks;
use crate::cruise_simulation::clock::Clock;
use crate::cruise_simulation::forge::Forge;
use crate::cruise_simulation::git::Git;
use crate::cruise_simulation::people::People;
use crate::cruise_simulation::requests;
use crate::cruise_simulation::rng::Rng;
use crate::cruise_simulation::world::{UnderWay, World};
use drive_core::agent::Budget;
use drive_core::forge::trust::Reason;
use drive_core::ids::EffectKey;
use drive_core::run::{
    Effect, EffectResult, Event, Flow, ForgeAnswer, Note, Outcome, Run, Spent, Stage, Timer, fold,
    read_event, require_resumable, step, write_event,
};
use drive_core::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// A cruise with more turns than this is in an endless loop.
const MOST_TURNS: usize = 10_000;
const MOST_RESUMES: u64 = 4;

pub struct Sim {
    pub who: Who,
    pub rng: Rng,
    pub world: World,
    pub run: Run,
    pub journal: Vec<(Event, Timestamp)>,
    pub people: People,
    pub polls: u32,
    pub known: BTreeSet<String>,
    pub owner: Option<Owner>,
    /// When the next owner starts, by the steady clock.
    pub comes: i64,
    pub crashes: u64,
    /// How often a person continued it.
    resumes: u64,
    /// How often the journal was lost.
    pub losses: u32,
    /// The probability of a death at a moment, in parts per thousand.
    pub deadliness: u64,
    said: u64,
    is_told: bool,
}

#[derive(Default)]
pub struct Owner {
    pub under_way: Vec<UnderWay>,
    timers: BTreeMap<Timer, Due>,
}

#[derive(Clone, Copy)]
struct Due {
    civil: Timestamp,
    steady: i64,
}

#[derive(Clone)]
enum Next {
    Happens(EffectKey),
    Reports(EffectKey),
    Timers,
    People,
    Owner,
}

/// The result of a cruise, to check that the simulation reaches everything.
pub struct Flown {
    pub outcome: Outcome,
    pub sim: Sim,
}

/// The kind of the simulated run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Cruise,
    Team,
}

pub fn fly(seed: u64, who: Who, is_told: bool) -> Flown {
    let mut sim = Sim::new(seed, who, is_told);
    let request = match who {
        Who::Cruise => requests::request(&mut sim.rng),
        Who::Team => requests::team_request(&mut sim.rng),
    };
    let request = Event::Requested {
        request: Box::new(request),
    };
    sim.deliver(request, "request".to_owned());
    let mut turns = 0;
    while sim.run.outcome.is_none() || sim.resume() {
        sim.turn();
        turns += 1;
        assert!(turns < MOST_TURNS, "it goes round in circles");
    }
    checks::at_end(&sim);
    if seed.is_multiple_of(16) {
        sim.check_journal();
    }
    let outcome = sim.run.outcome.clone().expect("it ended");
    Flown { outcome, sim }
}

impl Sim {
    fn new(seed: u64, who: Who, is_told: bool) -> Self {
        let mut rng = Rng::new(seed);
        let world = World {
            clock: Clock {
                steady: 0,
                offset: 0,
            },
            git: Git::new(),
            forge: Forge::new(),
            wildness: rng.weighed(&[(3, 5), (4, 25), (1, 70)]),
            faults: rng.weighed(&[(3, 0), (3, 5), (1, 30)]),
            reviewed: Vec::new(),
        };
        Self {
            who,
            people: People::new(&mut rng),
            deadliness: rng.weighed(&[(1, 0), (2, 10), (2, 40), (1, 150)]),
            rng,
            world,
            run: Run::new(common::run_id()),
            journal: Vec::new(),
            polls: 0,
            known: BTreeSet::new(),
            owner: Some(Owner::default()),
            comes: 0,
            crashes: 0,
            resumes: 0,
            losses: 0,
            said: 0,
            is_told,
        }
    }

    pub fn tell(&self, what: impl FnOnce() -> String) {
        if self.is_told {
            println!("{} {}", self.world.clock.now(), what());
        }
    }

    /// Delivers an event: once per name, folded, durable. Then the owner may die.
    pub fn deliver(&mut self, event: Event, name: String) {
        if !self.known.insert(name) {
            return;
        }
        let now = self.world.clock.now();
        self.tell(|| write_event(&event).unwrap());
        self.journal.push((event.clone(), now));
        let was_ending = checks::is_ending(self);
        let run = std::mem::replace(&mut self.run, Run::new(common::run_id()));
        let (run, decided) = step(run, event, now).expect("only what can happen is delivered");
        self.run = run;
        checks::after_step(self, &decided, was_ending);
        self.maybe_die();
    }

    /// A new, unused name.
    pub fn name(&mut self, what: &str) -> String {
        self.said += 1;
        format!("{what}/{}", self.said)
    }

    /// Checks that the journal, parsed from its text, folds to the saved state.
    pub fn check_journal(&self) {
        let events = self.journal.iter().map(|(event, at)| {
            let text = write_event(event).unwrap();
            (read_event(1, &text).unwrap(), *at)
        });
        let folded = fold(common::run_id(), events).unwrap();
        assert_eq!(folded, self.run, "the journal tells another story");
    }

    fn turn(&mut self) {
        self.start_pending();
        let (at, next) = self.next();
        self.world.clock.steady = self.world.clock.steady.max(at);
        match next {
            Next::Owner => self.take_over(),
            Next::People => People::act(self),
            Next::Timers => self.wake(),
            Next::Happens(key) => self.happens(&key),
            Next::Reports(key) => self.report(&key),
        }
    }

    /// The next event. If several are due at the same time, chance decides.
    fn next(&mut self) -> (i64, Next) {
        let mut all = vec![(self.people.next, Next::People)];
        match &self.owner {
            None => all.push((self.comes, Next::Owner)),
            Some(owner) => {
                for one in &owner.under_way {
                    all.push(match one.result {
                        None => (one.happens, Next::Happens(one.key.clone())),
                        Some(_) => (one.reports, Next::Reports(one.key.clone())),
                    });
                }
                let clock = &self.world.clock;
                let due = owner.timers.values();
                all.extend(due.map(|due| (due.comes(clock), Next::Timers)));
            }
        }
        self.rng.shuffle(&mut all);
        let first = all.into_iter().min_by_key(|(at, _)| *at);
        let (at, next) = first.expect("people are always there");
        assert_ne!(at, i64::MAX, "nothing will ever happen any more");
        (at, next)
    }

    fn start_pending(&mut self) {
        let Some(owner) = &mut self.owner else { return };
        let gone = |one: &UnderWay| !self.run.pending.contains_key(&one.key);
        let unwanted: Vec<UnderWay> = owner.under_way.extract_if(.., |one| gone(one)).collect();
        let clock = &self.world.clock;
        let known = std::mem::take(&mut owner.timers);
        for (name, civil) in &self.run.timers {
            let same = known.get(name).filter(|due| due.civil == *civil);
            let due = same.copied().unwrap_or_else(|| Due {
                civil: *civil,
                steady: clock.steady_at(*civil),
            });
            owner.timers.insert(*name, due);
        }
        let is_new = |key: &&EffectKey| !owner.under_way.iter().any(|one| one.key == **key);
        let new: Vec<EffectKey> = self.run.pending.keys().filter(is_new).cloned().collect();
        for mut one in unwanted {
            self.cut_short(&mut one);
        }
        for key in new {
            self.maybe_die();
            if self.owner.is_none() || !self.run.pending.contains_key(&key) {
                return;
            }
            let one = self.world.begin(&self.run, &key, &mut self.rng);
            let process = one.process.clone();
            if let Some(owner) = &mut self.owner {
                owner.under_way.push(one);
            }
            if let Some(identity) = process {
                self.world.git.alive.push(identity.child.pid);
                let name = self.name("process");
                let of = key.clone();
                self.deliver(Event::ProcessStarted { key: of, identity }, name);
                self.note_used(key);
            }
        }
    }

    /// An agent may report its usage before it ends.
    fn note_used(&mut self, key: EffectKey) {
        let tokens = self.rng.below(agents::MOST_NOTED);
        if self.rng.percent(50) {
            return;
        }
        let under_way = self.owner.as_mut().map(|owner| &mut owner.under_way);
        let Some(one) = under_way.and_then(|all| all.iter_mut().find(|one| one.key == key)) else {
            return;
        };
        one.noted = tokens;
        let mut spent = Spent::default();
        spent.usage.input = tokens;
        let note = Note::Used { spent };
        let name = self.name("note");
        self.deliver(Event::Noted { key, note }, name);
    }

    /// A person stops the run: its agents are cancelled, and nothing new is started.
    pub fn stop(&mut self) {
        if self.owner.is_none() || self.run.outcome.is_some() {
            return;
        }
        let name = self.name("cancel");
        self.deliver(Event::CancelAsked, name);
        let now = self.world.clock.steady;
        for one in self.owner.iter_mut().flat_map(|owner| &mut owner.under_way) {
            if one.result.is_none() && matches!(one.effect, Effect::RunAgent { .. }) {
                one.temper = agents::Temper::Cancelled;
                one.happens = now + 1;
                one.reports = now + 2;
            }
        }
    }

    /// A person continues a team that was stopped, killed or used up its budget. Returns whether
    /// that happened.
    fn resume(&mut self) -> bool {
        checks::at_end(self);
        let more = Budget {
            tokens: Some(self.rng.below(20_000)),
            cost: None,
        };
        let granted = self.rng.percent(50).then_some(more);
        let is_wanted = self.resumes < MOST_RESUMES && self.rng.percent(60);
        if self.who == Who::Cruise || !is_wanted || require_resumable(&self.run, granted).is_err() {
            return false;
        }
        self.resumes += 1;
        self.owner = Some(Owner::default());
        let name = self.name("resumed");
        self.deliver(Event::Resumed { granted }, name);
        true
    }

    /// Whether the phase has concluded, and only posts its result.
    fn is_closing(&self) -> bool {
        match &self.run.flow {
            Flow::Phase { phase } => matches!(phase.stage, Stage::Closing { .. }),
            _ => false,
        }
    }

    fn under_way(&mut self, key: &EffectKey) -> Option<UnderWay> {
        let owner = self.owner.as_mut()?;
        let at = owner.under_way.iter().position(|one| one.key == *key)?;
        Some(owner.under_way.swap_remove(at))
    }

    fn happens(&mut self, key: &EffectKey) {
        self.maybe_die();
        if let Some(mut one) = self.under_way(key) {
            self.world.perform(&mut one, &self.run, &mut self.rng);
            if let Some(owner) = &mut self.owner {
                owner.under_way.push(one);
            }
            self.maybe_die();
        }
    }

    fn report(&mut self, key: &EffectKey) {
        let Some(one) = self.under_way(key) else {
            return;
        };
        let Some(result) = one.result.filter(|_| self.run.pending.contains_key(key)) else {
            return;
        };
        if let EffectResult::OnForge {
            answer: ForgeAnswer::Polled { poll },
        } = &result
        {
            let unknown =
                |one: &drive_core::run::IgnoredComment| one.reason == Reason::PermissionUnknown;
            self.world.forge.looked = Some(one.happened);
            // What is read after the closing posts does not change the conclusion.
            if !self.is_closing() {
                self.world.forge.weighed = Some(one.happened);
            }
            self.world.forge.unsettled = poll.ignored.iter().any(unknown);
        }
        let event = Event::EffectEnded {
            key: key.clone(),
            result,
        };
        self.deliver(event, format!("result/{key}"));
    }

    fn wake(&mut self) {
        let Some(owner) = &mut self.owner else { return };
        let clock = &self.world.clock;
        let due: Vec<Timer> = owner
            .timers
            .iter()
            .filter(|(_, due)| due.comes(clock) <= clock.steady)
            .map(|(name, _)| *name)
            .collect();
        for timer in due {
            // After the clock was set back, the same time may be awaited again.
            if let Some(owner) = &mut self.owner {
                owner.timers.remove(&timer);
            }
            let name = self.name("timer");
            self.deliver(Event::Woken { timer }, name);
            if self.owner.is_none() {
                return;
            }
        }
    }

    pub fn resumes(&self) -> u64 {
        self.resumes
    }
}

impl Due {
    /// When the first of the two clocks reaches it.
    fn comes(&self, clock: &Clock) -> i64 {
        self.steady.min(clock.steady_at(self.civil))
    }
}
