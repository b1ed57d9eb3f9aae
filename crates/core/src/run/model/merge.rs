//! A merge of another branch into the run's branch.

use super::effect::{BranchAt, MergeWhen};
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
    /// Whether a merge without conflicts is made as well.
    pub when: MergeWhen,
    /// The commit of ours that the other branch had last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
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
    /// The agent was interrupted: the sandbox goes back, and the merge is begun anew.
    Restarting,
    /// The sandbox goes back to where it was before the merge.
    RollingBack {
        /// Why.
        problem: Problem,
    },
}
