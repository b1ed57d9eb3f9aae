//! The command line, as `--help` shows it.

use crate::commands::Command;
use clap::{Args, Parser, ValueEnum};
use std::path::PathBuf;

/// Fly coding agents through the pull request your team already uses.
#[derive(Debug, Parser)]
#[command(
    name = "drive",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    max_term_width = 100,
    after_help = "Exit codes: 0 done, 1 the work did not succeed, 2 wrong usage or configuration, \
                  3 the environment failed, 130 interrupted."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options every command takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Work in this repository instead of the current folder's
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) repo: Option<PathBuf>,

    /// Read this file instead of `drive.toml` at the repository's root
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Print exactly one JSON document on standard output, also on failure
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Say nothing but errors on standard error
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Say more on standard error
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,

    /// Use colour; `auto` means on a terminal, unless `NO_COLOR` is set
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

#[cfg(test)]
mod tests;
