//! One binary for all integration tests of this crate, because linking dominates their build time.
//!
//! Run one module with `cargo nextest run -p drive-core -E 'test(/^run_step::/)'`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    missing_docs,
    unreachable_pub,
    reason = "tests read fixtures, and a seed comes from the environment"
)]

mod agent_streams;
mod build_simulation;
mod common;
mod cruise_simulation;
mod cruise_step;
mod process_golden;
mod run_golden;
mod run_step;
mod team_step;
mod train_verifications;
mod tree_simulation;
mod tree_step;
mod verification_schema;
