//! `drive.sandbox/1`.

use super::kept::KeptWorkDocument;
use super::value::{Moment, Sha, path_text};
use drive_core::ids::BranchName;
use drive_core::sandbox::Sandbox;
use drive_core::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// The answers of `drive sandbox`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", untagged)]
pub(crate) enum SandboxDocument {
    /// `drive sandbox list`, oldest first.
    List { sandboxes: Vec<SandboxEntry> },
    /// `drive sandbox open`.
    Opened { opened: SandboxEntry },
    /// `drive sandbox remove`.
    Removed {
        removed: SandboxEntry,
        /// The saved work; null if there was none.
        kept: Option<KeptWorkDocument>,
    },
    /// `drive sandbox prune`, the largest first.
    #[serde(rename_all = "camelCase")]
    Pruned {
        pruned: Vec<PrunedSandbox>,
        /// Whether nothing was removed.
        dry_run: bool,
        bytes: u64,
    },
}

/// A sandbox that was removed, or would be.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PrunedSandbox {
    id: String,
    run_id: String,
    path: String,
    /// When its run ended.
    ended_at: Moment,
    bytes: u64,
    /// The ref of the work that was saved; null where there was none, and where nothing was removed.
    kept: Option<String>,
}

impl PrunedSandbox {
    pub(crate) fn new(
        sandbox: &Sandbox,
        ended_at: Timestamp,
        bytes: u64,
        kept: Option<String>,
    ) -> Self {
        Self {
            id: sandbox.id.to_string(),
            run_id: sandbox.run.to_string(),
            path: path_text(&sandbox.path),
            ended_at: ended_at.into(),
            bytes,
            kept,
        }
    }
}

/// One sandbox.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SandboxEntry {
    id: String,
    run_id: String,
    path: String,
    /// The git folder of its repository.
    git_dir: String,
    base_sha: Sha,
    /// The branch created in it.
    branch: Option<BranchName>,
    created_at: Moment,
    /// Whether its run has not ended.
    in_use: bool,
}

impl SandboxEntry {
    pub(crate) fn new(sandbox: &Sandbox, in_use: bool) -> Self {
        Self {
            id: sandbox.id.to_string(),
            run_id: sandbox.run.to_string(),
            path: path_text(&sandbox.path),
            git_dir: path_text(&sandbox.git_dir),
            base_sha: Sha::new(&sandbox.base_sha),
            branch: sandbox.branch.clone(),
            created_at: sandbox.created_at.into(),
            in_use,
        }
    }
}
