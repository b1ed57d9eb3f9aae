//! Tests a cruise whose clock people change, and that gets requests at the worst moment.
//! Dispatcher, journal and leases are real, everything else is a fake.

use crate::common::{RUN, at, fixture, owner, request, sandbox};
use drive_core::Problem;
use drive_core::agent::answer::Confidence;
use drive_core::ids::BranchName;
use drive_core::ids::{CommitSha, DedupeKey, PrNumber, RunId};
use drive_core::prompts::Prompts;
use drive_core::review::Domain;
use drive_core::run::{
    Adopted, Ask, Effect, EffectResult, Event, ForgeAct, ForgeAnswer, Makes, OutcomeStatus,
    PhaseTerms, PlanApproval, PollResult, Published, Request, ReviewTerms, Run, RunKind, Timer,
    WatchTerms,
};
use drive_core::settings::{RecordDetail, TeamMode};
use drive_core::time::{Timestamp, after};
use drive_engine::CancelToken;
use drive_engine::cancel::Urgency;
use drive_engine::cruise::{CruiseService, Reached};
use drive_engine::executor::{Executor, OnStop, Performer, Task, Until};
use drive_engine::journal::Journal;
use drive_engine::lease::{Lease, Whoami};
use drive_engine::ports::{Clock, Liveness, Owner, Store};
use std::num::NonZeroU32;
use std::sync::Mutex;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
const HOUR: i64 = 3600;
const PLAN: &str = "```json tasks\n[{\"id\": \"a\", \"title\": \"A\", \"description\": \"d\", \"acceptance\": [\"x\"]}]\n```\n";

/// A clock that stands still until a test sets it.
struct Civil(Mutex<Timestamp>);

impl Civil {
    fn set(&self, now: Timestamp) {
        *self.0.lock().unwrap() = now;
    }
}

impl Clock for Civil {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

struct Alone;

impl Whoami for Alone {
    fn owner(&self) -> Owner {
        owner(1)
    }
    fn liveness(&self, _: &Owner) -> Liveness {
        Liveness::Dead
    }
}

/// Counts polls; at each one the clock may be set.
struct Forge<'a> {
    clock: &'a Civil,
    /// The times to which the first polls set the clock when they end.
    sets: Mutex<Vec<Timestamp>>,
    looks: Mutex<u32>,
    said: Mutex<Vec<String>>,
}

impl<'a> Forge<'a> {
    fn new(clock: &'a Civil, sets: &[Timestamp]) -> Self {
        Self {
            clock,
            sets: Mutex::new(sets.iter().rev().copied().collect()),
            looks: Mutex::new(0),
            said: Mutex::new(Vec::new()),
        }
    }

    fn looks(&self) -> u32 {
        *self.looks.lock().unwrap()
    }
}

impl Performer for Forge<'_> {
    fn perform(&self, task: &Task<'_>) -> Result<EffectResult, Problem> {
        let done = |answer| EffectResult::OnForge { answer };
        Ok(match &task.claimed.effect {
            Effect::ReadFile { .. } => EffectResult::FileRead {
                text: Some(PLAN.to_owned()),
            },
            // There was no uncommitted work.
            Effect::CommitWork { .. } => EffectResult::WorkCommitted {
                head_sha: CommitSha::new("b".repeat(40)),
                commits: Vec::new(),
                warnings: Vec::new(),
                changed: Vec::new(),
            },
            Effect::Push { .. } => EffectResult::Pushed,
            Effect::RollBack { .. } => EffectResult::RolledBack { kept: None },
            Effect::RemoveSandbox { .. } => EffectResult::SandboxRemoved {
                kept: None,
                branch: None,
            },
            Effect::OnForge { act, .. } => match act {
                ForgeAct::Poll { .. } => {
                    if let Some(now) = self.sets.lock().unwrap().pop() {
                        self.clock.set(now);
                    }
                    *self.looks.lock().unwrap() += 1;
                    let poll = Box::new(PollResult::default());
                    done(ForgeAnswer::Polled { poll })
                }
                ForgeAct::PostComment { body } => {
                    self.said.lock().unwrap().push(body.clone());
                    done(ForgeAnswer::Done)
                }
                _ => done(ForgeAnswer::Done),
            },
            other => panic!("nothing asks for {}", other.name()),
        })
    }
}

