//! `drive serve` by the real binary, over real HTTP on loopback.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test starts the program and prepares its world"
)]

#[path = "../spawn/support.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod support;

mod dashboard;
mod listening;
mod serving;
mod webhooks;
