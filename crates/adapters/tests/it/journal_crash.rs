//! Tests a run with a crash at every journal write: before it, after it, and around every effect.
//!
//! The world is a fake that records what was done; journal, leases, executor and sweep are the real
//! ones on the real database.

use crate::common::{RUN, at, fixture, owner, request, sandbox};
use drive_adapters::store::SqliteStore;
use drive_core::agent::{AgentOutcome, Ending, Ignored, Usage};
use drive_core::ids::{CommitSha, DedupeKey, PrNumber, RunId};
use drive_core::problem::{Kind, Problem};
use drive_core::process::{ProcessIdentity, ProcessMark};
use drive_core::run::{CommitSummary, Effect, EffectResult, Event, OutcomeStatus, Published, Run};
use drive_core::time::Timestamp;
use drive_engine::CancelToken;
use drive_engine::executor::{Executor, OnStop, Performer, Task, Until};
use drive_engine::journal::Journal;
use drive_engine::lease::{Lease, Whoami};
use drive_engine::ports::{
    Append, Appended, Claimed, Clock, Entry, Fold, LeaseAnswer, LeaseToken, Liveness, News, Owner,
    RunFilter, Store,
};
use drive_engine::recovery::sweep;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

/// What was really done.
#[derive(Clone, Debug, Default, PartialEq)]
struct World {
    sandbox: bool,
    running: Option<ProcessIdentity>,
    agents: u32,
    commits: u32,
    pushes: u32,
    pull_requests: u32,
    removals: u32,
}

struct FakePerformer {
    world: Mutex<World>,
}

impl Performer for FakePerformer {
    fn perform(&self, task: &Task<'_>) -> Result<EffectResult, Problem> {
        let effect = &task.claimed.effect;
        if let Effect::RunAgent { .. } = effect {
            return self.run_agent(task);
        }
        Ok(self.quick(effect, task.claimed.attempt))
    }
}

impl FakePerformer {
    fn run_agent(&self, task: &Task<'_>) -> Result<EffectResult, Problem> {
        let identity = process();
        task.process_started(identity.clone())?;
        let mut world = self.world.lock().unwrap();
        world.running = Some(identity);
        world.agents += 1;
        world.running = None;
        let outcome = AgentOutcome {
            ending: Ending::Succeeded,
            text: "done".into(),
            summary: "done".into(),
            document: None,
            usage: Usage::default(),
            cost: None,
            session: None,
            escalations: 0,
            ignored: Ignored::default(),
        };
        Ok(EffectResult::AgentEnded {
            outcome: Box::new(outcome),
            log: None,
        })
    }

    /// Checks what may have been done before it is done again.
    fn quick(&self, effect: &Effect, attempt: u32) -> EffectResult {
        let mut world = self.world.lock().unwrap();
        match effect {
            Effect::CreateSandbox { .. } => {
                world.sandbox = true;
                EffectResult::SandboxCreated {
                    sandbox: Box::new(sandbox()),
                }
            }
            Effect::RunAgent { .. } => unreachable!("performed above"),
            Effect::ChooseBranch { .. }
            | Effect::ReadDiff { .. }
            | Effect::WriteFile { .. }
            | Effect::ReadFile { .. }
            | Effect::OnForge { .. }
            | Effect::Integrate { .. }
            | Effect::ConcludeMerge { .. }
            | Effect::RollBack { .. }
            | Effect::Verify { .. }
            | Effect::OnLine { .. }
            | Effect::CheckLanded { .. } => unreachable!("a spawn decides none"),
            Effect::EndProcess { .. } => {
                world.running = None;
                EffectResult::ProcessEnded
            }
            Effect::CommitWork { .. } => {
                if attempt == 1 || world.commits == 0 {
                    world.commits += 1;
                }
                let commits = vec![CommitSummary {
                    sha: CommitSha::new("b".repeat(40)),
                    subject: "it".into(),
                }];
                EffectResult::WorkCommitted {
                    head_sha: CommitSha::new("b".repeat(40)),
                    commits,
                    warnings: vec![],
                    changed: Vec::new(),
                }
            }
            Effect::Push { .. } => {
                if attempt == 1 || world.pushes == 0 {
                    world.pushes += 1;
                }
                EffectResult::Pushed
            }
            Effect::OpenPullRequest { .. } => {
                if attempt == 1 || world.pull_requests == 0 {
                    world.pull_requests += 1;
                }
                let pull_request = Published {
                    number: PrNumber::new(1),
                    url: "local:1".into(),
                };
                EffectResult::PullRequestOpened { pull_request }
            }
            Effect::ToRun { run, .. } => panic!("a message to {run}"),
            Effect::Notify { .. } => EffectResult::Notified,
            Effect::RemoveSandbox { .. } => {
                world.sandbox = false;
                world.removals += 1;
                EffectResult::SandboxRemoved {
                    kept: None,
                    branch: None,
                }
            }
        }
    }
}

fn process() -> ProcessIdentity {
    ProcessIdentity {
        child: ProcessMark {
            pid: 99,
            start_ticks: 1,
        },
        supervisor: None,
        init: None,
        pid_namespace: false,
        cgroups: vec![],
        boot_id: "boot-1".into(),
        log_dir: None,
    }
}

