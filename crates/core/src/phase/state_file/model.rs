//! The content of the state file, and how large it may be.

use crate::ids::{BranchName, CommentId, CommitSha, PrNumber, RunId};
use crate::review::Domain;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The version of the format written.
pub const STATE_FILE_VERSION: u64 = 1;
/// The longest file that is read, in bytes.
pub const LONGEST_STATE_FILE: usize = 1024 * 1024;
/// The most comments a file may name as pending.
pub const MOST_PENDING: usize = 10_000;

/// What a cruise is doing.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "CruisePhase")]
pub enum PhaseName {
    /// Writing the plan.
    Planning,
    /// Working on the plan's tasks.
    Building,
    /// Comparing the result with the plan.
    Validating,
}

impl PhaseName {
    /// The word that documents and listings use.
    pub fn as_str(self) -> &'static str {
        match self {
            PhaseName::Planning => "planning",
            PhaseName::Building => "building",
            PhaseName::Validating => "validating",
        }
    }
}

/// The content of the file. Fields may be added, never renamed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseState {
    /// The version of the format.
    pub version: u64,
    /// The run it belongs to.
    pub run_id: RunId,
    /// The task as the person wrote it.
    pub task: String,
    /// The folder that carries the file.
    #[serde(with = "crate::serde_path")]
    pub sandbox_path: PathBuf,
    /// The branch with the work.
    pub branch_name: BranchName,
    /// The branch the pull request goes to.
    pub base_branch: BranchName,
    /// The commit the work started from.
    pub base_sha: CommitSha,
    /// A link to the pull request, once it is open.
    pub pr_url: Option<String>,
    /// The pull request's number, once it is open.
    pub pr_number: Option<PrNumber>,
    /// What the cruise is doing.
    pub phase: PhaseName,
    /// What a reviewer looks at right now.
    pub current_review_domain: Option<Domain>,
    /// The time of the last activity.
    pub last_activity: Timestamp,
    /// The wait before the next look at the forge.
    pub backoff_interval_secs: u64,
    /// The comments that have no answer yet.
    pub pending_comment_ids: Vec<CommentId>,
    /// How many fixer rounds were completed.
    pub completed_rounds: u32,
}
