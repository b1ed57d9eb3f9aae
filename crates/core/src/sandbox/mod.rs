//! A sandbox: one git worktree that belongs to one run.

use crate::ids::{RunId, SandboxId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// When a sandbox goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Lifetime {
    /// With its run: at the end, on panic, on a signal, on early return.
    Transient,
    /// Only on command, or when its phase ends.
    Persistent,
}

/// What to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxSpec {
    /// Its name; also the name of its folder.
    pub id: SandboxId,
    /// Whose it is.
    pub run: RunId,
    /// When it goes.
    pub lifetime: Lifetime,
    /// The repository, as the caller's checkout or git folder.
    pub repo: PathBuf,
    /// The commit it starts at.
    pub base: String,
    /// The branch to create in it; `None` for a detached head.
    pub branch: Option<String>,
    /// Untracked files to bring along.
    pub copy: Vec<String>,
    /// Caches to clone or link.
    pub seed: Vec<String>,
}

/// A sandbox that exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// Its name.
    pub id: SandboxId,
    /// Whose it is.
    pub run: RunId,
    /// When it goes.
    pub lifetime: Lifetime,
    /// The worktree.
    pub path: PathBuf,
    /// The repository's common git folder.
    pub git_dir: PathBuf,
    /// The full hash it started at.
    pub base_sha: String,
    /// The branch checked out in it.
    pub branch: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Work saved from a sandbox before it went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptWork {
    /// The ref, under `refs/drive/kept/`.
    pub reference: String,
    /// The commit it points at.
    pub sha: String,
    /// Whose work it is.
    pub run: RunId,
    /// When it was saved.
    pub kept_at: Timestamp,
    /// Files that were dirty or untracked.
    pub dirty_files: u32,
    /// Commits that no remote and no other branch had.
    pub unpushed_commits: u32,
}
