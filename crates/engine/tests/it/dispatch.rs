//! Tests the dispatcher: many runs at once, stops, panics, and requests of other processes.

use crate::support::{
    Idle, Scene, WISH, assert_nothing_is_lost, cruise_request, person_acts, run_id, service,
    spawn_request,
};
use drive_core::agent::Role;
use drive_core::forge::webhook::Nudge;
use drive_core::ids::{BranchName, DedupeKey, RunId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Ask, Effect, EffectResult, Event, ForgeAct, OutcomeStatus, Run};
use drive_engine::cancel::{CancelToken, Urgency};
use drive_engine::cruise::Reached;
use drive_engine::executor::{Hints, Performer, Task};
use drive_engine::fakes::{AgentWork, FakeWorld};
use drive_engine::lease::Lease;
use drive_engine::perform::World;
use drive_engine::ports::{Nudges, Store};
use drive_engine::{recovery, start};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

fn status(run: &Run) -> Option<OutcomeStatus> {
    run.outcome.as_ref().map(|outcome| outcome.status)
}

#[test]
fn cruises_of_one_process_end_each_on_a_branch_of_its_own() {
    let Scene { world, .. } = Scene::new();
    let (owner, cancel) = (world.start_owner(None), CancelToken::new());
    let performer = Idle::new(&owner, &world, &cancel);
    let service = service(&owner, &performer, &cancel);
    let runs: Vec<RunId> = (0..5)
        .map(|n| RunId::new(format!("r20261116-0900-{n}")))
        .collect();
    for run in &runs {
        service.enter(run, cruise_request(&world)).unwrap();
    }
    let resumed = service.resume_all(&runs).unwrap();
    assert_eq!(resumed.ended.len(), runs.len());
    for run in resumed.ended {
        let run = run.unwrap();
        assert_eq!(
            status(&run),
            Some(OutcomeStatus::Succeeded),
            "{:?}",
            run.outcome
        );
    }
    let opened = world.forge.pull_requests();
    let branches: BTreeSet<&BranchName> = opened.iter().map(|pr| &pr.branch).collect();
    assert_eq!((opened.len(), branches.len()), (runs.len(), runs.len()));
    assert_eq!(world.machine.overlaps(), Vec::<String>::new());
}

/// Panics at the first effect with this name.
struct Panics<'a> {
    inner: Idle<'a>,
    at: &'static str,
}

impl Performer for Panics<'_> {
    fn perform(&self, task: &Task<'_>) -> Result<EffectResult, Problem> {
        assert_ne!(task.claimed.effect.name(), self.at, "a bug");
        self.inner.perform(task)
    }

    fn changed(&self, run: &Run) {
        self.inner.changed(run);
    }
}

#[test]
fn a_performer_that_panics_fails_its_effect_and_nothing_else() {
    let scene = Scene::new();
    let world = &scene.world;
    let (owner, cancel) = (world.start_owner(None), CancelToken::new());
    let performer = Panics {
        inner: Idle::new(&owner, world, &cancel),
        at: "push",
    };
    let (journal, who) = (owner.journal(), &owner.process);
    let request = spawn_request(world);
    let run = start::execute(request, &run_id(), journal, who, &performer, &cancel).unwrap();
    let outcome = run.outcome.unwrap();
    assert_eq!(outcome.status, OutcomeStatus::Failed);
    assert_eq!(
        outcome.failure.map(|problem| problem.kind),
        Some(Kind::Internal)
    );
    assert_nothing_is_lost(&scene, "after a panic");
}

/// Requests a stop as soon as an agent with this role works.
fn stop_when(scene: &Scene, role: Role, cancel: &CancelToken) {
    let cancel = cancel.clone();
    scene.world.agents.script(role, move |_| {
        cancel.cancel(Urgency::Graceful);
        AgentWork::answer("Stopped.").write("half.txt", "begun")
    });
}

