//! A program of the user's in the foreground of their terminal, such as a shell. It has the user's
//! streams and environment, and no limits: it is theirs.

use drive_core::problem::{Kind, Problem};
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// Runs a program until it ends, with these variables besides the user's own. Returns its exit code;
/// `None` where a signal ended it.
pub fn run_in_foreground(
    program: &OsStr,
    folder: &Path,
    variables: &[(&str, &str)],
) -> Result<Option<i32>, Problem> {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the module that starts children"
    )]
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .envs(variables.iter().copied())
        .status()
        .map(|status| status.code())
        .map_err(|error| {
            let message = format!("cannot start `{}`", program.to_string_lossy());
            Problem::new(Kind::RequirementMissing, message)
                .because(error)
                .hint("set `SHELL` to a program that exists")
        })
}