/// A store whose process dies at the given write: odd numbers before it, even numbers after it.
struct DyingStore<'a> {
    inner: &'a SqliteStore,
    left: AtomicI64,
}

impl DyingStore<'_> {
    /// Counts down; after zero every call fails, like in a dead process.
    fn point(&self) -> Result<(), Problem> {
        if self.left.fetch_sub(1, Ordering::SeqCst) <= 1 {
            return Err(Problem::new(Kind::Internal, "the process is gone"));
        }
        Ok(())
    }
}

impl Store for DyingStore<'_> {
    fn append(&self, append: &Append<'_>, fold: Fold) -> Result<Appended, Problem> {
        self.point()?;
        let appended = self.inner.append(append, fold)?;
        self.point()?;
        Ok(appended)
    }
    fn append_all(
        &self,
        appends: &[Append<'_>],
        fold: Fold,
    ) -> Result<Vec<Result<Appended, Problem>>, Problem> {
        self.point()?;
        let appended = self.inner.append_all(appends, fold)?;
        self.point()?;
        Ok(appended)
    }
    fn claim(&self, run: &RunId, token: LeaseToken) -> Result<Vec<Claimed>, Problem> {
        self.point()?;
        let claimed = self.inner.claim(run, token)?;
        self.point()?;
        Ok(claimed)
    }
    fn load(&self, run: &RunId) -> Result<Option<Run>, Problem> {
        self.inner.load(run)
    }
    fn list(&self, filter: RunFilter, limit: u32) -> Result<Vec<Run>, Problem> {
        self.inner.list(filter, limit)
    }
    fn journal(&self, run: &RunId) -> Result<Vec<Entry>, Problem> {
        self.inner.journal(run)
    }
    fn owner(&self, run: &RunId) -> Result<Option<Owner>, Problem> {
        self.inner.owner(run)
    }
    fn news(&self, mark: u64) -> Result<News, Problem> {
        self.inner.news(mark)
    }
    fn acquire(
        &self,
        run: &RunId,
        owner: &Owner,
        now: Timestamp,
        expires_at: Timestamp,
        liveness: &dyn Fn(&Owner) -> Liveness,
    ) -> Result<LeaseAnswer, Problem> {
        self.inner.acquire(run, owner, now, expires_at, liveness)
    }
    fn renew(&self, run: &RunId, token: LeaseToken, until: Timestamp) -> Result<bool, Problem> {
        self.inner.renew(run, token, until)
    }
    fn release(&self, _: &RunId, _: LeaseToken) -> Result<(), Problem> {
        Ok(()) // The dead give nothing back.
    }
}

struct Frozen;

impl Clock for Frozen {
    fn now(&self) -> Timestamp {
        at(0)
    }
}

/// Processes of which only the one with the highest number is alive.
struct Numbered(i32);

impl Whoami for Numbered {
    fn owner(&self) -> Owner {
        owner(self.0)
    }
    fn liveness(&self, owner: &Owner) -> Liveness {
        if owner.process.pid < self.0 {
            Liveness::Dead
        } else {
            Liveness::Alive
        }
    }
}

/// Executes the run as the `number`th process, which dies at write `dies_at`.
fn fly(
    store: &SqliteStore,
    performer: &FakePerformer,
    number: i32,
    dies_at: i64,
) -> Result<Run, Problem> {
    let store = DyingStore {
        inner: store,
        left: AtomicI64::new(dies_at),
    };
    let journal = Journal {
        store: &store,
        clock: &Frozen,
    };
    let run = RunId::new(RUN);
    let lease = Lease::acquire(&store, &Frozen, &Numbered(number), &run)?.unwrap();
    let event = Event::Requested {
        request: Box::new(request()),
    };
    journal.deliver(
        &run,
        &event,
        &DedupeKey::new("request"),
        Some(lease.token()),
    )?;
    Executor {
        journal,
        whoami: &Numbered(number),
        performer,
        cancel: &CancelToken::new(),
        on_stop: OnStop::End,
        until: Until::Ended,
        hints: None,
    }
    .fly(&lease)
}

fn performer() -> FakePerformer {
    FakePerformer {
        world: Mutex::new(World::default()),
    }
}

const NEVER: i64 = i64::MAX;

/// The number of write points of a whole run.
fn points() -> i64 {
    let fixture = fixture();
    let store = DyingStore {
        inner: &fixture.store,
        left: AtomicI64::new(NEVER),
    };
    let journal = Journal {
        store: &store,
        clock: &Frozen,
    };
    let run = RunId::new(RUN);
    let lease = Lease::acquire(&store, &Frozen, &Numbered(1), &run)
        .unwrap()
        .unwrap();
    let event = Event::Requested {
        request: Box::new(request()),
    };
    journal
        .deliver(&run, &event, &DedupeKey::new("request"), None)
        .unwrap();
    Executor {
        journal,
        whoami: &Numbered(1),
        performer: &performer(),
        cancel: &CancelToken::new(),
        on_stop: OnStop::End,
        until: Until::Ended,
        hints: None,
    }
    .fly(&lease)
    .unwrap();
    NEVER - store.left.load(Ordering::SeqCst)
}

