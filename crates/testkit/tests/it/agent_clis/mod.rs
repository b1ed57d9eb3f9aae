//! The real agent CLIs against the scripted model: what our adapters take for granted about them.

mod answer_forms;
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
