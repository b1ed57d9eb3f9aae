//! The stage of a spawn.

use serde::{Deserialize, Serialize};

/// The stage of a spawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "stage")]
pub enum SpawnStage {
    /// The sandbox is being made.
    CreatingSandbox,
    /// The agent works.
    AgentWorking,
    /// The share of the budget is used up; the parent gives more.
    WaitingForBudget {
        /// The limit, in words.
        why: String,
    },
    /// What it left is being committed.
    CommittingWork,
    /// The branch is being pushed.
    Pushing,
    /// The pull request is being opened.
    OpeningPullRequest,
}

impl SpawnStage {
    /// The limit that it waits at.
    pub(super) fn limit(&self) -> Option<&str> {
        match self {
            SpawnStage::WaitingForBudget { why } => Some(why),
            SpawnStage::CreatingSandbox
            | SpawnStage::AgentWorking
            | SpawnStage::CommittingWork
            | SpawnStage::Pushing
            | SpawnStage::OpeningPullRequest => None,
        }
    }
}
