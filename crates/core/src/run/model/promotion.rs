//! The verification result that a merge depends on.

use crate::ids::{CommitSha, RunId, TreeSha};
use crate::verify::Overall;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A summary of a verification. The full report is stored under its own run id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Judged {
    /// The run id of the report.
    pub run_id: RunId,
    /// The verdict.
    pub overall: Overall,
    /// The commit that was verified.
    pub head_sha: CommitSha,
    /// The base commit it was verified against.
    pub base_sha: CommitSha,
    /// The verified tree: the commit merged into its base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_sha: Option<TreeSha>,
    /// Why it did not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What a verification shows about the commit itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mark {
    /// It passed.
    Passed,
    /// The commit is broken.
    Failed,
    /// Nothing: the machine failed, the base failed, or a test is flaky.
    Unknown,
}

/// The verification of a commit of a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoundVerified {
    /// The verdict.
    pub judged: Judged,
    /// What the verification shows about the commit.
    pub mark: Mark,
    /// The stages that failed, each as `route/stage`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub failing: BTreeSet<String>,
    /// The stages that did not run, each as `route/stage`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub skipped: BTreeSet<String>,
    /// The report of the newest verification that did not pass, shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
}