/// A watched cruise with this pause between two polls.
fn watched(pause: Duration) -> Request {
    let mut sandbox = sandbox();
    sandbox.branch = Some(BranchName::parse("drive/do-it").unwrap());
    let terms = PhaseTerms {
        makes: Makes::Plan {
            given: None,
            approval: PlanApproval::default(),
        },
        mode: TeamMode::Github,
        reviewer: "scripted".into(),
        fixer: "scripted".into(),
        namer: "scripted".into(),
        namer_model: None,
        branch: None,
        title: None,
        costs: None,
        scope: None,
        max_iterations: 1,
        watch: Some(WatchTerms {
            poll_initial: pause,
            poll_max: pause,
            inactivity_timeout: Duration::from_secs(24 * 3600),
            max_rounds: 5,
        }),
        review: ReviewTerms {
            domains: Domain::SHIPPED.to_vec(),
            min_confidence: Confidence::new(80).unwrap(),
            refuter: None,
            verify: false,
            max_parallel: NonZeroU32::MIN,
        },
        prompts: Prompts::default(),
        record: RecordDetail::Redacted,
        checks_timeout: std::time::Duration::from_secs(1800),
        adopted: Some(Adopted {
            sandbox,
            pull_request: Published {
                number: PrNumber::new(1),
                url: "local:1".into(),
            },
            title: "It".into(),
            head_sha: CommitSha::new("b".repeat(40)),
            domain: None,
            rounds: 0,
        }),
    };
    Request {
        kind: RunKind::Cruise(Box::new(terms)),
        ..request()
    }
}

fn enter(store: &dyn Store, clock: &Civil, request: Request) {
    let event = Event::Requested {
        request: Box::new(request),
    };
    Journal { store, clock }
        .deliver(&RunId::new(RUN), &event, &DedupeKey::new("request"), None)
        .unwrap();
}

/// Owns the cruise until it has ended, or until `enough`.
fn fly(store: &dyn Store, clock: &Civil, forge: &Forge<'_>, enough: impl Fn() -> bool) -> Run {
    let run = RunId::new(RUN);
    let lease = Lease::acquire(store, clock, &Alone, &run).unwrap().unwrap();
    let cancel = CancelToken::new();
    let executor = Executor {
        journal: Journal { store, clock },
        whoami: &Alone,
        performer: forge,
        cancel: &cancel,
        on_stop: OnStop::LetGo,
        until: Until::Ended,
        hints: None,
    };
    scope(|threads| {
        let flying = threads.spawn(|| executor.fly(&lease).unwrap());
        let until = Instant::now() + PATIENCE;
        while !enough() && !flying.is_finished() && Instant::now() < until {
            sleep(Duration::from_millis(10));
        }
        cancel.cancel(Urgency::Graceful);
        flying.join().unwrap()
    })
}

#[test]
fn an_instant_that_is_waited_for_twice_wakes_twice() {
    let fixture = fixture();
    let clock = Civil(Mutex::new(at(0)));
    let pause = Duration::from_secs(HOUR.unsigned_abs());
    enter(&fixture.store, &clock, watched(pause));
    // The first poll ends at 0, so the next is due at 1 h. During that one the clock is set back,
    // so the next one is due at the same time again.
    let forge = Forge::new(&clock, &[at(0), at(0), at(2 * HOUR)]);
    let run = fly(&fixture.store, &clock, &forge, || {
        // The clock advances once the next poll is awaited, not while a poll is running.
        let run = fixture.store.load(&RunId::new(RUN)).unwrap().unwrap();
        let is_waiting = run.pending.is_empty() && run.timers.get(&Timer::Poll) == Some(&at(HOUR));
        if forge.looks() < 3 && is_waiting {
            clock.set(at(HOUR));
        }
        forge.looks() >= 3
    });
    assert_eq!(forge.looks(), 3);
    assert!(run.is_active());
}

