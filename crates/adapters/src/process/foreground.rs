//! Runs a program of the user, such as a shell, in the foreground of their terminal, with their
//! streams and environment and without limits.

use drive_core::problem::{Kind, Problem};
use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs a program until it ends, with these variables in addition to the user's own. Returns its
/// exit code; `None` if a signal ended it.
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

/// Shows a text by a command of the user's, such as a pager, until that ends. Returns whether the command
/// could be run at all; whoever leaves a pager early has seen enough.
#[must_use]
pub fn page(command: &str, text: &str) -> bool {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the module that starts children"
    )]
    let mut shell = Command::new("sh");
    let started = shell.args(["-c", command]).stdin(Stdio::piped()).spawn();
    let Ok(mut pager) = started else {
        return false;
    };
    if let Some(mut input) = pager.stdin.take() {
        let _ = input.write_all(text.as_bytes());
    }
    // A shell that finds no such command ends with 127.
    pager
        .wait()
        .is_ok_and(|status| status.code() != Some(NOT_FOUND))
}

/// The exit code of a shell that does not find a command.
const NOT_FOUND: i32 = 127;

#[cfg(test)]
mod tests {
    use super::page;

    #[test]
    fn a_pager_gets_the_text_and_one_that_is_missing_shows_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let seen = folder.path().join("seen");
        assert!(page(&format!("cat > {}", seen.display()), "one\ntwo\n"));
        assert_eq!(std::fs::read_to_string(seen).unwrap(), "one\ntwo\n");
        assert!(page("exit 3", &"x".repeat(1 << 20)));
        assert!(!page("/nonexistent/pager", "one"));
    }
}
