//! One binary for all integration tests of this crate, because linking dominates their build time.
//! Every test runs the real `drive` binary.
//!
//! Run one module with `cargo nextest run -p infinite-improbability-drive -E 'test(/^docs::/)'`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::unwrap_used,
    missing_docs,
    reason = "tests start the program and write fixtures"
)]

mod cli;
mod cruise;
mod docs;
mod document;
mod errors;
mod evaluation;
mod house_rules;
mod module_graph;
mod serve;
mod spawn;
mod stage;
mod team;
mod verify;
