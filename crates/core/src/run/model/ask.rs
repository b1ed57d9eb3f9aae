//! Requests that people send to a phase from any terminal.

use crate::agent::Budget;
use crate::ids::{CommitSha, TaskId};
use serde::{Deserialize, Serialize};

/// A request that a person sends to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "ask")]
pub enum Ask {
    /// Poll the pull request now, and end a pause.
    Poll,
    /// Act on this comment.
    Comment {
        /// The message's id, unique within the run.
        id: String,
        /// The name of the person who wrote it.
        author: String,
        /// The message as written.
        text: String,
    },
    /// The plan is approved.
    Approve {
        /// The login of the person who approved.
        by: String,
        /// The approved commit.
        head: CommitSha,
    },
    /// Raise limits, and continue if one was reached.
    Extend {
        /// Tokens and money on top of the budget.
        budget: Budget,
        /// Fixer rounds to add to the limit.
        rounds: u32,
    },
    /// Fix the reason why a commit cannot land.
    RetryTask {
        /// The task.
        task: TaskId,
    },
    /// Leave a task of a cruise out.
    SkipTask {
        /// The task.
        task: TaskId,
    },
    /// Mend what keeps a commit from landing.
    Mend {
        /// The commit.
        head: CommitSha,
        /// The reason why it cannot land.
        why: String,
    },
    /// This commit has landed: end unless something new came in.
    Landed {
        /// The commit.
        head: CommitSha,
    },
    /// There are objections against landing this commit: read the pull request, and offer it again
    /// when there are none.
    Hear {
        /// The commit.
        head: CommitSha,
    },
    /// End as soon as no work is left.
    Conclude,
    /// Start no more tasks of a cruise.
    Pause,
    /// Start tasks again.
    Unpause,
    /// End the run: save its work, remove its sandbox.
    Cleanup,
}

/// A comment from the command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Injected {
    /// The message's id, unique within the run.
    pub id: String,
    /// The name of the person who wrote it.
    pub author: String,
    /// The message as written.
    pub text: String,
    /// Whether it is being posted on the pull request.
    pub posting: bool,
}
