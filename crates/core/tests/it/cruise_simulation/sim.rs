//! One cruise under a seed: an owner that may die at any moment, its journal, and the world.
//!
//! The owner does what the real dispatcher does: it starts what is pending, reports what came of it,
//! and wakes the run when its instants come. Only the journal outlives it.

use crate::common;
use crate::cruise_simulation::agents;
use crate::cruise_simulation::checks;
use crate::cruise_simulation::clock::{Clock, HOUR, MINUTE};
use crate::cruise_simulation::forge::Forge;
use crate::cruise_simulation::git::{Git, PlanText};
use crate::cruise_simulation::people::People;
use crate::cruise_simulation::rng::Rng;
use crate::cruise_simulation::world::{UnderWay, World};
use drive_core::agent::{Access, Budget};
use drive_core::forge::trust::Reason;
use drive_core::ids::EffectKey;
use drive_core::run::{
    Adopted, DoneWhen, Effect, EffectResult, Event, ForgeAnswer, Makes, Note, Outcome, Published,
    Request, Run, RunKind, STATE_FORMAT, Spent, Timer, fold, phase_state, read_event, read_run,
    require_resumable, step, write_event, write_run,
};
use drive_core::sandbox::{Lifetime, Sandbox};
use drive_core::settings::TeamMode;
use drive_core::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A cruise with more turns than this goes round in circles.
const MOST_TURNS: usize = 10_000;
const MOST_CRASHES: u64 = 8;
const MOST_RESUMES: u64 = 4;

pub struct Sim {
    pub who: Who,
    pub rng: Rng,
    pub world: World,
    pub run: Run,
    pub journal: Vec<(Event, Timestamp)>,
    pub people: People,
    pub polls: u32,
    known: BTreeSet<String>,
    owner: Option<Owner>,
    /// When the next owner comes, by the steady clock.
    comes: i64,
    crashes: u64,
    /// How often a person let it go on.
    resumes: u64,
    /// How often the journal was lost.
    pub losses: u32,
    /// How many of a thousand moments are deadly.
    deadliness: u64,
    said: u64,
    is_told: bool,
}

#[derive(Default)]
struct Owner {
    under_way: Vec<UnderWay>,
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

/// What a cruise came to, to see that the simulation reaches everything.
pub struct Flown {
    pub outcome: Outcome,
    pub sim: Sim,
}

/// Whose run is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Cruise,
    Team,
}

