//! The local forge over real git and real SQLite.

mod contract;
mod hands;
mod heads;
mod lines;
mod merging;
mod selecting;
mod sharing;
mod world;
