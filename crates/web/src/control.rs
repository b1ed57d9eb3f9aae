//! Actions that a person can request on a page. The pages perform nothing themselves.

use drive_core::Problem;
use drive_core::agent::Budget;
use drive_core::ids::{CommitSha, PrNumber, RunId, TaskId};

/// Performs the actions that a person requests.
pub trait Control: Send + Sync {
    /// Delivers the action to the process that can perform it. If there is none, the problem names a command.
    fn act(&self, action: Action) -> Result<Acted, Problem>;
}

/// The result of a delivered action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acted {
    /// The process that performs it; `None` if it is done already.
    pub pid: Option<u32>,
}

/// An action that a person requested.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// An action on a run.
    Run {
        /// The run.
        id: RunId,
        /// The action.
        act: RunAct,
    },
    /// An action on a pull request of the local forge.
    Pull {
        /// The pull request's number.
        number: PrNumber,
        /// The action.
        act: PullAct,
    },
}

/// Actions on a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunAct {
    /// Approve its plan at the commit that the page showed.
    Approve {
        /// The commit.
        head: CommitSha,
    },
    /// Comment on its work.
    Comment {
        /// The text.
        text: String,
    },
    /// Read the pull request now.
    Poll,
    /// Stop it and save its work.
    Stop,
    /// Raise its limits.
    Extend {
        /// Tokens and money to add.
        budget: Budget,
        /// Fixer rounds to add.
        rounds: u32,
    },
    /// Build a blocked task again.
    Retry {
        /// The task.
        task: TaskId,
    },
    /// Leave a task out.
    Skip {
        /// The task.
        task: TaskId,
    },
    /// Start no more tasks.
    Pause,
    /// Start tasks again.
    Unpause,
    /// End it: save its work, remove its sandbox.
    Cleanup,
}

/// Actions on a pull request of the local forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PullAct {
    /// Comment on it.
    Comment {
        /// The text.
        text: String,
    },
    /// Approve it at the commit that the page showed.
    Approve {
        /// The commit.
        head: CommitSha,
    },
    /// Close it.
    Close,
}
