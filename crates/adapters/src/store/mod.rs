//! Persistent stores in the embedded database: journal, outbox, leases, and others.

mod database;
mod deliveries;
mod doorbell;
mod forge_memory;
mod journal;
mod migrations;
mod nudges;
mod reserve;

pub use database::{Database, sql_problem};
pub use deliveries::SqliteDeliveries;
pub use forge_memory::SqliteForgeMemory;
pub use journal::SqliteStore;
pub use nudges::SqliteNudges;
pub use reserve::Reserve;
