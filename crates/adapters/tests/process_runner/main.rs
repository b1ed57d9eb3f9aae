//! The bounded runner against real processes, as root and as an ordinary user.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::unwrap_used,
    missing_docs,
    reason = "tests start themselves anew as another user, and say what they skip"
)]

#[macro_use]
mod support;

mod ends;
mod isolation;
mod leftovers;
mod light;
mod memory;
mod start;
mod streams;
mod survivors;
mod traps;
