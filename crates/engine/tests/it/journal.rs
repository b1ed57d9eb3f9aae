//! Tests the guarantees of the journal's port.

use crate::support::{Scene, run_id, spawn_request};
use drive_core::ids::{DedupeKey, EffectKey};
use drive_core::problem::Kind;
use drive_core::run::{EffectResult, Event, Timer};
use drive_engine::fakes::{CrashPoint, FakeOwner, FakeWorld};
use drive_engine::journal::Word;
use drive_engine::lease::Lease;
use drive_engine::ports::{Appended, Store};

fn requested(world: &FakeWorld) -> Event {
    Event::Requested {
        request: Box::new(spawn_request(world)),
    }
}

fn enter(owner: &FakeOwner, world: &FakeWorld) -> Appended {
    let key = DedupeKey::new("request");
    let journal = owner.journal();
    journal
        .deliver(&run_id(), &requested(world), &key, None)
        .unwrap()
}

fn lease(owner: &FakeOwner) -> Lease<'_> {
    let journal = owner.journal();
    let lease = Lease::acquire(journal.store, journal.clock, &owner.process, &run_id());
    lease.unwrap().ok().unwrap()
}

fn word(lease: &Lease<'_>, event: Event, dedupe: &str) -> Word {
    Word {
        run: run_id(),
        event,
        dedupe: DedupeKey::new(dedupe),
        fence: lease.token(),
    }
}

#[test]
fn an_event_that_is_delivered_twice_is_folded_once() {
    let Scene { world, .. } = Scene::new();
    let owner = world.start_owner(None);
    assert!(matches!(enter(&owner, &world), Appended::Folded(_)));
    let again = enter(&owner, &world);
    assert!(matches!(again, Appended::Duplicate(_)));
    assert_eq!(Some(again.into_run()), world.store.load(&run_id()).unwrap());
    assert_eq!(world.store.journal(&run_id()).unwrap().len(), 1);
}

#[test]
fn an_illegal_event_writes_nothing_and_the_rest_of_its_batch_is_written() {
    let Scene { world, .. } = Scene::new();
    let owner = world.start_owner(None);
    enter(&owner, &world);
    let lease = lease(&owner);
    let unknown = Event::EffectEnded {
        key: EffectKey::new("push/9"),
        result: EffectResult::Pushed,
    };
    let words = [
        word(&lease, unknown, "result/push/9"),
        word(&lease, Event::CancelAsked, "cancel"),
    ];
    let told = owner.journal().deliver_all(&words).unwrap();
    let problem = told[0].as_ref().unwrap_err();
    assert_eq!(problem.kind, Kind::IllegalEvent);
    assert!(told[1].is_ok());
    let journal = world.store.journal(&run_id()).unwrap();
    let keys: Vec<&str> = journal.iter().map(|entry| entry.dedupe.as_str()).collect();
    assert_eq!(keys, ["request", "cancel"]);
}

#[test]
fn a_batch_is_written_whole_or_not_at_all() {
    for (point, written) in [
        (CrashPoint::BeforeAppend(1), 1),
        (CrashPoint::AfterAppend(1), 3),
    ] {
        let Scene { world, .. } = Scene::new();
        enter(&world.start_owner(None), &world);
        let owner = world.start_owner(Some(point));
        let lease = lease(&owner);
        let wakes = ["timer/1", "timer/2"];
        let timer = Timer::Poll;
        let words = wakes.map(|key| word(&lease, Event::Woken { timer }, key));
        assert!(owner.journal().deliver_all(&words).is_err());
        assert!(!owner.process.is_alive());
        let journal = world.store.journal(&run_id()).unwrap();
        assert_eq!(journal.len(), written, "{point:?}");
    }
}

#[test]
fn an_effect_is_claimed_once_by_each_owner() {
    let Scene { world, .. } = Scene::new();
    enter(&world.start_owner(None), &world);
    for attempt in 1..=3 {
        let owner = world.start_owner(None);
        let lease = lease(&owner);
        let claimed = owner.store.claim(&run_id(), lease.token()).unwrap();
        let attempts: Vec<u32> = claimed.iter().map(|one| one.attempt).collect();
        assert_eq!(attempts, [attempt]);
        assert_eq!(owner.store.claim(&run_id(), lease.token()).unwrap(), []);
    }
}

#[test]
fn news_name_the_runs_that_changed_since_a_mark() {
    let Scene { world, .. } = Scene::new();
    let before = world.store.news(u64::MAX).unwrap();
    enter(&world.start_owner(None), &world);
    let after = world.store.news(before.mark).unwrap();
    assert_eq!((before.runs, after.runs), (Vec::new(), vec![run_id()]));
    assert_eq!(world.store.news(after.mark).unwrap().runs, []);
}
