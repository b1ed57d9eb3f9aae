//! Tests runs that start other runs: whole trees with fakes, with a crash at every step.

use crate::support::{Crashes, Idle, Scene, run_id, service, team_request};
use drive_core::agent::Role;
use drive_core::ids::{DedupeKey, RunId, TaskId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{
    Ask, BuildTerms, EffectResult, Event, OutcomeStatus, Request, Run, RunKind, TaskOrder, fold,
};
use drive_core::time::Timestamp;
use drive_engine::CancelToken;
use drive_engine::cancel::Urgency;
use drive_engine::cruise::CruiseService;
use drive_engine::executor::{Performer, Task};
use drive_engine::fakes::{AgentWork, FakeMachine, FakeStore, FakeWorld};
use drive_engine::journal::Journal;
use drive_engine::lease::{LEASE_TTL, Lease};
use drive_engine::ports::{
    Append, Appended, Claimed, Entry, Fold, LeaseAnswer, LeaseToken, Liveness, News, Owner,
    RunFilter, Store,
};
use drive_engine::recovery;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// Longer than any step here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Two teams in parallel, and one after both.
fn build_request(world: &FakeWorld) -> Request {
    let order = |id: &str, after: &[&str]| TaskOrder {
        id: TaskId::new(id),
        after: after.iter().map(|id| TaskId::new(*id)).collect(),
        request: team_request(world),
    };
    let terms = BuildTerms {
        tasks: vec![order("a", &[]), order("b", &[]), order("c", &["a", "b"])],
        max_parallel: NonZeroU32::new(2).unwrap(),
        line: None,
    };
    Request {
        kind: RunKind::Build(Box::new(terms)),
        ..team_request(world)
    }
}

fn child(task: &str) -> RunId {
    RunId::new(format!("{}+{task}", run_id()))
}

fn load(scene: &Scene, id: &RunId) -> Option<Run> {
    scene.world.store.load(id).unwrap()
}

fn status(run: &Run) -> Option<OutcomeStatus> {
    run.outcome.as_ref().map(|outcome| outcome.status)
}

/// Asserts what must be true for every tree that has ended, whatever happened before.
fn assert_whole(scene: &Scene, when: &str) {
    let (world, store) = (&scene.world, &scene.world.store);
    let root = load(scene, &run_id()).unwrap();
    assert_eq!(world.machine.overlaps(), Vec::<String>::new(), "{when}");
    assert_eq!(world.machine.running_agents(), 0, "{when}");
    assert_eq!(world.repository.sandboxes(), Vec::new(), "{when}");
    let lost = world.repository.lost_commits();
    assert_eq!(lost, Vec::<String>::new(), "{when}");
    let mut used = 0;
    let ids = root.children.keys().cloned();
    for id in ids.chain([run_id()]) {
        let run = load(scene, &id).unwrap();
        assert!(!run.is_active(), "{when}: {id} did not end");
        assert!(store.outbox(&id).is_empty(), "{when}: {id}");
        let entries = store.journal(&id).unwrap();
        let requests = entries
            .iter()
            .filter(|entry| matches!(entry.event, Event::Requested { .. }));
        assert_eq!(requests.count(), 1, "{when}: {id} was started twice");
        let events = entries.into_iter().map(|entry| (entry.event, entry.at));
        assert_eq!(fold(id.clone(), events).unwrap(), run, "{when}: {id}");
        used += run.spent.usage.counted();
    }
    assert_eq!(root.spent_in_all().usage.counted(), used, "{when}");
}

fn assert_built(scene: &Scene, run: &Run, when: &str) {
    assert_eq!(
        status(run),
        Some(OutcomeStatus::Succeeded),
        "{when}: {:?}",
        run.outcome
    );
    assert_whole(scene, when);
    assert_eq!(run.children.len(), 3, "{when}");
    assert_eq!(scene.world.forge.pull_requests().len(), 3, "{when}");
    let ended = |task: &str| load(scene, &child(task)).unwrap().outcome.unwrap().ended_at;
    let began = load(scene, &child("c")).unwrap().started_at.unwrap();
    assert!(began >= ended("a") && began >= ended("b"), "{when}");
}

#[test]
fn a_root_builds_its_tasks_in_one_process() {
    let scene = Scene::new();
    let request = build_request(&scene.world);
    let run = scene.cruise(&request, None).unwrap();
    assert_built(&scene, &run, "without a crash");
}

#[test]
fn a_tree_killed_before_any_append_is_built_by_the_next_owner() {
    kill_everywhere(Crashes::BeforeAppend);
}

#[test]
fn a_tree_killed_after_any_append_is_built_by_the_next_owner() {
    kill_everywhere(Crashes::AfterAppend);
}

#[test]
fn a_tree_killed_after_any_claim_is_built_by_the_next_owner() {
    kill_everywhere(Crashes::AfterClaim);
}

fn kill_everywhere(crashes: Crashes) {
    for number in 1.. {
        let scene = Scene::new();
        let request = build_request(&scene.world);
        let when = format!("{crashes:?} {number}");
        if scene.cruise(&request, Some(crashes.at(number))).is_some() {
            assert!(number > 60, "{crashes:?}: only {number} crashes");
            break;
        }
        // Another command runs first: it must not take a child for an orphan.
        scene.recover(None).unwrap();
        let run = scene.cruise(&request, None).unwrap();
        // The next command ends a child that died after its last report.
        scene.recover(None).unwrap();
        assert_built(&scene, &run, &when);
    }
}

/// Delivers this event to the root while the coder of a child works.
fn ask_while_a_child_works(scene: &Scene, event: Event) {
    let (store, clock) = (scene.world.store.clone(), scene.world.clock.clone());
    scene.world.agents.script(Role::Coder, move |_| {
        let journal = Journal {
            store: &store,
            clock: &clock,
        };
        let name = DedupeKey::new("from-another-terminal");
        journal.deliver(&run_id(), &event, &name, None).unwrap();
        let is_stopped = |task| {
            let run = store.load(&child(task)).unwrap();
            run.is_some_and(|run| run.stop_asked || !run.is_active())
        };
        let until = Instant::now() + PATIENCE;
        while !(is_stopped("a") && is_stopped("b")) {
            assert!(Instant::now() < until, "the children were not stopped");
            std::thread::sleep(Duration::from_millis(5));
        }
        AgentWork::answer("Done.").write("login.txt", "one\nfixed\n")
    });
}

#[test]
fn a_root_that_is_cleaned_up_ends_its_children_first() {
    let scene = Scene::new();
    ask_while_a_child_works(&scene, Event::Asked { ask: Ask::Cleanup });
    let request = build_request(&scene.world);
    let run = scene.cruise(&request, None).unwrap();
    assert_eq!(status(&run), Some(OutcomeStatus::Cancelled));
    assert_whole(&scene, "after a cleanup");
    assert_eq!(load(&scene, &child("c")), None, "`c` was not started");
    for task in ["a", "b"] {
        let one = load(&scene, &child(task)).unwrap();
        assert_eq!(status(&one), Some(OutcomeStatus::Cancelled), "{task}");
        let ended = one.outcome.unwrap().ended_at;
        assert!(ended <= run.outcome.as_ref().unwrap().ended_at);
    }
}

#[test]
fn a_task_that_fails_fails_the_root_by_its_name() {
    let scene = Scene::new();
    scene
        .world
        .agents
        .script(Role::Coder, |_| AgentWork::answer("I changed nothing."));
    let request = build_request(&scene.world);
    let run = scene.cruise(&request, None).unwrap();
    assert_whole(&scene, "after a failure");
    let failure = run.outcome.unwrap().failure.unwrap();
    assert_eq!(failure.kind, Kind::TasksFailed);
    assert_eq!(
        failure.message,
        "2 tasks did not succeed: `a`, `b`; 1 dependent task was not started"
    );
}

#[test]
fn a_child_that_another_process_owns_is_left_to_it() {
    let scene = Scene::new();
    let world = &scene.world;
    let (other, cancel) = (world.start_owner(None), CancelToken::new());
    let theirs = Lease::acquire(
        other.journal().store,
        other.journal().clock,
        &other.process,
        &child("a"),
    )
    .unwrap()
    .unwrap();
    let request = build_request(world);
    std::thread::scope(|threads| {
        let flying = threads.spawn(|| scene.cruise(&request, None).unwrap());
        // `b` has ended while `a` makes no progress.
        let is_through = |task| load(&scene, &child(task)).is_some_and(|run| !run.is_active());
        while !is_through("b") && !flying.is_finished() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let begun = load(&scene, &child("a")).unwrap();
        assert_eq!(begun.decided.get("runAgent"), Some(&1), "only decided");
        assert!(begun.processes.is_empty() && begun.is_active());
        drop(theirs);
        let run = flying.join().unwrap();
        assert_eq!(status(&run), Some(OutcomeStatus::Succeeded));
    });
    drop(cancel);
    assert_whole(&scene, "with two owners");
}

#[test]
fn a_child_whose_parent_is_gone_is_stopped_by_the_next_command() {
    let scene = Scene::new();
    let world = &scene.world;
    let owner = world.start_owner(None);
    let mut request = team_request(world);
    request.parent = Some(drive_core::run::Parent {
        run: RunId::new("r-gone"),
        task: TaskId::new("a"),
    });
    let event = Event::Requested {
        request: Box::new(request),
    };
    let orphan = RunId::new("r-gone+a");
    owner
        .journal()
        .deliver(&orphan, &event, &DedupeKey::new("request"), None)
        .unwrap();
    let cancel = CancelToken::new();
    let performer = Idle::new(&owner, world, &cancel);
    let swept = recovery::sweep(owner.journal(), &owner.process, &performer, &cancel).unwrap();
    assert_eq!(swept.ended.len(), 1);
    let run = load(&scene, &orphan).unwrap();
    assert_eq!(status(&run), Some(OutcomeStatus::Cancelled));
    let is_told = |text: &String| text.contains("could not report to run `r-gone`");
    assert!(run.warnings.iter().any(is_told), "{:?}", run.warnings);
    // A run that belongs to a live tree is not touched, however often recovery runs.
    let service = service(&owner, &performer, &cancel);
    service.enter(&run_id(), build_request(world)).unwrap();
    let swept = recovery::sweep(owner.journal(), &owner.process, &performer, &cancel).unwrap();
    assert!(swept.ended.is_empty());
}

/// Loses the lease of a child while its sandbox is created, and reports the result only after the
/// child was taken over again.
struct Overtaken<'a> {
    inner: Idle<'a>,
    world: &'a FakeWorld,
    is_begun_again: AtomicBool,
    is_told: AtomicBool,
}