#[test]
fn a_stopped_spawn_ends_and_keeps_its_work() {
    let scene = Scene::new();
    let world = &scene.world;
    let (owner, cancel) = (world.start_owner(None), CancelToken::new());
    stop_when(&scene, Role::Coder, &cancel);
    let performer = Idle::new(&owner, world, &cancel);
    let (journal, who) = (owner.journal(), &owner.process);
    let request = spawn_request(world);
    let run = start::execute(request, &run_id(), journal, who, &performer, &cancel).unwrap();
    assert_eq!(status(&run), Some(OutcomeStatus::Cancelled));
    assert_eq!(run.kept.len(), 1);
    let saved = world.repository.files_of(&run.kept[0].sha).unwrap();
    assert_eq!(saved["half.txt"], "begun");
    assert_nothing_is_lost(&scene, "after a stop");
}

#[test]
fn a_detached_cruise_begins_its_agent_again_under_the_next_owner() {
    let scene = Scene::new();
    let request = cruise_request(&scene.world);
    {
        let (owner, cancel) = (scene.world.start_owner(None), CancelToken::new());
        stop_when(&scene, Role::Reviewer, &cancel);
        let performer = Idle::new(&owner, &scene.world, &cancel);
        let service = service(&owner, &performer, &cancel);
        service.enter(&run_id(), request.clone()).unwrap();
        let run = service.resume(&run_id()).unwrap();
        assert!(run.is_active());
        let waiting: Vec<&Effect> = run.pending.values().collect();
        assert!(
            matches!(waiting[..], [Effect::RunAgent { .. }]),
            "{waiting:?}"
        );
    }
    assert_eq!(scene.world.store.owner(&run_id()).unwrap(), None);
    scene.world.agents.script(Role::Reviewer, |_| {
        AgentWork::answer(r#"{"verdict": "approved", "suggestions": []}"#)
    });
    let run = scene.cruise(&request, None).unwrap();
    assert_eq!(status(&run), Some(OutcomeStatus::Succeeded));
}

#[test]
fn a_recovery_leaves_the_runs_of_living_owners_and_cruises_alone() {
    let scene = Scene::new();
    let world = &scene.world;
    let (owner, cancel) = (world.start_owner(None), CancelToken::new());
    let performer = Idle::new(&owner, world, &cancel);
    let cruise = RunId::new("r20261116-0901-bbbbb");
    service(&owner, &performer, &cancel)
        .enter(&cruise, cruise_request(world))
        .unwrap();
    let lease = Lease::acquire(&owner.store, &world.clock, &owner.process, &run_id());
    let lease = lease.unwrap().ok().unwrap();
    let event = Event::Requested {
        request: Box::new(spawn_request(world)),
    };
    let key = DedupeKey::new("request");
    let journal = owner.journal();
    journal
        .deliver(&run_id(), &event, &key, Some(lease.token()))
        .unwrap();
    let other = world.start_owner(None);
    let performer = Idle::new(&other, world, &cancel);
    let swept = recovery::sweep(other.journal(), &other.process, &performer, &cancel).unwrap();
    assert!(
        swept.ended.is_empty() && swept.failed.is_empty(),
        "{swept:?}"
    );
    assert!(scene.run().unwrap().is_active());
    let cruise = world.store.load(&cruise).unwrap().unwrap();
    assert!(cruise.is_active() && !cruise.pending.is_empty());
}

#[test]
fn an_ask_without_a_live_owner_is_acted_on_by_the_asker() {
    let scene = Scene::new();
    let world = &scene.world;
    let (owner, cancel) = (world.start_owner(None), CancelToken::new());
    let performer = Idle::new(&owner, world, &cancel);
    let service = service(&owner, &performer, &cancel);
    service.enter(&run_id(), cruise_request(world)).unwrap();
    let reached = service.ask(&run_id(), Ask::Cleanup, "cleanup/1").unwrap();
    let Reached::Advanced(run) = reached else {
        panic!("nobody else owns it: {reached:?}");
    };
    assert_eq!(status(&run), Some(OutcomeStatus::Cancelled));
    assert_nothing_is_lost(&scene, "after a cleanup");
}

/// Performs effects while time stands still. A person comments right after the first poll has read
/// the pull request, and the hint arrives before that poll has ended.
struct Overtaken<'a> {
    inner: World<'a>,
    world: &'a FakeWorld,
    has_written: AtomicBool,
}

