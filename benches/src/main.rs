//! Measures drive against the plain tool in the same run, and prints ratios.
//!
//! `cargo run --release -p drive-benches -- [NAME…]` runs all benchmarks, or those named. `reviews`
//! evaluates reviews: it calls a model, so it runs only when named, with options of its own.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a benchmark starts the plain tool bare, and prints its own table"
)]

mod agent;
mod arrival;
mod cruise;
mod files;
mod fleet;
mod fold;
mod forge;
mod journal;
mod place;
mod process;
mod receiver;
mod relay;
mod sandbox;
mod scheduler;
mod simulation;
mod spawn;
mod startup;
mod table;
mod train;
mod verify;

/// Helpers that the core's tests share: examples, and whole cruises from a seed.
#[path = "../../crates/core/tests/it/common/mod.rs"]
#[allow(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "the tests use more of it, under their own rules"
)]
mod common;
#[path = "../../crates/core/tests/it/cruise_simulation/mod.rs"]
#[allow(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    dead_code,
    unused_imports,
    missing_docs,
    unreachable_pub,
    reason = "the tests use more of it, under their own rules"
)]
mod cruise_simulation;
#[path = "../../crates/core/tests/it/train_verifications.rs"]
#[allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "the tests use more of it, under their own rules"
)]
mod train_verifications;

use std::process::ExitCode;
use table::Row;

/// The first argument of an evaluation of reviews.
const REVIEWS: &str = "reviews";

/// A benchmark: its name on the command line, and what measures it.
type Bench = (&'static str, fn() -> Vec<Row>);

const BENCHES: &[Bench] = &[
    ("agent", agent::run),
    ("arrival", arrival::run),
    ("cruise", cruise::run),
    ("files", files::run),
    ("fleet", fleet::run),
    ("fold", fold::run),
    ("forge", forge::run),
    ("journal", journal::run),
    ("output", process::output),
    ("receiver", receiver::run),
    ("relay", relay::run),
    ("sandbox", sandbox::run),
    ("scheduler", scheduler::run),
    ("simulation", simulation::run),
    ("spawn", spawn::run),
    ("start", process::start),
    ("startup", startup::run),
    ("train", train::run),
    ("verify", verify::run),
];

fn main() -> ExitCode {
    drive_adapters::process::supervise_if_asked();
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if let [order, options @ ..] = &wanted[..]
        && order == REVIEWS
    {
        return drive_benches::reviews::main(options);
    }
    if wanted == [forge::SERVE] {
        forge::serve();
        return ExitCode::SUCCESS;
    }
    if let [order, place] = &wanted[..]
        && order == relay::CLIENT
    {
        relay::receive(place);
        return ExitCode::SUCCESS;
    }
    let mut rows = Vec::new();
    for (name, run) in BENCHES {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            eprintln!("running {name} …");
            rows.extend(run());
        }
    }
    print!("{}", table::render(&rows));
    ExitCode::SUCCESS
}
