//! `drive verify` by the real binary, on real repositories, against commands that misbehave.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test starts the program and prepares its world"
)]

#[macro_use]
mod support;

mod adversarial;
mod detectors;
mod lives;
mod tampering;
mod verdicts;
