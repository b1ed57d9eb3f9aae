//! A merge of another branch into the run's branch.

use super::effect::BranchAt;
use crate::Problem;
use crate::ids::SandboxId;
use serde::{Deserialize, Serialize};

/// One merge of another branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Merge {
    /// Into the branch of this sandbox.
    pub sandbox: SandboxId,
    /// The branch that is merged.
    pub from: BranchAt,
    /// The branch that the pull request goes to.
    pub base: Option<BranchAt>,
    /// How often an agent was asked to resolve the conflicts.
    pub rounds: u32,
    /// How far it is.
    pub step: MergeStep,
}

/// How far a merge is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "step")]
pub enum MergeStep {
    /// git merges.
    Merging,
    /// An agent resolves its conflicts.
    Resolving {
        /// The branch's tip before.
        ours: String,
        /// The commit that is merged in.
        theirs: String,
    },
    /// The agent's resolution is being checked and committed.
    Concluding {
        /// The branch's tip before.
        ours: String,
        /// The commit that is merged in.
        theirs: String,
    },
    /// The sandbox goes back to where it was before the merge.
    RollingBack {
        /// Why.
        problem: Problem,
    },
}
