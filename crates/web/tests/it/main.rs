//! One binary for all integration tests of this crate, because linking dominates their build time.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod attack;
mod webhook;
