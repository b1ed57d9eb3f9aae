//! Simulates whole cruises that build, each from a seed: children, line and verifier are simulated,
//! people skip and retry tasks, effects fail, and the state is serialised between any two events.

mod world;

use crate::cruise_simulation::rng::Rng;
use drive_core::run::{Flow, Listening, OutcomeStatus, TaskState};
use std::collections::BTreeMap;
use world::World;

/// Runs one cruise, and returns how it ended.
fn fly(seed: u64) -> &'static str {
    let mut world = World::new(Rng::new(seed));
    for _ in 0..5_000 {
        if world.run.outcome.is_some() {
            break;
        }
        world.step();
        world.check();
    }
    let Some(outcome) = &world.run.outcome else {
        panic!("seed {seed} makes no progress: {:?}", world.run.pending);
    };
    let Flow::Cruise { build } = &world.run.flow else {
        panic!("no cruise");
    };
    let is_landed = |state: &TaskState| matches!(state, TaskState::Landed { .. });
    let landed = build.tasks.values().filter(|task| is_landed(&task.state));
    let landed: Vec<_> = landed.collect();
    for (id, task) in &build.tasks {
        let is_named = task.is_through() || matches!(task.state, TaskState::Blocked { .. });
        let waits = matches!(task.state, TaskState::Waiting { .. });
        assert!(
            is_named || waits,
            "seed {seed}: {id} ends as {:?}",
            task.state
        );
    }
    match outcome.status {
        OutcomeStatus::Succeeded => {
            assert!(build.tasks.values().all(|task| task.is_through()));
            assert!(!landed.is_empty(), "seed {seed}: nothing landed");
            let said = build.amending.agreed.as_ref();
            if build.amending.runs > 0 && build.amending.listening != Listening::GivenUp {
                assert_eq!(said, Some(&world.plan()), "seed {seed}: nothing is unheard");
            }
            "succeeded"
        }
        OutcomeStatus::NeedsHuman if landed.is_empty() => "nothing landed",
        OutcomeStatus::NeedsHuman => "some landed",
        OutcomeStatus::Failed | OutcomeStatus::TimedOut | OutcomeStatus::Cancelled => "else",
    }
}

/// Runs the cruises of these seeds, which together reach every kind of end.
fn fly_all(seeds: std::ops::Range<u64>) {
    let mut ends: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in seeds {
        let end = std::panic::catch_unwind(|| fly(seed));
        let end = end.unwrap_or_else(|_| panic!("seed {seed}"));
        *ends.entry(end).or_default() += 1;
    }
    for end in ["succeeded", "some landed", "nothing landed"] {
        assert!(ends.get(end).is_some_and(|count| *count > 2), "{ends:?}");
    }
}

#[test]
fn cruises_that_build_hold_what_they_must_seeds_0_to_499() {
    fly_all(0..500);
}

#[test]
fn cruises_that_build_hold_what_they_must_seeds_500_to_999() {
    fly_all(500..1_000);
}
