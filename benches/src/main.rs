//! Measures drive against the plain tool in the same run, and prints ratios.
//!
//! `cargo run --release -p drive-benches -- [NAME…]` runs all benchmarks, or those named.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a benchmark starts the plain tool bare, and prints its own table"
)]

mod agent;
mod arrival;
mod fleet;
mod forge;
mod journal;
mod place;
mod process;
mod sandbox;
mod spawn;
mod startup;
mod table;
mod verify;

use table::Row;

/// A benchmark: its name on the command line, and what measures it.
type Bench = (&'static str, fn() -> Vec<Row>);

const BENCHES: &[Bench] = &[
    ("agent", agent::run),
    ("arrival", arrival::run),
    ("fleet", fleet::run),
    ("forge", forge::run),
    ("journal", journal::run),
    ("output", process::output),
    ("sandbox", sandbox::run),
    ("spawn", spawn::run),
    ("start", process::start),
    ("startup", startup::run),
    ("verify", verify::run),
];

fn main() {
    drive_adapters::process::supervise_if_asked();
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if wanted == [forge::SERVE] {
        return forge::serve();
    }
    let mut rows = Vec::new();
    for (name, run) in BENCHES {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            eprintln!("running {name} …");
            rows.extend(run());
        }
    }
    print!("{}", table::render(&rows));
}
