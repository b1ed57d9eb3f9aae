//! The database schema, as an ordered list of migrations.
//!
//! A released migration is never edited: a database only stores how many were applied. The number
//! of migrations is the schema version.

/// Each migration moves the database one version forward.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("schema/0001_journal.sql"),
    include_str!("schema/0002_local_forge.sql"),
    include_str!("schema/0003_webhook_deliveries.sql"),
    include_str!("schema/0004_forge_memory.sql"),
    include_str!("schema/0005_nudges.sql"),
    include_str!("schema/0006_local_strangers.sql"),
];
