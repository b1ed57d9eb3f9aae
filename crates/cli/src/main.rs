//! The `drive` binary: arguments, wiring, output, exit codes.
//!
//! This crate contains no logic that a second front end would need. The steps: parse the arguments
//! ([`args`]), create the [`app`] that every command gets, run one of the [`commands`], show its
//! [`answer`] through [`output`], and end with one of the [`exit`] codes.

mod answer;
mod app;
mod args;
mod commands;
mod confirm;
mod documents;
mod examples;
mod exit;
mod global_args;
mod logging;
mod notify;
mod output;
mod panics;
mod progress;
mod recovery;
mod repository;
mod run_report;
mod table;
mod task;
mod usage;
mod wiring;

use app::App;
use args::Cli;
use clap::CommandFactory;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    drive_adapters::process::supervise_if_asked();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let helper = drive_adapters::verify::startup_if_asked(&arguments)
        .or_else(|| drive_adapters::verify::services_if_asked(&arguments))
        .or_else(|| commands::ids_if_asked(&arguments));
    if let Some(code) = helper.or_else(|| commands::worker_if_asked(&arguments)) {
        return code;
    }
    let exit = match Cli::parse_line(&arguments) {
        Ok(cli) => run(cli),
        Err(error) => usage::report(&error, &arguments),
    };
    ExitCode::from(exit.code())
}

/// Runs one command and prints its answer.
fn run(cli: Cli) -> exit::Exit {
    let app = App::new(cli.global);
    let outcome = panics::caught(app.output(), || cli.command.run(&app, Cli::command));
    app.output().finish(outcome)
}
