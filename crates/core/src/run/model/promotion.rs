//! The verification result that a merge depends on.

use crate::ids::{CommitSha, RunId, TreeSha};
use crate::verify::Overall;
use serde::{Deserialize, Serialize};

/// A verdict in short; the report is stored under its own run id.
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
    /// The tree that was verified: the commit merged into its base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_sha: Option<TreeSha>,
    /// Why it did not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
