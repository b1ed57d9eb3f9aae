//! The real agent CLIs against the scripted model: what our adapters take for granted about them.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "tests start real programs and may fail loudly"
)]

mod bare;
mod codex_sandbox;
mod permissions;
mod plugin;
mod project_settings;
mod prompts;
mod read_only;
mod record;
mod signals;
mod verdicts;
mod working;
