//! The forge contract, unchanged, on the GitHub adapter in front of the simulator.
#![allow(
    clippy::unwrap_used,
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "tests fail by panicking, and share a support module"
)]

mod github_support;

drive_testkit::forge_contract!(crate::github_support::Hub::start);