impl Overtaken<'_> {
    fn hint(&self, run: &Run) {
        if let Some(pr) = &run.work.pull_request {
            let (repository, pr) = ("owner/name".to_owned(), pr.number);
            let nudge = Nudge { repository, pr };
            self.world.nudges.nudge(nudge).unwrap();
        }
    }
}

impl Performer for Overtaken<'_> {
    fn perform(&self, task: &Task<'_>) -> Result<EffectResult, Problem> {
        let result = self.inner.perform(task);
        let effect = &task.claimed.effect;
        let polls = |act: &ForgeAct| matches!(act, ForgeAct::Poll { .. });
        if matches!(effect, Effect::OnForge { act, .. } if polls(act))
            && !self.has_written.swap(true, Ordering::SeqCst)
        {
            person_acts(self.world);
            self.hint(task.run);
            // Long enough for the dispatcher to read the hint, which it does every 250 ms.
            std::thread::sleep(Duration::from_secs(1));
        }
        result
    }

    fn changed(&self, run: &Run) {
        self.inner.changed(run);
        let forge = &self.world.forge;
        let comments = forge.comments();
        let wish = comments.iter().find(|one| one.body == WISH);
        let is_answered = wish.is_some_and(|one| !forge.replies_to(one.key.comment()).is_empty());
        if is_answered && run.pending.is_empty() && !run.timers.is_empty() {
            person_acts(self.world);
            self.hint(run);
        }
    }
}

#[test]
fn a_hint_that_overtakes_a_poll_under_way_is_not_lost() {
    let scene = Scene::new();
    let world = &scene.world;
    let (owner, cancel) = (world.start_owner(None), CancelToken::new());
    let performer = Overtaken {
        inner: owner.performer(),
        world,
        has_written: AtomicBool::new(false),
    };
    let mut service = service(&owner, &performer, &cancel);
    service.hints = Some(Hints {
        log: &world.nudges,
        repository: "owner/name",
    });
    service.enter(&run_id(), cruise_request(world)).unwrap();
    let (over, waiting) = channel::<()>();
    std::thread::scope(|scope| {
        // A run that would wait forever is stopped, and then does not count as a success.
        let cancel = cancel.clone();
        scope.spawn(move || {
            if waiting.recv_timeout(Duration::from_secs(60)).is_err() {
                cancel.cancel(Urgency::Graceful);
            }
        });
        let run = service.resume(&run_id()).unwrap();
        over.send(()).unwrap();
        assert_eq!(status(&run), Some(OutcomeStatus::Succeeded));
    });
}

#[test]
fn a_hint_of_the_forge_wakes_its_run_while_time_stands_still() {
    let scene = Scene::new();
    let world = &scene.world;
    let (owner, cancel) = (world.start_owner(None), CancelToken::new());
    let performer = Idle::new(&owner, world, &cancel).with_hints("owner/name");
    let mut service = service(&owner, &performer, &cancel);
    service.hints = Some(Hints {
        log: &world.nudges,
        repository: "owner/name",
    });
    service.enter(&run_id(), cruise_request(world)).unwrap();
    let run = service.resume(&run_id()).unwrap();
    assert_eq!(status(&run), Some(OutcomeStatus::Succeeded));
    let journal = world.store.journal(&run_id()).unwrap();
    let woken = |by: &str| {
        let keys = journal.iter().map(|entry| entry.dedupe.as_str());
        keys.filter(|key| key.starts_with(by)).count()
    };
    assert_eq!(woken("timer/"), 0);
    assert!(
        woken("hint/") >= 2,
        "one for the comment, one for the approval"
    );
}
