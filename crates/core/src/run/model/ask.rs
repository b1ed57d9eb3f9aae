//! Requests of people to a phase, from any terminal.

use crate::agent::Budget;
use crate::ids::CommitSha;
use serde::{Deserialize, Serialize};

/// Something a person asks of a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "ask")]
pub enum Ask {
    /// Look at the pull request now, and go on where something waits.
    Poll,
    /// Act on this comment too.
    Comment {
        /// Its own name.
        id: String,
        /// Whose it is.
        author: String,
        /// What it says.
        text: String,
    },
    /// The plan is approved.
    Approve {
        /// By whom.
        by: String,
        /// The commit that was looked at.
        head: CommitSha,
    },
    /// Raise the limits of the run, and go on where one was reached.
    Extend {
        /// Tokens and money on top of the budget.
        budget: Budget,
        /// Fixer rounds to add to the limit.
        rounds: u32,
    },
    /// End it, keep the work, remove the sandbox.
    Cleanup,
}

/// A comment from the command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Injected {
    /// Its own name.
    pub id: String,
    /// Whose it is.
    pub author: String,
    /// What it says.
    pub text: String,
    /// Whether it is being posted.
    pub posting: bool,
}
