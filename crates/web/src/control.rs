//! Actions that a person can request on a page. The pages perform nothing themselves.

use drive_core::Problem;
use drive_core::agent::Budget;
use drive_core::ids::{CommitSha, PrNumber, RunId, TaskId};

/// Carries out what a person asked for.
pub trait Control: Send + Sync {
    /// Delivers it to whoever can act. A problem says what to run where nobody can.
    fn act(&self, action: Action) -> Result<Acted, Problem>;
}

/// Something was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acted {
    /// The process that acts on it; `None` where it is done already.
    pub pid: Option<u32>,
}

/// What a person asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Something about a run.
    Run {
        /// The run.
        id: RunId,
        /// What to do with it.
        act: RunAct,
    },
    /// Something about a pull request of the local forge.
    Pull {
        /// The pull request's number.
        number: PrNumber,
        /// What to do with it.
        act: PullAct,
    },
}

/// What can be asked of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunAct {
    /// Approve its plan, at the commit that the page showed.
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

/// What can be asked of a pull request of the local forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PullAct {
    /// Comment on it.
    Comment {
        /// The text.
        text: String,
    },
    /// Approve it, at the commit that the page showed.
    Approve {
        /// The commit.
        head: CommitSha,
    },
    /// Close it.
    Close,
}
