//! The command-line arguments.

use crate::commands::Command;
use crate::global_args::GlobalArgs;
use clap::Parser;

/// Run coding agents through the pull requests your team already uses.
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

#[cfg(test)]
mod tests;
