//! Runs that were killed go on, and survive a death at every step of that too.

use crate::support::{
    Crashes, FILE, FIXED, Idle, Scene, assert_nothing_is_lost, posts, run_id, spawn_request,
    team_request,
};
use drive_core::forge::Surface;
use drive_core::problem::Kind;
use drive_core::run::{OutcomeStatus, Run};
use drive_engine::fakes::FakeMachine;
use drive_engine::lease::{LEASE_TTL, Lease};
use drive_engine::ports::StatusState;
use drive_engine::{CancelToken, resume};

/// Every third append is enough: the deaths before and after it are tested with it.
const STRIDE: usize = 3;

fn assert_done(scene: &Scene, run: Run, when: &str) {
    let outcome = run.outcome.unwrap();
    assert_eq!(
        (outcome.status, outcome.failure),
        (OutcomeStatus::Succeeded, None),
        "{when}"
    );
    assert_nothing_is_lost(scene, when);
}

fn assert_team_is_done(scene: &Scene, run: Run, when: &str) {
    assert_done(scene, run, when);
    let (repository, forge) = (&scene.world.repository, &scene.world.forge);
    let pushed = repository.remote_branch("origin", "fix-login").unwrap();
    assert_eq!(repository.files_of(&pushed).unwrap()[FILE], FIXED, "{when}");
    let opened = forge.pull_requests();
    assert!(opened.len() == 1 && !opened[0].draft, "{when}: {opened:?}");
    assert_eq!(
        forge.status_of(&pushed),
        Some(StatusState::Success),
        "{when}"
    );
    for finding in forge.comments() {
        if finding.key.surface == Surface::Inline && finding.in_reply_to.is_none() {
            let comment = finding.key.comment();
            assert_eq!(forge.replies_to(comment).len(), 1, "{when}");
            assert!(forge.is_resolved(comment), "{when}");
        }
    }
}

/// Whether the run was killed in a way that it can go on after.
fn is_lost(scene: &Scene) -> bool {
    let outcome = scene.run().and_then(|run| run.outcome);
    let failure = outcome.and_then(|outcome| outcome.failure);
    failure.is_some_and(|problem| problem.kind == Kind::OwnerLost)
}

#[test]
fn a_team_killed_after_any_append_goes_on_to_its_end() {
    for number in (2..).step_by(STRIDE) {
        let scene = Scene::new();
        let request = team_request(&scene.world);
        let when = format!("killed after append {number}");
        if scene
            .execute(request, Some(Crashes::AfterAppend.at(number)))
            .is_some()
        {
            assert!(number > 20, "only {number} appends");
            break;
        }
        scene.recover(None).unwrap();
        if is_lost(&scene) {
            let run = scene.resume(None).unwrap();
            assert_team_is_done(&scene, run, &when);
        }
    }
}

#[test]
fn a_team_killed_before_any_append_goes_on_to_its_end() {
    for number in (3..).step_by(STRIDE) {
        let scene = Scene::new();
        let request = team_request(&scene.world);
        let when = format!("killed before append {number}");
        if scene
            .execute(request, Some(Crashes::BeforeAppend.at(number)))
            .is_some()
        {
            break;
        }
        scene.recover(None).unwrap();
        if is_lost(&scene) {
            let run = scene.resume(None).unwrap();
            assert_team_is_done(&scene, run, &when);
        }
    }
}

#[test]
fn a_team_killed_again_while_it_goes_on_goes_on_again() {
    for crashes in [
        Crashes::AfterAppend,
        Crashes::BeforeAppend,
        Crashes::AfterClaim,
    ] {
        for number in (1..).step_by(STRIDE) {
            let scene = Scene::new();
            let request = team_request(&scene.world);
            let first = Crashes::AfterAppend.at(24);
            assert!(scene.execute(request, Some(first)).is_none());
            scene.recover(None).unwrap();
            let when = format!("{crashes:?} {number} of the second life");
            if scene.resume(Some(crashes.at(number))).is_some() {
                assert!(number > 10, "{when}: the last");
                break;
            }
            scene.recover(None).unwrap();
            if is_lost(&scene) {
                let run = scene.resume(None).unwrap();
                assert_team_is_done(&scene, run, &when);
            }
            let stops = posts(&scene)
                .into_iter()
                .filter(|((_, text), _)| text.contains("`drive runs resume"))
                .map(|(_, count)| count)
                .sum::<u32>();
            assert!(stops <= 2, "{when}: {stops} closing comments");
        }
    }
}

#[test]
fn a_spawn_killed_after_any_append_goes_on_to_its_end() {
    kill_a_spawn_everywhere(Crashes::AfterAppend);
}

/// One of these deaths comes after the push, before its result is journaled.
#[test]
fn a_spawn_killed_before_any_append_goes_on_to_its_end() {
    kill_a_spawn_everywhere(Crashes::BeforeAppend);
}

fn kill_a_spawn_everywhere(crashes: Crashes) {
    for number in 2.. {
        let scene = Scene::new();
        let request = spawn_request(&scene.world);
        let when = format!("{crashes:?} {number}");
        if scene.execute(request, Some(crashes.at(number))).is_some() {
            assert!(number > 5, "only {number} appends");
            break;
        }
        scene.recover(None).unwrap();
        if is_lost(&scene) {
            let run = scene.resume(None).unwrap();
            assert_done(&scene, run, &when);
        }
    }
}

#[test]
fn an_expired_lease_of_another_machine_does_not_keep_a_run_from_going_on() {
    let scene = Scene::new();
    let world = &scene.world;
    let request = team_request(world);
    let crash = Crashes::AfterAppend.at(24);
    assert!(scene.execute(request, Some(crash)).is_none());
    scene.recover(None).unwrap();
    // A process elsewhere died with the lease in its hands.
    let far = FakeMachine::named("machine-2").start_drive();
    let store = world.store.of(far.clone(), None);
    let lease = Lease::acquire(&store, &world.clock, &far, &run_id()).unwrap();
    std::mem::forget(lease.ok().unwrap());
    let near = world.start_owner(None);
    let try_to_resume = || {
        let run = scene.run().unwrap();
        resume::check(&run, None, near.journal(), &near.process)?;
        let (journal, cancel) = (near.journal(), CancelToken::new());
        let performer = Idle::new(&near, world, &cancel);
        resume::resume(&run_id(), None, journal, &near.process, &performer, &cancel)
    };
    let refused = try_to_resume().unwrap_err();
    assert_eq!(refused.kind, Kind::RunOwned);
    world.clock.advance(LEASE_TTL);
    assert_team_is_done(&scene, try_to_resume().unwrap(), "once the lease expired");
}
