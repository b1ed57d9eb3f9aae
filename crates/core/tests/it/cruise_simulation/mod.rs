//! Simulates whole cruises, each from a seed: forge, history, agents and clock are simulated, the
//! owner dies at random moments, and the invariants are checked after every event.
//!
//! A failing seed prints the command that replays it.

mod agents;
mod checks;
mod clock;
mod deaths;
mod forge;
mod git;
mod people;
mod requests;
pub mod rng;
pub mod sim;
mod world;

use drive_core::forge::PrState;
use drive_core::problem::Kind;
use drive_core::run::OutcomeStatus;
use drive_core::timeline::{describe_status, timeline};
use sim::{Flown, Who, fly};
use std::collections::BTreeMap;
use std::ops::Range;

/// Prints how to replay a failure.
struct Replay(u64);

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "replay it (a team with DRIVE_SIM_TEAM=1): DRIVE_SIM_SEED={} cargo nextest run -p drive-core a_seeded_cruise",
                self.0
            );
        }
    }
}

/// Runs these seeds, and checks that they reach every kind of end.
fn fly_all(seeds: Range<u64>) {
    let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let replay = Replay(seed);
        let flown = fly(seed, Who::Cruise, false);
        *ends.entry(end_of(&flown)).or_default() += 1;
        *ends.entry("crashes").or_default() += flown.sim.crashes;
        *ends.entry("events").or_default() += flown.sim.journal.len() as u64;
        let said = flown.sim.world.forge.said.iter();
        *ends.entry("replies").or_default() +=
            said.filter(|one| one.reply_to.is_some()).count() as u64;
        drop(replay);
    }
    println!("{count} cruises: {ends:?}");
    for end in [
        "approved",
        "merged",
        "closed",
        "silence",
        "cleaned up",
        "failed",
        "given to a person",
    ] {
        assert!(ends.contains_key(end), "no cruise ended like this: {end}");
    }
}

fn end_of(flown: &Flown) -> &'static str {
    let kind = flown.outcome.failure.as_ref().map(|one| one.kind);
    match (flown.outcome.status, kind) {
        (OutcomeStatus::Succeeded, _) => match flown.sim.world.forge.pr {
            Some(PrState::Merged) => "merged",
            _ => "approved",
        },
        (OutcomeStatus::NeedsHuman, _) => "given to a person",
        (_, Some(Kind::Inactive)) => "silence",
        (_, Some(Kind::PullRequestClosed)) => "closed",
        (OutcomeStatus::Cancelled, _) => "cleaned up",
        _ => "failed",
    }
}

/// `DRIVE_SIM_SEEDS=50000..60000` flies those as well; teams with `DRIVE_SIM_TEAM=1`.
#[test]
fn cruises_of_more_seeds_hold_what_they_must() {
    let seeds = std::env::var("DRIVE_SIM_SEEDS").ok();
    let seeds = seeds.as_deref().and_then(|seeds| seeds.split_once(".."));
    if let Some((from, to)) = seeds {
        let seeds: Range<u64> = from.parse().unwrap()..to.parse().unwrap();
        match who() {
            Who::Cruise => fly_all(seeds),
            Who::Team => fly_teams(seeds),
        }
    }
}

/// `DRIVE_SIM_TEAM=1` replays a team.
fn who() -> Who {
    match std::env::var_os("DRIVE_SIM_TEAM") {
        Some(_) => Who::Team,
        None => Who::Cruise,
    }
}

