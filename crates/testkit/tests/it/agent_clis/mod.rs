//! Tests the real agent CLIs with the scripted model, for facts on which the adapters rely.

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
