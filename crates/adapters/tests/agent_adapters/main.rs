//! The agent adapters with programs that only pretend to be agents: real processes, real kernel
//! isolation, no network.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::unwrap_used,
    missing_docs,
    reason = "tests write fixtures and say what they skip"
)]

mod command;
mod containment;
mod dialogue;
mod stage;
mod trouble;
