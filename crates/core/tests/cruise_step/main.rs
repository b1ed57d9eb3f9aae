//! What a cruise decides, step by step.
#![allow(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    missing_docs,
    unreachable_pub,
    reason = "tests"
)]

mod approving;
mod comments;
#[path = "../common/mod.rs"]
mod common;
mod describing;
mod ending;
mod limits;
mod moving;
mod pace;
mod retrying;
mod reviewing;
mod scene;
mod spending;
