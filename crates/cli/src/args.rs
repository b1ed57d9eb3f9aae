//! The command-line arguments.

use crate::commands::Command;
use crate::examples::with_examples;
use crate::global_args::GlobalArgs;
use clap::{CommandFactory, Error, FromArgMatches, Parser};
use std::ffi::OsString;

/// Run coding agents through the pull requests your team already uses.
#[derive(Debug, Parser)]
#[command(
    name = "drive",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
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

impl Cli {
    /// Parses a command line, with examples below the help of every command.
    pub(crate) fn parse_line(arguments: &[OsString]) -> Result<Self, Error> {
        let mut command = with_examples(Self::command());
        let matches = command.try_get_matches_from_mut(arguments)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

#[cfg(test)]
mod tests;
