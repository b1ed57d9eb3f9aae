//! Tests that a run has one owner, and what a second one may do.

use crate::support::{BUGGY, FILE, Scene, run_id, spawn_request};
use drive_core::agent::Role;
use drive_core::ids::{DedupeKey, EffectKey};
use drive_core::problem::{Kind, Problem};
use drive_core::run::Event;
use drive_engine::cancel::CancelToken;
use drive_engine::fakes::{AgentWork, FakeMachine, FakeOwner, FakeWorld};
use drive_engine::journal::Journal;
use drive_engine::lease::{LEASE_TTL, Lease, Whoami};
use drive_engine::ports::{LeaseToken, Store};
use drive_engine::start;

fn acquire(owner: &FakeOwner) -> Result<Lease<'_>, u32> {
    let journal = owner.journal();
    let lease = Lease::acquire(journal.store, journal.clock, &owner.process, &run_id()).unwrap();
    lease.map_err(|holder| holder.process.pid.unsigned_abs())
}

fn pid(owner: &FakeOwner) -> u32 {
    owner.process.owner().process.pid.unsigned_abs()
}

/// Requests a spawn under this token.
fn deliver(owner: &FakeOwner, world: &FakeWorld, token: LeaseToken) -> Result<(), Problem> {
    let event = Event::Requested {
        request: Box::new(spawn_request(world)),
    };
    let dedupe = DedupeKey::new("request");
    let journal = owner.journal();
    let delivered = journal.deliver(&run_id(), &event, &dedupe, Some(token));
    delivered.map(drop)
}

#[test]
fn a_second_owner_cannot_append_while_the_first_lives() {
    let Scene { world, .. } = Scene::new();
    let (first, second) = (world.start_owner(None), world.start_owner(None));
    let lease = acquire(&first).unwrap();
    assert_eq!(acquire(&second).err(), Some(pid(&first)));
    let guessed = LeaseToken(lease.token().0 + 1);
    let problem = deliver(&second, &world, guessed).unwrap_err();
    assert_eq!(problem.kind, Kind::LeaseLost);
    assert_eq!(world.store.journal(&run_id()).unwrap(), []);
    deliver(&first, &world, lease.token()).unwrap();
    assert_eq!(world.store.journal(&run_id()).unwrap().len(), 1);
}

#[test]
fn a_second_process_is_told_who_owns_the_run() {
    let Scene { world, .. } = Scene::new();
    let (first, second) = (world.start_owner(None), world.start_owner(None));
    let _lease = acquire(&first).unwrap();
    let problem = start::execute(
        spawn_request(&world),
        &run_id(),
        second.journal(),
        &second.process,
        &second.performer(),
        &CancelToken::new(),
    )
    .unwrap_err();
    assert_eq!(problem.kind, Kind::RunOwned);
    assert!(problem.message.contains(&pid(&first).to_string()));
    assert_eq!(world.store.journal(&run_id()).unwrap(), []);
}

#[test]
fn a_stale_fence_token_is_refused() {
    let Scene { world, .. } = Scene::new();
    let (first, second) = (world.start_owner(None), world.start_owner(None));
    let stale = acquire(&first).unwrap().token();
    // Dropping the lease released it; a token without a lease is stale as well.
    let problem = deliver(&first, &world, stale).unwrap_err();
    assert_eq!(problem.kind, Kind::LeaseLost);
    let lease = acquire(&second).unwrap();
    assert!(lease.token() > stale);
    let problem = deliver(&first, &world, stale).unwrap_err();
    assert_eq!(problem.kind, Kind::LeaseLost);
    assert_eq!(world.store.claim(&run_id(), stale).unwrap(), []);
    assert_eq!(world.store.journal(&run_id()).unwrap(), []);
    deliver(&second, &world, lease.token()).unwrap();
}

#[test]
fn a_dead_owner_is_replaced_at_once_and_its_release_comes_too_late() {
    let Scene { world, .. } = Scene::new();
    let (first, second) = (world.start_owner(None), world.start_owner(None));
    let lost = acquire(&first).unwrap();
    first.process.kill();
    let lease = acquire(&second).unwrap();
    assert!(lease.token() > lost.token());
    assert!(
        lost.beat().is_ok_and(|held| held),
        "a young lease is not asked about"
    );
    world.clock.advance(LEASE_TTL);
    assert!(lost.beat().is_err());
    drop(lost);
    assert_eq!(
        world.store.owner(&run_id()).unwrap(),
        Some(second.process.owner())
    );
}

#[test]
fn an_owner_on_another_machine_is_replaced_when_its_lease_runs_out() {
    let Scene { world, .. } = Scene::new();
    let far = FakeMachine::named("machine-2").start_drive();
    let store = world.store.of(far.clone(), None);
    let journal = Journal {
        store: &store,
        clock: &world.clock,
    };
    let lease = Lease::acquire(journal.store, journal.clock, &far, &run_id());
    let lease = lease.unwrap().ok().unwrap();
    let near = world.start_owner(None);
    assert!(acquire(&near).is_err());
    world.clock.advance(LEASE_TTL);
    let taken = acquire(&near).unwrap();
    assert!(
        !lease.beat().unwrap(),
        "a lease that was taken over cannot be renewed"
    );
    assert!(taken.beat().unwrap());
}

#[test]
fn an_owner_that_lost_its_lease_stops_and_journals_nothing_more() {
    let Scene { world, .. } = Scene::new();
    let far = FakeMachine::named("machine-2").start_drive();
    let (store, clock) = (world.store.of(far.clone(), None), world.clock.clone());
    // The machine sleeps while the agent works, and another one takes over.
    world.agents.script(Role::Coder, move |_| {
        clock.advance(LEASE_TTL);
        let lease = Lease::acquire(&store, &clock, &far, &run_id()).unwrap();
        std::mem::forget(lease.ok().unwrap());
        AgentWork::answer("Done.").write(FILE, BUGGY)
    });
    let owner = world.start_owner(None);
    let problem = start::execute(
        spawn_request(&world),
        &run_id(),
        owner.journal(),
        &owner.process,
        &owner.performer(),
        &CancelToken::new(),
    )
    .unwrap_err();
    assert_eq!(problem.kind, Kind::LeaseLost);
    let journal = world.store.journal(&run_id()).unwrap();
    let last = journal.last().map(|entry| entry.dedupe.as_str().to_owned());
    assert!(last.is_some_and(|last| last.starts_with("note/runAgent/1")));
    let run = world.store.load(&run_id()).unwrap().unwrap();
    assert!(run.is_active() && run.pending.contains_key(&EffectKey::new("runAgent/1")));
}
