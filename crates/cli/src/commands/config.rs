//! `drive config`: the settings in force, their mistakes, and their schema.

use crate::answer::{Answer, Outcome};
use crate::app::App;
use clap::{Args, Subcommand};
use drive_adapters::settings::{LoadError, SettingsPaths};
use drive_core::settings::{Effective, Finding, Layer, Origin, json_schema};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// The arguments of `drive config`.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

impl ConfigArgs {
    /// Whether it is about this machine's files, and not only a text.
    pub(super) fn reads_files(&self) -> bool {
        match self.command {
            ConfigCommand::Show | ConfigCommand::Check => true,
            ConfigCommand::Schema | ConfigCommand::Default => false,
        }
    }
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Show every setting in force and where it came from
    Show,
    /// Check the settings files and report every mistake
    Check,
    /// Print the JSON Schema of `drive.toml` for editors
    Schema,
    /// Print the commented file of all defaults
    Default,
}

/// Shows, checks or describes the settings.
pub(crate) fn run(args: &ConfigArgs, app: &App) -> Outcome {
    match args.command {
        ConfigCommand::Show => show(app),
        ConfigCommand::Check => check(app),
        ConfigCommand::Schema => schema(),
        ConfigCommand::Default => default(),
    }
}

fn show(app: &App) -> Outcome {
    let effective = app.settings()?;
    let origins: Map<String, Value> = effective
        .entries
        .iter()
        .map(|entry| (entry.path(), json!(entry.origin)))
        .collect();
    let body = json!({
        "files": files(&app.settings_paths()?),
        "settings": effective.settings,
        "origins": origins,
    });
    Answer::new("drive.config/1", &body, as_toml(effective))
}

/// The settings as a file one could use, with each value's origin beside it.
fn as_toml(effective: &Effective) -> String {
    let mut text = String::new();
    let mut header = String::new();
    for entry in &effective.entries {
        if entry.header() != header {
            header = entry.header();
            let gap = if text.is_empty() { "" } else { "\n" };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{gap}[{header}]");
        }
        let line = format!("{} = {}", entry.key, entry.toml());
        let _ = writeln!(text, "{line:<40} # {}", entry.origin);
    }
    text
}

fn check(app: &App) -> Outcome {
    let paths = app.settings_paths()?;
    let files = files(&paths);
    match app.load_settings(&[]) {
        Ok(_) => {
            let body = json!({ "files": files, "findings": [] });
            Answer::new("drive.configCheck/1", &body, "the settings are fine")
        }
        Err(LoadError::Unreadable(problem)) => Err(problem),
        Err(LoadError::Mistakes(findings)) => {
            let shown: Vec<Value> = findings.0.iter().map(finding).collect();
            let body = json!({ "files": files, "findings": shown });
            let answer = Answer::new("drive.configCheck/1", &body, "")?;
            Ok(answer.failed(findings.into_problem()))
        }
    }
}

fn finding(finding: &Finding) -> Value {
    let (file, line) = match &finding.origin {
        Origin::File { file, line } => (Some(file), Some(line)),
        Origin::Default | Origin::Flag { .. } => (None, None),
    };
    json!({
        "file": file,
        "line": line,
        "text": finding.text,
        "key": finding.key,
        "message": finding.message,
        "hint": finding.hint,
    })
}

fn files(paths: &SettingsPaths) -> Vec<Value> {
    let files = paths.optional.iter().chain(&paths.required);
    files
        .map(|path| json!({ "path": path.display().to_string(), "exists": path.exists() }))
        .collect()
}

fn schema() -> Outcome {
    let schema = json_schema();
    let text = format!("{schema:#}");
    Answer::new(
        "drive.configSchema/1",
        &json!({ "jsonSchema": schema }),
        text,
    )
}

fn default() -> Outcome {
    let text = Layer::defaults().text;
    Answer::new("drive.configDefault/1", &json!({ "toml": text }), text)
}