pub fn fly(seed: u64, who: Who, is_told: bool) -> Flown {
    let mut sim = Sim::new(seed, who, is_told);
    let request = match who {
        Who::Cruise => request(&mut sim.rng),
        Who::Team => team_request(&mut sim.rng),
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

/// Terms of every kind.
fn request(rng: &mut Rng) -> Request {
    let mut terms = common::cruise::terms();
    let watch = terms.watch.as_mut().expect("a cruise is watched");
    watch.max_rounds = u32::try_from(rng.between(1, 8)).expect("small");
    terms.max_iterations = u32::try_from(rng.between(1, 4)).expect("small");
    terms.done = DoneWhen::Approved {
        auto_approve: rng.percent(35),
        plan_only: rng.percent(30),
    };
    let inactive = rng.weighed(&[(5, HOUR / 2), (8, 2 * HOUR), (1, 24 * HOUR)]);
    let watch = terms.watch.as_mut().expect("a cruise is watched");
    watch.inactivity_timeout = Duration::from_millis(inactive.unsigned_abs());
    if rng.percent(15) {
        terms.makes = Makes::Plan {
            given: Some(common::PLAN.to_owned()),
        };
    }
    let mut request = common::cruise::request_with(terms);
    request.budget = Budget::default();
    if rng.percent(25) {
        request.budget.tokens = Some(rng.below(20_000));
    }
    request
}

/// Teams of every kind.
fn team_request(rng: &mut Rng) -> Request {
    let mode = rng.weighed(&[
        (1, TeamMode::Sequential),
        (2, TeamMode::Pingpong),
        (4, TeamMode::Github),
    ]);
    let mut request = common::team_request(mode);
    if let RunKind::Team(terms) = &mut request.kind {
        terms.max_iterations = u32::try_from(rng.between(1, 4)).expect("small");
        terms.done = DoneWhen::Reviewed {
            auto_merge: rng.percent(50),
        };
    }
    request.budget = Budget::default();
    if rng.percent(15) {
        request.budget.tokens = Some(rng.below(20_000));
    }
    request
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

    /// The first verb: once per name, folded, durable. Then the owner may die.
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

    /// A name nobody used before.
    pub fn name(&mut self, what: &str) -> String {
        self.said += 1;
        format!("{what}/{}", self.said)
    }

    fn maybe_die(&mut self) {
        let is_deadly = self.rng.below(1_000) < self.deadliness;
        if is_deadly && self.crashes < MOST_CRASHES {
            self.die();
        }
    }

    /// The owner is killed: whatever it was doing has happened, or half, or not at all.
    pub fn die(&mut self) {
        let Some(owner) = self.owner.take() else {
            return;
        };
        self.tell(|| "the owner dies".to_owned());
        self.crashes += 1;
        for mut one in owner.under_way {
            self.cut_short(&mut one);
            if let Some(process) = &one.process
                && self.rng.percent(50)
            {
                self.world.git.alive.retain(|pid| *pid != process.child.pid);
            }
        }
        let wait = [
            (6, (1, MINUTE)),
            (3, (MINUTE, HOUR)),
            (1, (HOUR, 40 * HOUR)),
        ];
        let (least, most) = self.rng.weighed(&wait);
        self.comes = self.world.clock.steady + self.rng.between(least, most);
    }

    fn cut_short(&mut self, one: &mut UnderWay) {
        if one.result.is_some() {
            return;
        }
        match &one.effect {
            Effect::RunAgent { job, sandbox } => {
                let writes = sandbox.is_some() && job.role.access() == Access::Write;
                if self.world.git.is_merging() {
                    agents::resolve(one.temper, &mut self.world.git, &mut self.rng);
                } else if writes && self.world.git.tree.is_some() && self.rng.percent(50) {
                    let plan = self.world.git.tree.as_ref().map(|tree| tree.plan);
                    let plan = plan.unwrap_or(PlanText::Missing);
                    agents::scribble(&mut self.world.git, plan, &mut self.rng);
                }
                if let Some(tree) = &mut self.world.git.tree {
                    tree.half_done |= writes;
                }
            }
            Effect::OnForge { .. } | Effect::OpenPullRequest { .. } if self.rng.percent(25) => {
                self.world.perform(one, &self.run, &mut self.rng);
            }
            _ => {}
        }
    }

    /// The next owner knows only what was written down.
    fn take_over(&mut self) {
        self.tell(|| "an owner comes".to_owned());
        let text = write_run(&self.run).unwrap();
        let read = read_run(STATE_FORMAT, &text).unwrap();
        assert_eq!(read, self.run, "a state is not read as it was written");
        self.run = read;
        if self.rng.percent(5) {
            self.check_journal();
        }
        self.owner = Some(Owner::default());
        // The next command ends a team of a dead owner.
        if self.who == Who::Team || self.rng.percent(20) {
            let name = self.name("ownerLost");
            self.deliver(Event::OwnerLost, name);
        }
    }

    /// The journal, read from its text, folds to the state that is saved.
    fn check_journal(&self) {
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

    /// What comes first. Of things that come together, one is chosen by chance.
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

    /// An agent may tell what it used before it ends.
    fn note_used(&mut self, key: EffectKey) {
        let tokens = self.rng.below(1_500);
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

    /// The journal is gone with its owner. The next one finds the sandbox, and goes on from what it,
    /// git and the forge say.
    pub fn lose_journal(&mut self) {
        let state = phase_state(&self.run);
        let (Some(state), Some(request), None) = (state, &self.run.request, &self.run.shutdown)
        else {
            return;
        };
        if checks::is_ending(self) || self.run.work.pull_request.is_none() {
            return;
        }
        let mut request = Request::clone(request);
        self.die();
        self.tell(|| "the journal is gone".to_owned());
        self.losses += 1;
        self.world.git.alive.clear();
        if let RunKind::Cruise(terms) = &mut request.kind {
            terms.done = DoneWhen::Approved {
                auto_approve: false,
                plan_only: false,
            };
            terms.adopted = Some(Adopted {
                sandbox: Sandbox {
                    lifetime: Lifetime::Persistent,
                    ..common::sandbox()
                },
                pull_request: Published {
                    number: 7,
                    url: "local:7".to_owned(),
                },
                title: "X".to_owned(),
                head_sha: self.world.git.head(),
                domain: state.current_review_domain,
                rounds: state.completed_rounds,
            });
        }
        self.run = Run::new(common::run_id());
        self.journal.clear();
        self.known.clear();
        let requested = Event::Requested {
            request: Box::new(request),
        };
        self.deliver(requested, "request".to_owned());
    }

    /// A person stops the run: its agents are cancelled, and nothing new is begun.
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

    /// A person lets a team go on that was stopped, killed or used up its budget. Returns whether it
    /// does.
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
            // The same instant may be waited for again, once somebody has set the clock back.
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

    pub fn crashes(&self) -> u64 {
        self.crashes
    }
}

impl Due {
    /// When the first of both clocks has come.
    fn comes(&self, clock: &Clock) -> i64 {
        self.steady.min(clock.steady_at(self.civil))
    }
}
