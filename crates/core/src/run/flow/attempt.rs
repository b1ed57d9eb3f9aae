//! Tells an agent where the work of an earlier, interrupted attempt is.

use super::super::model::Run;
use crate::ids::CommitSha;
use std::fmt::Write;

/// Where the work of the earlier attempt is; empty for the first attempt.
pub(super) fn earlier_attempt(run: &Run, base: &CommitSha) -> String {
    let Some(resumption) = &run.resumption else {
        return String::new();
    };
    let mut text = String::from("\n\nAn earlier attempt at this was stopped before it was done.");
    if !run.work.commits.is_empty() {
        let _ = write!(
            text,
            " Its commits are on this branch: `git log {base}..HEAD` lists them."
        );
    }
    if let Some(saved) = &resumption.saved {
        let _ = write!(
            text,
            " Its uncommitted work is saved in commit {saved}; `git show {saved}` shows it."
        );
    }
    text.push_str(" Take from it what is right, and finish the task.\n");
    text
}
