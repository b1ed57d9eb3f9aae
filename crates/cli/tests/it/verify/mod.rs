//! Tests `drive verify` with the real binary, on real repositories, with misbehaving commands.

#[macro_use]
mod support;

mod adversarial;
mod caches;
mod contracts;
mod coverage;
mod detectors;
mod faults;
mod hooks;
mod lives;
mod merging;
mod parallel;
mod real;
mod reports;
mod rewrites;
mod silence;
mod tampering;
mod tools;
mod verdicts;
mod worlds;