#[test]
fn a_run_that_is_resumed_after_a_crash_at_any_write_ends_as_if_nothing_had_happened() {
    let points = points();
    assert!(points > 25, "the run has {points} write points");
    for dies_at in 1..=points {
        let (fixture, performer) = (fixture(), performer());
        let died = fly(&fixture.store, &performer, 1, dies_at).unwrap_err();
        assert_eq!(died.kind, Kind::Internal, "at {dies_at}");
        let run = fly(&fixture.store, &performer, 2, NEVER).unwrap();
        let world = performer.world.lock().unwrap().clone();
        assert_eq!(
            run.outcome.as_ref().unwrap().status,
            OutcomeStatus::Succeeded,
            "at {dies_at}"
        );
        assert_eq!(
            (
                world.sandbox,
                world.commits,
                world.pushes,
                world.pull_requests
            ),
            (false, 1, 1, 1),
            "each thing happened once, and the sandbox is gone: crash at {dies_at}"
        );
    }
}

#[test]
fn two_crashes_in_a_row_at_any_writes_change_nothing_either() {
    for (first, second) in (1..=points())
        .step_by(5)
        .flat_map(|a| (1..20).step_by(4).map(move |b| (a, b)))
    {
        let (fixture, performer) = (fixture(), performer());
        fly(&fixture.store, &performer, 1, first).unwrap_err();
        let _ = fly(&fixture.store, &performer, 2, second);
        fly(&fixture.store, &performer, 3, NEVER).unwrap();
        let world = performer.world.lock().unwrap().clone();
        assert_eq!(
            (
                world.sandbox,
                world.commits,
                world.pushes,
                world.pull_requests
            ),
            (false, 1, 1, 1)
        );
    }
}

#[test]
fn the_sweep_after_a_crash_at_any_write_leaves_no_sandbox_and_no_process() {
    for dies_at in 1..=points() {
        let (fixture, performer) = (fixture(), performer());
        fly(&fixture.store, &performer, 1, dies_at).unwrap_err();
        // The agent was running at that moment, if it was started at all.
        let before = fixture.store.load(&RunId::new(RUN)).unwrap();
        let running = before.is_some_and(|run| !run.processes.is_empty());
        performer.world.lock().unwrap().running = running.then(process);
        let journal = Journal {
            store: &fixture.store,
            clock: &Frozen,
        };
        let recovered = sweep(journal, &Numbered(2), &performer, &CancelToken::new()).unwrap();
        assert!(
            recovered.failed.is_empty(),
            "at {dies_at}: {:?}",
            recovered.failed
        );
        let world = performer.world.lock().unwrap().clone();
        assert_eq!(
            (world.sandbox, world.running),
            (false, None),
            "at {dies_at}"
        );
        assert!(
            fixture
                .store
                .list(RunFilter::Active, 10)
                .unwrap()
                .is_empty(),
            "at {dies_at}"
        );
    }
}

#[test]
fn the_sweep_leaves_a_living_owner_alone() {
    let (fixture, performer) = (fixture(), performer());
    fly(&fixture.store, &performer, 5, 8).unwrap_err();
    let before = fixture.store.journal(&RunId::new(RUN)).unwrap();
    let journal = Journal {
        store: &fixture.store,
        clock: &Frozen,
    };
    let recovered = sweep(journal, &Numbered(5), &performer, &CancelToken::new()).unwrap();
    assert!(recovered.ended.is_empty() && recovered.failed.is_empty());
    assert_eq!(fixture.store.journal(&RunId::new(RUN)).unwrap(), before);
}

#[test]
fn a_performer_that_panics_fails_its_effect_and_the_sandbox_still_goes() {
    struct Panics(FakePerformer);
    impl Performer for Panics {
        fn perform(&self, task: &Task<'_>) -> Result<EffectResult, Problem> {
            assert!(
                !matches!(task.claimed.effect, Effect::CommitWork { .. }),
                "a bug"
            );
            self.0.perform(task)
        }
    }
    let fixture = fixture();
    let performer = Panics(performer());
    let journal = Journal {
        store: &fixture.store,
        clock: &Frozen,
    };
    let run = RunId::new(RUN);
    let lease = Lease::acquire(&fixture.store, &Frozen, &Numbered(1), &run)
        .unwrap()
        .unwrap();
    let event = Event::Requested {
        request: Box::new(request()),
    };
    journal
        .deliver(&run, &event, &DedupeKey::new("request"), None)
        .unwrap();
    let run = Executor {
        journal,
        whoami: &Numbered(1),
        performer: &performer,
        cancel: &CancelToken::new(),
        on_stop: OnStop::End,
        until: Until::Ended,
        hints: None,
    }
    .fly(&lease)
    .unwrap();
    assert_eq!(run.outcome.unwrap().failure.unwrap().kind, Kind::Internal);
    assert!(!performer.0.world.lock().unwrap().sandbox);
}
