//! Publishing: pushes with the last published commit as lease, and texts for the first commit.

use super::super::model::{Effect, Run};
use super::kit::{Context, logs_hint};
use crate::ids::{BranchName, CommitSha, RemoteName};
use crate::problem::{Kind, Problem};

/// How many characters of a task a commit message and a pull request quote.
const LONGEST_REPEATED: usize = 8_000;

impl<S, T> Context<'_, S, T> {
    /// Pushes the branch. `published` is our commit that the remote had last: if a person deleted
    /// or rewrote the branch since, it is left as it is.
    pub(super) fn push(
        &mut self,
        remote: RemoteName,
        branch: BranchName,
        head_sha: CommitSha,
        published: Option<CommitSha>,
    ) {
        self.run.decide(Effect::Push {
            sandbox: self.run.sandbox_id(),
            remote,
            branch,
            head_sha,
            published,
        });
    }
}

/// The message of the first commit: its subject, and the task if that says more.
pub(super) fn commit_message(subject: &str, task: &str) -> String {
    if subject == task.trim() {
        subject.to_owned()
    } else {
        format!("{subject}\n\n{}", shortened(task))
    }
}

/// A task as it is quoted in messages: in full up to a limit, because forges refuse longer texts.
pub(super) fn shortened(task: &str) -> String {
    let task = task.trim();
    match task.char_indices().nth(LONGEST_REPEATED) {
        None => task.to_owned(),
        Some((end, _)) => format!("{}…\n\n(truncated)", task[..end].trim_end()),
    }
}

pub(super) fn branch_moved(branch: &BranchName) -> Problem {
    Problem::new(
        Kind::BranchMoved,
        format!("branch `{branch}` has commits of others that the run does not have"),
    )
    .hint(format!(
        "the run's work is on the local branch `{branch}` or in `drive kept list`; pass \
         `--branch` with another name next time"
    ))
}

pub(super) fn nothing_changed(run: &Run, agent: &str) -> Problem {
    Problem::new(
        Kind::NothingChanged,
        format!("agent `{agent}` changed nothing"),
    )
    .hint(format!(
        "read its log with {}, or make the task more concrete",
        logs_hint(run)
    ))
}
