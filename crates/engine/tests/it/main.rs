//! Tests the engine with fakes of all its ports: whole runs, with a crash at every step.
//!
//! Run one module with `cargo nextest run -p drive-engine -E 'test(/^cruise::/)'`.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    missing_docs,
    unreachable_pub,
    reason = "tests say what they expect"
)]

mod build;
mod cruise;
mod dispatch;
mod journal;
mod landing;
mod lease;
mod line;
mod notices;
mod resume;
mod secrets;
mod spawn;
mod steering;
mod stop;
mod support;
mod team;
mod tree;
