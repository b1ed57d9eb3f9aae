//! `drive verify` by the real binary, on real repositories, against commands that misbehave.

#[macro_use]
mod support;

mod adversarial;
mod caches;
mod coverage;
mod detectors;
mod faults;
mod lives;
mod merging;
mod real;
mod tampering;
mod tools;
mod verdicts;
