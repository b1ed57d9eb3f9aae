//! One binary for all integration tests of this crate, because linking dominates their build time.
//!
//! Run one module with `cargo nextest run -p drive-adapters -E 'test(/^sandbox_life::/)'`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    missing_docs,
    unreachable_pub,
    reason = "tests start programs, write fixtures and print what they skip"
)]

mod agent_adapters;
mod agent_interop;
mod common;
mod cruise_clock;
mod git_history;
mod git_large;
mod git_line;
mod git_merge;
mod git_unpublished;
mod github_checks;
mod github_contract;
mod github_credentials;
mod github_faults;
mod github_gh;
mod github_limits;
mod github_merging;
mod github_preflight;
mod github_stops;
mod github_support;
mod github_token;
mod journal_crash;
mod local_forge;
mod notify;
mod phase_files;
mod process_runner;
mod sandbox_bad_input;
mod sandbox_branch;
mod sandbox_bring;
mod sandbox_confined_git;
mod sandbox_crash;
mod sandbox_deceived;
mod sandbox_escape;
mod sandbox_foreign;
mod sandbox_hostile;
mod sandbox_kinds;
mod sandbox_life;
mod sandbox_many;
mod sandbox_messages;
mod sandbox_nested;
mod sandbox_reftable;
mod sandbox_roll_back;
mod sandbox_settings;
mod sandbox_signing;
mod sandbox_take;
mod sandbox_take_crash;
mod sandbox_take_refused;
mod sandbox_untouched;
mod sandbox_whole;
mod store_database;
mod store_journal;
mod support;
mod verify_layers;
