//! Tells an agent where the work of an earlier, interrupted attempt is.

use super::super::model::Run;
use crate::ids::CommitSha;
use std::fmt::Write;

/// Where the work of the earlier attempt is; empty for the first attempt.
pub(super) fn earlier_attempt(run: &Run, base: &CommitSha) -> String {
    let Some(resumption) = &run.resumption else {
        return String::new();
    };
    let is_follow_up = resumption.follows.is_some();
    let mut text = String::from("\n\n");
    if is_follow_up {
        let _ = write!(
            text,
            "The earlier work is on this branch: `git log {base}..HEAD` lists its commits."
        );
    } else {
        text.push_str("An earlier attempt at this was stopped before it was done.");
    }
    if !is_follow_up && !run.work.commits.is_empty() {
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
    text.push_str(if is_follow_up {
        " Build on it.\n"
    } else {
        " Take from it what is right, and finish the task.\n"
    });
    text
}

/// Whether the agent that was given more to do added no commit.
pub(super) fn added_nothing(run: &Run) -> bool {
    let follows = run.resumption.as_ref().and_then(|one| one.follows.as_ref());
    follows.is_some() && follows == run.work.head_sha.as_ref()
}
