//! `drive cruise` as a user calls it: the real binary, real git, both forges, scripts as agents, and
//! real deaths.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    missing_docs,
    dead_code,
    reason = "tests start programs and write fixtures"
)]

mod bad_input;
mod branches;
mod closing;
mod comments;
mod crew;
mod deaths;
mod demo;
mod disk;
mod github;
mod life;
mod owners;
mod sandboxes;
#[path = "../team/stage.rs"]
mod stage;
mod terminals;
