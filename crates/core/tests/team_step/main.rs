//! The flow of a team: what follows from what its reviewer, its people and its world say.
#![allow(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    missing_docs,
    unreachable_pub,
    reason = "tests"
)]

#[path = "../common/mod.rs"]
mod common;
mod description;
mod ending;
mod failures;
mod findings;
mod merging;
mod modes;
mod people;
mod promoting;
mod properties;
mod scene;
mod verdicts;
