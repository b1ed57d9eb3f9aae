//! Simulates trees of runs, each from a seed: a root with up to twenty children, some of which have children
//! of their own. The single process that owns them dies at random moments, and only the journals outlive it.
//!
//! A failing seed prints the command that replays it.

mod checks;
mod forest;

use drive_core::run::OutcomeStatus;
use forest::{Forest, Grown};
use std::collections::BTreeMap;
use std::ops::Range;

/// Prints how to replay a failure.
struct Replay(u64);

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "replay it: DRIVE_SIM_SEED={} cargo nextest run -p drive-core a_seeded_tree",
                self.0
            );
        }
    }
}

fn grow(seed: u64) -> Grown {
    let _replay = Replay(seed);
    Forest::new(seed).grow()
}

/// Grows trees from these seeds, and checks that they reach every kind of end.
fn grow_all(seeds: Range<u64>) {
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in seeds {
        let grown = grow(seed);
        let end = match (grown.status, grown.was_stopped) {
            (OutcomeStatus::Succeeded, _) => "succeeded",
            (OutcomeStatus::Cancelled, _) => "stopped",
            _ => "failed",
        };
        *seen.entry(end).or_default() += 1;
        *seen.entry("crashes").or_default() += grown.crashes;
        *seen.entry("extended").or_default() += u64::from(grown.extended > 0);
        *seen.entry("nested").or_default() += u64::from(grown.is_nested);
        *seen.entry("children").or_default() += grown.children;
        *seen.entry("granted again").or_default() += u64::from(grown.grants > 0);
        *seen.entry("twenty children").or_default() += u64::from(grown.widest >= 20);
    }
    println!("{seen:?}");
    for what in [
        "succeeded",
        "stopped",
        "failed",
        "crashes",
        "extended",
        "nested",
        "children",
        "granted again",
        "twenty children",
    ] {
        let count = seen.get(what).copied().unwrap_or(0);
        assert!(count > 0, "no tree showed this: {what}");
    }
}

#[test]
fn a_seeded_tree() {
    let seed = std::env::var("DRIVE_SIM_SEED").ok();
    grow(seed.and_then(|seed| seed.parse().ok()).unwrap_or(1));
}

#[test]
fn trees_hold_what_they_must_seeds_0_to_399() {
    grow_all(0..400);
}

#[test]
fn trees_hold_what_they_must_seeds_400_to_799() {
    grow_all(400..800);
}

/// The owner dies once at every single step of a tree.
#[test]
fn a_tree_survives_a_crash_at_every_step() {
    for seed in [3, 8, 21] {
        let _replay = Replay(seed);
        let steps = Forest::new(seed).calm().grow().steps;
        for at in 0..steps {
            let grown = Forest::new(seed).calm().dying_at(at).grow();
            assert_eq!(grown.crashes, 1, "at step {at} of seed {seed}");
        }
    }
}
