//! Tests that killed runs can be continued, even if they are killed again at every step.

use crate::support::{
    BUGGY, Crashes, FILE, FIXED, Idle, Scene, assert_nothing_is_lost, posts, run_id, spawn_request,
    team_request,
};
use drive_core::agent::Role;
use drive_core::forge::Surface;
use drive_core::ids::DedupeKey;
use drive_core::problem::Kind;
use drive_core::run::{Event, OutcomeStatus, Run};
use drive_engine::fakes::{AgentWork, FakeMachine};
use drive_engine::journal::Journal;
use drive_engine::lease::{LEASE_TTL, Lease};
use drive_engine::ports::{Entry, StatusState, Store};
use drive_engine::{CancelToken, resume};
use std::sync::atomic::Ordering;

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

/// Whether the run was killed in such a way that it can be continued.
fn is_lost(scene: &Scene) -> bool {
    let outcome = scene.run().and_then(|run| run.outcome);
    let failure = outcome.and_then(|outcome| outcome.failure);
    failure.is_some_and(|problem| problem.kind == Kind::OwnerLost)
}

#[test]
fn a_team_killed_after_any_append_goes_on_to_its_end() {
    for number in 2.. {
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
    for number in 3.. {
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
fn a_team_killed_again_after_any_append_of_its_second_life_goes_on_again() {
    kill_again_everywhere(Crashes::AfterAppend);
}

#[test]
fn a_team_killed_again_before_any_append_of_its_second_life_goes_on_again() {
    kill_again_everywhere(Crashes::BeforeAppend);
}

#[test]
fn a_team_killed_again_after_any_claim_of_its_second_life_goes_on_again() {
    kill_again_everywhere(Crashes::AfterClaim);
}

fn kill_again_everywhere(crashes: Crashes) {
    for number in 1.. {
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
        assert!(closing_comments(&scene) <= 2, "{when}: {:?}", posts(&scene));
    }
}

/// How many comments on the pull request say that the run can be continued.
fn closing_comments(scene: &Scene) -> u32 {
    let stops = posts(scene).into_iter();
    stops
        .filter(|((_, text), _)| text.contains("`drive runs resume"))
        .map(|(_, count)| count)
        .sum()
}

/// The file that the coder adds when it gets another task.
const MORE: &str = "more.txt";

/// A team that has ended, and whose coder does something else when it gets another task.
fn ended_team() -> Scene {
    let scene = Scene::new();
    let writers = scene.writers.clone();
    scene.world.agents.script(Role::Coder, move |turn| {
        writers.fetch_add(1, Ordering::SeqCst);
        let is_fixed = turn.files.get(FILE).is_some_and(|text| text == FIXED);
        let (path, text) = if is_fixed {
            (MORE, "more\n")
        } else {
            (FILE, BUGGY)
        };
        AgentWork::answer("Done.").write(path, text)
    });
    let request = team_request(&scene.world);
    let run = scene.execute(request, None).unwrap();
    assert_team_is_done(&scene, run, "before it is given more");
    scene
}

fn assert_more_is_done(scene: &Scene, run: Run, when: &str) {
    assert_team_is_done(scene, run, when);
    let pushed = scene.world.repository.remote_branch("origin", "fix-login");
    let files = scene.world.repository.files_of(&pushed.unwrap()).unwrap();
    assert_eq!(
        files.get(MORE).map(String::as_str),
        Some("more\n"),
        "{when}"
    );
    assert_eq!(times_given_more(scene), 1, "{when}");
}

#[test]
fn a_continued_team_killed_after_any_append_goes_on_to_its_end() {
    kill_a_continued_team_everywhere(Crashes::AfterAppend);
}

#[test]
fn a_continued_team_killed_before_any_append_goes_on_to_its_end() {
    kill_a_continued_team_everywhere(Crashes::BeforeAppend);
}

#[test]
fn a_continued_team_killed_after_any_claim_goes_on_to_its_end() {
    kill_a_continued_team_everywhere(Crashes::AfterClaim);
}

fn kill_a_continued_team_everywhere(crashes: Crashes) {
    for number in 1.. {
        let scene = ended_team();
        let when = format!("continued, {crashes:?} {number}");
        if let Some(run) = scene.give_more(Some(crashes.at(number))) {
            assert_more_is_done(&scene, run, &when);
            assert!(number > 10, "{when}: the last");
            break;
        }
        scene.recover(None).unwrap();
        let run = if is_lost(&scene) {
            scene.resume(None)
        } else if times_given_more(&scene) > 0 {
            scene.run()
        } else {
            scene.give_more(None)
        };
        assert_more_is_done(&scene, run.unwrap(), &when);
    }
}

fn times_given_more(scene: &Scene) -> usize {
    let journal = scene.world.store.journal(&run_id()).unwrap();
    let is_more = |entry: &&Entry| matches!(entry.event, Event::Continued { .. });
    journal.iter().filter(is_more).count()
}

#[test]
fn a_continued_team_that_is_stopped_goes_on_with_resume() {
    let scene = ended_team();
    let (store, clock) = (scene.world.store.clone(), scene.world.clock.clone());
    let writers = scene.writers.clone();
    scene.world.agents.script(Role::Coder, move |_| {
        writers.fetch_add(1, Ordering::SeqCst);
        let journal = Journal {
            store: &store,
            clock: &clock,
        };
        let name = DedupeKey::new("from-another-terminal");
        journal
            .deliver(&run_id(), &Event::CancelAsked, &name, None)
            .unwrap();
        AgentWork::answer("Done.").write(MORE, "more\n")
    });
    let stopped = scene.give_more(None).unwrap();
    let outcome = stopped.outcome.as_ref().map(|outcome| outcome.status);
    assert_eq!(outcome, Some(OutcomeStatus::Cancelled));
    assert_nothing_is_lost(&scene, "stopped");
    let run = scene.resume(None).unwrap();
    assert_more_is_done(&scene, run, "resumed after the stop");
}

#[test]
fn a_spawn_killed_after_any_append_goes_on_to_its_end() {
    kill_a_spawn_everywhere(Crashes::AfterAppend);
}

/// In one of these cases the process dies after the push, before its result is journaled.
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
    // A process on another machine died while it held the lease.
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
