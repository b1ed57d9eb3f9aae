//! Asks a person before something is deleted permanently.

use drive_core::problem::{Kind, Problem};
use std::io::{self, BufRead, IsTerminal, Write};

/// Fails unless a person agrees, with `--yes` or on the terminal.
pub(crate) fn require_yes(yes: bool, what: &str) -> Result<(), Problem> {
    if yes {
        return Ok(());
    }
    let (stdin, mut stderr) = (io::stdin(), io::stderr());
    if !stdin.is_terminal() || !stderr.is_terminal() {
        let message = format!("{what}: not confirmed");
        return Err(Problem::new(Kind::NotConfirmed, message)
            .hint("pass `--yes`, or look first with `--dry-run`"));
    }
    let _ = write!(stderr, "{what}? [y/N] ");
    let _ = stderr.flush();
    let mut answer = String::new();
    let read = stdin.lock().read_line(&mut answer);
    if read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes") {
        Ok(())
    } else {
        Err(Problem::new(Kind::NotConfirmed, "nothing was deleted"))
    }
}
