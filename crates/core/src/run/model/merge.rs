//! A merge of another branch into the run's branch.

use crate::Problem;
use crate::ids::{BranchName, CommitSha, RemoteName, SandboxId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A branch, here or elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchAt {
    /// On which remote; `None` for this very repository.
    pub remote: Option<RemoteName>,
    /// Its name there.
    pub branch: BranchName,
}

impl fmt::Display for BranchAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.remote {
            Some(remote) => write!(f, "{remote}/{}", self.branch),
            None => f.write_str(&self.branch),
        }
    }
}

/// When another branch is merged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MergeWhen {
    /// Whenever it holds something new.
    Always,
    /// Only if the two conflict.
    Conflicting,
}

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
    /// The commit that this run pushed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<CommitSha>,
    /// The branch that the pull request goes to.
    pub base: Option<BranchAt>,
    /// How often an agent was asked to resolve the conflicts.
    pub rounds: u32,
    /// The current step.
    pub step: MergeStep,
}

/// A step of a merge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "step")]
pub enum MergeStep {
    /// git merges.
    Merging,
    /// An agent resolves its conflicts.
    Resolving {
        /// The branch's tip before.
        ours: CommitSha,
        /// The commit that is merged in.
        theirs: CommitSha,
    },
    /// The agent's resolution is being checked and committed.
    Concluding {
        /// The branch's tip before.
        ours: CommitSha,
        /// The commit that is merged in.
        theirs: CommitSha,
    },
    /// The agent was interrupted, its model is away, or the budget is spent: the sandbox is reset, and
    /// the merge starts again.
    Restarting,
    /// A comment says that the budget is spent.
    PostingLimit,
    /// The merge is begun anew when the pause of the phase ends.
    Held,
    /// The sandbox goes back to where it was before the merge.
    RollingBack {
        /// The reason.
        problem: Problem,
    },
}
