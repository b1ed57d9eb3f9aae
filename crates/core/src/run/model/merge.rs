//! A merge of another branch into the run's branch.

use crate::Problem;
use crate::ids::{BranchName, CommitSha, RemoteName, SandboxId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A branch of this repository or of a remote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchAt {
    /// The remote; `None` for this repository.
    pub remote: Option<RemoteName>,
    /// The branch's name there.
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

/// When to merge another branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MergeWhen {
    /// Whenever it has new commits.
    Always,
    /// Only if there are conflicts.
    Conflicting,
}

/// One merge of another branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Merge {
    /// The sandbox into whose branch it is merged.
    pub sandbox: SandboxId,
    /// The merged branch.
    pub from: BranchAt,
    /// Whether to merge when there is no conflict.
    pub when: MergeWhen,
    /// The commit that this run pushed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<CommitSha>,
    /// The base branch of the pull request.
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
    /// Git is merging.
    Merging,
    /// An agent resolves the conflicts.
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
    /// The agent was interrupted, its model is away, or the budget is used up: the sandbox is
    /// reset, and the merge starts again.
    Restarting,
    /// A comment is posted that says that the budget is used up.
    PostingLimit,
    /// The merge starts again when the pause of the phase ends.
    Held,
    /// The sandbox is being reset to its state before the merge.
    RollingBack {
        /// The reason.
        problem: Problem,
    },
}
