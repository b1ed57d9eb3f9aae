//! The agent adapters with the real claude, gemini and codex, which talk to a scripted model on
//! loopback: an empty environment, a private home, dummy keys, a wall clock.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    missing_docs,
    reason = "tests write fixtures and say what they skip"
)]

mod acp;
mod ends;
mod faults;
mod lab;
mod project;
mod read_only;
mod work;
