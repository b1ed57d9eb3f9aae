//! `drive config`: effective settings, their errors, and their schema.

use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::documents::{
    ConfigCheckDocument, ConfigDefaultDocument, ConfigDocument, ConfigSchemaDocument, SettingsFile,
    path_text,
};
use clap::{Args, Subcommand};
use drive_adapters::settings::{LoadError, SettingsPaths};
use drive_core::settings::{Effective, Layer, json_schema};
use std::fmt::Write;

/// The arguments of `drive config`.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

impl ConfigArgs {
    /// Whether the command reads files of this machine, and does not only print a text.
    pub(super) fn reads_files(&self) -> bool {
        match self.command {
            ConfigCommand::Show | ConfigCommand::Check => true,
            ConfigCommand::Schema | ConfigCommand::Default => false,
        }
    }
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Show the effective settings and the source of each
    Show,
    /// Check the settings files and report all errors
    Check,
    /// Print the JSON Schema of `drive.toml` for editors
    Schema,
    /// Print all defaults as a commented settings file
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
    let document = ConfigDocument::new(files(&app.settings_paths()?), effective);
    Answer::new(&document, as_toml(effective))
}

/// The settings as a usable file, with the origin of each value in a comment.
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
            let document = ConfigCheckDocument::right(files);
            Answer::new(&document, "settings are valid")
        }
        Err(LoadError::Unreadable(problem)) => Err(problem),
        Err(LoadError::Mistakes(findings)) => {
            let listed = findings.0.clone();
            let problem = findings.into_problem();
            let document = ConfigCheckDocument::wrong(files, &listed, &problem);
            Ok(Answer::new(&document, "")?.failed(problem))
        }
    }
}

fn files(paths: &SettingsPaths) -> Vec<SettingsFile> {
    let files = paths.optional.iter().chain(&paths.required);
    files
        .map(|path| SettingsFile {
            path: path_text(path),
            exists: path.exists(),
        })
        .collect()
}

fn schema() -> Outcome {
    let schema = json_schema();
    let text = format!("{schema:#}");
    let document = ConfigSchemaDocument {
        json_schema: schema,
    };
    Answer::new(&document, text)
}

fn default() -> Outcome {
    let text = Layer::defaults().text;
    let document = ConfigDefaultDocument { toml: text.clone() };
    Answer::new(&document, text)
}
