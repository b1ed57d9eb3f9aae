//! The schema, as the ordered list of steps that lead to it.
//!
//! A step that has been released is never edited: a database remembers only how many it has taken.
//! The number of steps is the schema version.

/// Each step takes the database one version forward.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("schema/0001_journal.sql"),
    include_str!("schema/0002_local_forge.sql"),
    include_str!("schema/0003_webhook_deliveries.sql"),
    include_str!("schema/0004_forge_memory.sql"),
    include_str!("schema/0005_nudges.sql"),
    include_str!("schema/0006_local_strangers.sql"),
];
