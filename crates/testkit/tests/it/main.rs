//! One binary for all integration tests of this crate, because linking dominates their build time.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::panic,
    clippy::unwrap_used,
    missing_docs,
    reason = "tests start real programs and may fail loudly"
)]

mod agent_clis;
mod model_server;