/// Runs teams with these seeds, and checks that they reach every kind of end.
fn fly_teams(seeds: Range<u64>) {
    let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let replay = Replay(seed);
        let flown = fly(seed, Who::Team, false);
        let kind = flown.outcome.failure.as_ref().map(|one| one.kind);
        let end = match (flown.outcome.status, kind) {
            (OutcomeStatus::Succeeded, _) if flown.sim.world.forge.is_open() => "ready",
            (OutcomeStatus::Succeeded, _) => "merged",
            (_, Some(Kind::PullRequestClosed)) => "closed",
            (_, Some(Kind::OwnerLost)) => "killed",
            (OutcomeStatus::Cancelled, _) => "stopped",
            (_, Some(Kind::BudgetExceeded)) => "over budget",
            (OutcomeStatus::NeedsHuman, _) => "given to a person",
            (_, Some(Kind::NotApproved)) => "not approved",
            _ => "failed",
        };
        *ends.entry(end).or_default() += 1;
        if flown.sim.resumes() > 0 && flown.outcome.status == OutcomeStatus::Succeeded {
            *ends.entry("resumed and done").or_default() += 1;
        }
        drop(replay);
    }
    println!("{count} teams: {ends:?}");
    for end in [
        "ready",
        "merged",
        "closed",
        "killed",
        "stopped",
        "given to a person",
        "over budget",
        "not approved",
        "failed",
        "resumed and done",
    ] {
        assert!(ends.contains_key(end), "no team ended like this: {end}");
    }
}

#[test]
fn teams_hold_what_they_must_seeds_0_to_4999() {
    fly_teams(0..5_000);
}

#[test]
fn teams_hold_what_they_must_seeds_5000_to_9999() {
    fly_teams(5_000..10_000);
}

#[test]
fn a_seeded_cruise() {
    let seed = std::env::var("DRIVE_SIM_SEED").ok();
    let seed = seed.and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let _replay = Replay(seed);
    fly(seed, who(), true);
}

/// Regression test for seeds that failed before.
#[test]
fn a_sandbox_without_a_journal_is_committed_before_others_commits_come_in() {
    for seed in [6_402, 9_547] {
        let _replay = Replay(seed);
        fly(seed, Who::Cruise, false);
    }
}

#[test]
fn an_instant_that_comes_twice_after_the_clock_was_set_back_is_waited_for_twice() {
    let _replay = Replay(33_586);
    fly(33_586, Who::Cruise, false);
}

#[test]
fn an_approval_is_not_concluded_from_a_reading_of_hours_ago() {
    // Its owner died after the reading, and the next one came twelve hours later.
    fly(1_310, Who::Cruise, false);
}

#[test]
fn a_team_that_is_shutting_down_is_woken_by_no_timer() {
    for seed in [199, 5_186] {
        let _replay = Replay(seed);
        fly(seed, Who::Team, false);
    }
}

#[test]
fn cruises_hold_what_they_must_seeds_0_to_2499() {
    fly_all(0..2_500);
}

#[test]
fn cruises_hold_what_they_must_seeds_2500_to_4999() {
    fly_all(2_500..5_000);
}

#[test]
fn cruises_hold_what_they_must_seeds_5000_to_7499() {
    fly_all(5_000..7_500);
}

#[test]
fn cruises_hold_what_they_must_seeds_7500_to_9999() {
    fly_all(7_500..10_000);
}

/// People read sentences about the events: no polls, no effects, no field names.
#[test]
fn the_timeline_of_a_cruise_leaves_out_polls_and_names_of_events() {
    for seed in 0..100 {
        let replay = Replay(seed);
        let flown = fly(seed, Who::Cruise, false);
        let journal = flown.sim.journal;
        let events = journal.len();
        let moments = timeline(&flown.sim.run.id, journal);
        // A short cruise has no polls to leave out.
        let is_short = events < 40 || moments.len() < events;
        assert!(moments.len() >= 2 && is_short, "{events} events");
        let last = moments.last().unwrap();
        assert!(
            last.text.starts_with(describe_status(flown.outcome.status)),
            "{last:?}"
        );
        for moment in &moments {
            let text = &moment.text;
            assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
            for word in ["poll", "effect", "Ended", "Some(", "null"] {
                assert!(!text.contains(word), "{text:?}");
            }
        }
        drop(replay);
    }
}
