//! The bounded runner against real processes, as root and as an ordinary user.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::unwrap_used,
    dead_code,
    missing_docs,
    reason = "tests start themselves anew as another user, and say what they skip"
)]

#[macro_use]
mod support;

mod start;
mod survivors;
