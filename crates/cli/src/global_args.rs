//! Options that every command accepts.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Options every command takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Use this repository instead of the current folder's
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) repo: Option<PathBuf>,

    /// Use this settings file instead of `drive.toml` at the repository's root
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Print exactly one JSON document on standard output, also on failure
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Print only errors on standard error
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Print every step on standard error; `DRIVE_LOG=debug` prints still more
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,

    /// Use colour; `auto`: on a terminal unless `NO_COLOR` is set
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    pub(crate) color: ColorChoice,
}

/// When colour is used. Plain comments, so that `--help` stays one line an option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    // On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    // Also into files and pipes.
    Always,
    // Not at all.
    Never,
}
