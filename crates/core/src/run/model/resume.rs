//! A run that continues after it was stopped or killed.

use crate::ids::CommitSha;
use serde::{Deserialize, Serialize};

/// A run that continued after it had ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resumption {
    /// How often the run continued.
    pub count: u32,
    /// The step before its flow continues; `None` afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<ResumeStep>,
    /// Where the uncommitted work of the previous attempt was saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<CommitSha>,
    /// The tip of its work when a person gave it more to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<CommitSha>,
}

/// A step before the flow continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ResumeStep {
    /// Processes that were still alive when the run stopped are being ended.
    EndingProcesses,
    /// The work in the leftover sandbox is being saved.
    RemovingSandbox,
    /// A sandbox is being created on the run's branch.
    CreatingSandbox,
    /// The commits of the branch are being read.
    ReadingBranch,
    /// A comment on the pull request says that the run continues.
    Posting,
}
