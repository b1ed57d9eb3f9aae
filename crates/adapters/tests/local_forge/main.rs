//! The local forge over real git and real SQLite.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    unreachable_pub,
    missing_docs,
    reason = "tests start git themselves and fail by panicking"
)]

mod contract;
mod hands;
mod heads;
mod lines;
mod merging;
mod selecting;
mod sharing;
mod world;
