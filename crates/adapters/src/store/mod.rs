//! What must survive: the journal, its outbox, leases, and whatever else needs the embedded
//! database.

mod database;
mod migrations;

pub use database::{Database, sql_problem};
