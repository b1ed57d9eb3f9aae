//! Parts of the benchmarks that have their own tests.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "an evaluation starts the program as a user does, and prints its own table"
)]

pub mod reviews;
