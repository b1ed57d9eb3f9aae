//! The stage of a spawn.

use serde::{Deserialize, Serialize};

/// The stage of a spawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "stage")]
pub enum SpawnStage {
    /// The sandbox is being made.
    CreatingSandbox,
    /// The agent works.
    AgentWorking {
        /// How often in a row its model was away before.
        #[serde(default)]
        outages: u32,
    },
    /// The model is away; a timer starts the agent again.
    WaitingForModel {
        /// The outage, in one line.
        why: String,
        /// How often in a row that happened.
        outages: u32,
    },
    /// The run's share of the budget is used up; the parent can grant more.
    WaitingForBudget {
        /// The limit, as text.
        why: String,
    },
    /// Changes that the agent left uncommitted are being committed.
    CommittingWork,
    /// The branch is being pushed.
    Pushing,
    /// The pull request is being opened.
    OpeningPullRequest,
}

impl SpawnStage {
    /// The limit that the run waits at.
    pub(super) fn limit(&self) -> Option<&str> {
        match self {
            SpawnStage::WaitingForBudget { why } => Some(why),
            SpawnStage::CreatingSandbox
            | SpawnStage::AgentWorking { .. }
            | SpawnStage::WaitingForModel { .. }
            | SpawnStage::CommittingWork
            | SpawnStage::Pushing
            | SpawnStage::OpeningPullRequest => None,
        }
    }

    /// Why the run waits before its agent is started again.
    pub fn hold(&self) -> Option<&str> {
        match self {
            SpawnStage::WaitingForModel { why, .. } => Some(why),
            SpawnStage::CreatingSandbox
            | SpawnStage::AgentWorking { .. }
            | SpawnStage::WaitingForBudget { .. }
            | SpawnStage::CommittingWork
            | SpawnStage::Pushing
            | SpawnStage::OpeningPullRequest => None,
        }
    }

    /// How often in a row the model was away.
    pub(in crate::run) fn outages(&self) -> u32 {
        match self {
            SpawnStage::AgentWorking { outages } | SpawnStage::WaitingForModel { outages, .. } => {
                *outages
            }
            SpawnStage::CreatingSandbox
            | SpawnStage::WaitingForBudget { .. }
            | SpawnStage::CommittingWork
            | SpawnStage::Pushing
            | SpawnStage::OpeningPullRequest => 0,
        }
    }
}
