//! Tests the local forge with real git and real SQLite.

mod branches;
mod contract;
mod lines;
mod merging;
mod operations;
mod selecting;
mod sharing;
mod world;