impl Overtaken<'_> {
    /// Another machine takes the lease, and releases it.
    fn lose_the_lease(&self) {
        let (world, far) = (self.world, FakeMachine::named("machine-2").start_drive());
        let store = world.store.of(far.clone(), None);
        wait_until("the lease is taken", || {
            world.clock.advance(LEASE_TTL);
            Lease::acquire(&store, &world.clock, &far, &child("a"))
                .unwrap()
                .is_ok()
        });
    }
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Performer for Overtaken<'_> {
    fn perform(&self, task: &Task<'_>) -> Result<EffectResult, Problem> {
        let is_sandbox = task.claimed.effect.name() == "createSandbox";
        match task.claimed.attempt {
            1 if is_sandbox && task.run.id == child("a") => {
                self.lose_the_lease();
                wait_until("the second attempt", || {
                    self.is_begun_again.load(Ordering::SeqCst)
                });
                self.is_told.store(true, Ordering::SeqCst);
                Err(Problem::new(Kind::DiskFull, "of the first attempt"))
            }
            2 if is_sandbox && task.run.id == child("a") => {
                self.is_begun_again.store(true, Ordering::SeqCst);
                wait_until("the first result", || self.is_told.load(Ordering::SeqCst));
                // Long enough for the dispatcher to notice. If it is slower, it notices too late to
                // attribute the result to this owner.
                std::thread::sleep(Duration::from_millis(500));
                self.inner.perform(task)
            }
            _ => self.inner.perform(task),
        }
    }

    fn changed(&self, run: &Run) {
        self.inner.changed(run);
    }
}

