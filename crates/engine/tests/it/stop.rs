//! Tests that another process than its owner can stop a run.

use crate::support::{Idle, Scene, run_id, spawn_request};
use drive_core::ids::DedupeKey;
use drive_core::problem::Kind;
use drive_core::run::{Event, OutcomeStatus, require_resumable};
use drive_engine::CancelToken;
use drive_engine::fakes::CrashPoint;
use drive_engine::lease::Lease;
use drive_engine::ports::Store;
use drive_engine::stop::stop;
use std::time::Duration;

#[test]
fn a_run_whose_owner_died_is_stopped_by_who_asks_and_can_go_on() {
    for number in [2, 4, 6] {
        let scene = Scene::new();
        let world = &scene.world;
        let crash = Some(CrashPoint::AfterAppend(number));
        assert!(scene.execute(spawn_request(world), crash).is_none());
        let (other, cancel) = (world.start_owner(None), CancelToken::new());
        let performer = Idle::new(&other, world, &cancel);
        let (journal, who) = (other.journal(), &other.process);
        let patience = Duration::ZERO;
        let run = stop(&run_id(), "1", patience, journal, who, &performer, &cancel).unwrap();
        let status = run.outcome.as_ref().map(|outcome| outcome.status);
        assert_eq!(status, Some(OutcomeStatus::Cancelled), "append {number}");
        assert!(require_resumable(&run, None).is_ok());
        assert!(run.sandboxes.is_empty());
        assert_eq!(world.store.owner(&run_id()).unwrap(), None);
        let run = scene.resume(None).unwrap();
        let status = run.outcome.map(|outcome| outcome.status);
        assert_eq!(status, Some(OutcomeStatus::Succeeded));
    }
}

#[test]
fn a_living_owner_is_asked_through_the_journal_and_waited_for_within_a_bound() {
    let scene = Scene::new();
    let world = &scene.world;
    let owner = world.start_owner(None);
    let lease = Lease::acquire(&owner.store, &world.clock, &owner.process, &run_id());
    let lease = lease.unwrap().ok().unwrap();
    let event = Event::Requested {
        request: Box::new(spawn_request(world)),
    };
    let key = DedupeKey::new("request");
    let token = Some(lease.token());
    owner
        .journal()
        .deliver(&run_id(), &event, &key, token)
        .unwrap();
    let (other, cancel) = (world.start_owner(None), CancelToken::new());
    let performer = Idle::new(&other, world, &cancel);
    let (journal, who) = (other.journal(), &other.process);
    let patience = Duration::ZERO;
    let problem = stop(&run_id(), "1", patience, journal, who, &performer, &cancel).unwrap_err();
    assert_eq!(problem.kind, Kind::OwnerSlow);
    let run = scene.run().unwrap();
    assert!(run.is_active() && run.stop_asked);
}
