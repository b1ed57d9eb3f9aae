//! How far a spawn has come.

use serde::{Deserialize, Serialize};

/// How far a spawn has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "stage")]
pub enum SpawnStage {
    /// The sandbox is being made.
    CreatingSandbox,
    /// The agent works.
    AgentWorking,
    /// What it left is being committed.
    CommittingWork,
    /// The branch is being pushed.
    Pushing,
    /// The pull request is being opened.
    OpeningPullRequest,
}