#[test]
fn a_result_of_an_attempt_under_an_older_lease_is_not_taken_for_that_of_a_new_one() {
    let scene = Scene::new();
    let world = &scene.world;
    let (owner, cancel) = (world.start_owner(None), CancelToken::new());
    let performer = Overtaken {
        inner: Idle::new(&owner, world, &cancel),
        world,
        is_begun_again: AtomicBool::new(false),
        is_told: AtomicBool::new(false),
    };
    let service = service(&owner, &performer, &cancel);
    service.enter(&run_id(), build_request(world)).unwrap();
    let run = service.resume(&run_id()).unwrap();
    assert_built(&scene, &run, "after a lost lease");
    let journal = world.store.journal(&child("a")).unwrap();
    let old = |entry: &&Entry| format!("{:?}", entry.event).contains("of the first attempt");
    assert_eq!(journal.iter().filter(old).count(), 0);
}

/// A journal that refuses the first reports of children to their parent.
struct Flaky<'a> {
    inner: &'a FakeStore,
    refusals: AtomicU32,
}

impl Store for Flaky<'_> {
    fn append(&self, append: &Append<'_>, fold: Fold) -> Result<Appended, Problem> {
        let is_report = matches!(append.event, Event::ChildReported { .. });
        let less = |left: u32| left.checked_sub(1);
        if is_report
            && self
                .refusals
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
                .is_ok()
        {
            return Err(Problem::new(Kind::DiskFull, "no space for a moment"));
        }
        self.inner.append(append, fold)
    }

    fn append_all(
        &self,
        appends: &[Append<'_>],
        fold: Fold,
    ) -> Result<Vec<Result<Appended, Problem>>, Problem> {
        self.inner.append_all(appends, fold)
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

    fn news(&self, mark: u64) -> Result<News, Problem> {
        self.inner.news(mark)
    }

    fn claim(&self, run: &RunId, token: LeaseToken) -> Result<Vec<Claimed>, Problem> {
        self.inner.claim(run, token)
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

    fn owner(&self, run: &RunId) -> Result<Option<Owner>, Problem> {
        self.inner.owner(run)
    }

    fn renew(&self, run: &RunId, token: LeaseToken, until: Timestamp) -> Result<bool, Problem> {
        self.inner.renew(run, token, until)
    }

    fn release(&self, run: &RunId, token: LeaseToken) -> Result<(), Problem> {
        self.inner.release(run, token)
    }
}

#[test]
fn a_report_that_the_journal_refuses_for_a_moment_is_delivered_all_the_same() {
    let scene = Scene::new();
    let world = &scene.world;
    let (owner, cancel) = (world.start_owner(None), CancelToken::new());
    let store = Flaky {
        inner: &owner.store,
        refusals: AtomicU32::new(3),
    };
    let performer = Idle::new(&owner, world, &cancel);
    let service = CruiseService {
        journal: Journal {
            store: &store,
            clock: &world.clock,
        },
        ..service(&owner, &performer, &cancel)
    };
    let mut request = build_request(world);
    if let RunKind::Build(terms) = &mut request.kind {
        terms.tasks.truncate(1);
    }
    service.enter(&run_id(), request).unwrap();
    // A root that never gets the report waits forever.
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let root = std::thread::scope(|threads| {
        let cancel = &cancel;
        threads.spawn(move || {
            if let Err(RecvTimeoutError::Timeout) = is_done.recv_timeout(PATIENCE / 2) {
                cancel.cancel(Urgency::Graceful);
            }
        });
        let root = service.resume(&run_id()).unwrap();
        drop(done);
        root
    });
    assert_eq!(store.refusals.load(Ordering::SeqCst), 0);
    assert_eq!(status(&root), Some(OutcomeStatus::Succeeded));
    assert_eq!(load(&scene, &child("a")).unwrap().warnings, [""; 0]);
    assert_whole(&scene, "after refusals");
}