#[test]
fn a_clock_set_back_by_an_hour_delays_no_look() {
    let fixture = fixture();
    let clock = Civil(Mutex::new(at(0)));
    enter(&fixture.store, &clock, watched(Duration::from_millis(50)));
    let forge = Forge::new(&clock, &[at(0), at(-HOUR)]);
    let run = fly(&fixture.store, &clock, &forge, || forge.looks() >= 5);
    assert_eq!(forge.looks().min(5), 5);
    let next = run.timers[&Timer::Poll];
    assert!(
        next <= after(at(-HOUR), Duration::from_millis(50)),
        "{next}"
    );
}

#[test]
fn a_clock_set_back_by_an_hour_ends_nothing_early_and_twenty_four_hours_of_silence_end_it_after_a_restart()
 {
    let fixture = fixture();
    let clock = Civil(Mutex::new(at(0)));
    let pause = Duration::from_secs(HOUR.unsigned_abs());
    enter(&fixture.store, &clock, watched(pause));
    let forge = Forge::new(&clock, &[]);
    fly(&fixture.store, &clock, &forge, || forge.looks() >= 1);
    // The run has no owner. The clock is set back, then advanced until just before the end.
    for now in [at(-HOUR), at(24 * HOUR - 1)] {
        clock.set(now);
        let store = fixture.open_again();
        let run = fly(&store, &clock, &forge, || {
            let run = store.load(&RunId::new(RUN)).unwrap().unwrap();
            run.pending.is_empty() && run.timers[&Timer::Poll] > now
        });
        assert!(run.is_active(), "{now}");
    }
    clock.set(at(24 * HOUR + 1));
    let run = fly(&fixture.open_again(), &clock, &forge, || false);
    assert_eq!(run.outcome.unwrap().status, OutcomeStatus::TimedOut);
    assert_eq!(
        *forge.said.lock().unwrap(),
        ["Cruise-control session timed out after 24h of inactivity"]
    );
}

/// A live process.
struct Living;

impl Whoami for Living {
    fn owner(&self) -> Owner {
        owner(1)
    }
    fn liveness(&self, _: &Owner) -> Liveness {
        Liveness::Alive
    }
}

/// Delivers a request after the owner's last check and before it releases the lease.
struct AskedLast<'a> {
    forge: Forge<'a>,
    store: &'a dyn Store,
    heard: Mutex<Option<Reached>>,
}

impl Performer for AskedLast<'_> {
    fn perform(&self, task: &Task<'_>) -> Result<EffectResult, Problem> {
        self.forge.perform(task)
    }

    fn changed(&self, run: &Run) {
        let mut heard = self.heard.lock().unwrap();
        if run.pending.is_empty() && self.forge.looks() > 0 && heard.is_none() {
            let cancel = CancelToken::new();
            let service = service(self.store, &self.forge, &cancel);
            *heard = Some(service.ask(&run.id, Ask::Poll, "second").unwrap());
        }
    }
}

fn service<'a>(
    store: &'a dyn Store,
    forge: &'a Forge<'_>,
    cancel: &'a CancelToken,
) -> CruiseService<'a> {
    CruiseService {
        journal: Journal {
            store,
            clock: forge.clock,
        },
        whoami: &Living,
        performer: forge,
        cancel,
        hints: None,
    }
}

#[test]
fn what_is_asked_while_the_owner_lets_go_is_done_all_the_same() {
    let fixture = fixture();
    let clock = Civil(Mutex::new(at(0)));
    enter(&fixture.store, &clock, watched(Duration::from_secs(3600)));
    let asked = AskedLast {
        forge: Forge::new(&clock, &[]),
        store: &fixture.store,
        heard: Mutex::new(None),
    };
    let cancel = CancelToken::new();
    let service = CruiseService {
        performer: &asked,
        ..service(&fixture.store, &asked.forge, &cancel)
    };
    let run = RunId::new(RUN);
    let reached = service.ask(&run, Ask::Poll, "first").unwrap();
    let Reached::Advanced(advanced) = reached else {
        panic!("{reached:?}");
    };
    let heard = asked.heard.lock().unwrap();
    assert!(matches!(*heard, Some(Reached::Owner(_))), "{heard:?}");
    let now = fixture.store.load(&run).unwrap().unwrap();
    assert_eq!((&*advanced, now.pending.len()), (&now, 0));
    assert_eq!(service.owner(&run).unwrap(), None);
}
