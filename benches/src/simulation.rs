//! Simulated cruises a second: those that the tests of the core fly, on two threads.

use crate::cruise_simulation::sim::{Who, fly};
use crate::table::Row;
use std::thread;
use std::time::Instant;

const CRUISES: u64 = 4_000;
const THREADS: u64 = 2;

/// Measures one row.
pub(crate) fn run() -> Vec<Row> {
    let start = Instant::now();
    thread::scope(|scope| {
        for part in 0..THREADS {
            let share = CRUISES / THREADS;
            scope.spawn(move || {
                for seed in part * share..(part + 1) * share {
                    fly(seed, Who::Cruise, false);
                }
            });
        }
    });
    let rate = CRUISES as f64 / start.elapsed().as_secs_f64();
    vec![Row {
        what: "simulated cruises a second on two cores".into(),
        plain: "–".into(),
        ours: format!("{rate:.0}/s"),
        result: format!("{rate:.0}/s"),
        bound: "≥ 500 in the tests' build".into(),
    }]
}
