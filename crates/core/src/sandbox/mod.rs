//! A sandbox: a folder with its own repository, created for one run.

mod bring;
mod kept;
mod ownership;

pub use bring::BringPattern;
pub use kept::{KEPT_PREFIX, KeptAbout, KeptWork, RUN_TRAILER};
pub use ownership::{
    Asker, Evidence, OwnerState, Probe, RecordFact, Refusal, Stage, Verdict, may_remove,
};

use crate::ids::{BranchName, CommitSha, RunId, SandboxId};
use crate::problem::{Kind, Problem};
use crate::process::LayerName;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// When a sandbox is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Lifetime {
    /// With its run: at its end, on panic, on a signal, or on an early return.
    Transient,
    /// Only on command, or when its phase ends.
    Persistent,
    /// With its run, without saving: it contains nothing worth saving.
    Disposable,
}

/// A sandbox to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxSpec {
    /// The sandbox's id, which is also the name of its folder.
    pub id: SandboxId,
    /// The run it belongs to.
    pub run: RunId,
    /// When the sandbox is removed.
    pub lifetime: Lifetime,
    /// The repository, as the caller's checkout or git directory.
    #[serde(with = "crate::serde_path")]
    pub repo: PathBuf,
    /// The commit to check out.
    pub base: CommitSha,
    /// The branch to create in it; `None` for a detached head.
    pub branch: Option<BranchName>,
    /// Whether the branch exists already. Then the sandbox is at its tip, and `base` is only used
    /// to compare the work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_existing_branch: bool,
    /// Whether the user's branch stays in place until the run moves it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// Untracked files to copy into the sandbox.
    pub copy: Vec<String>,
    /// Caches to clone or copy.
    pub seed: Vec<String>,
}

/// A sandbox that exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sandbox {
    /// The id.
    pub id: SandboxId,
    /// The run it belongs to.
    pub run: RunId,
    /// When the sandbox is removed.
    pub lifetime: Lifetime,
    /// Its folder. An agent can write to the repository in `.git`.
    #[serde(with = "crate::serde_path")]
    pub path: PathBuf,
    /// The git directory of the user's repository, whose objects the sandbox borrows and which
    /// receives its commits.
    #[serde(with = "crate::serde_path")]
    pub git_dir: PathBuf,
    /// The full id of the commit it started from.
    pub base_sha: CommitSha,
    /// The branch created in it. An agent may have switched to another branch.
    pub branch: Option<BranchName>,
    /// Whether the user's branch stays in place until the run moves it, so that nobody sees an
    /// unverified commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// When it was created.
    pub created_at: Timestamp,
    /// Notes for the user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<SandboxNote>,
    /// Untracked files that were copied in. They are the user's and not the run's work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub brought: Vec<Brought>,
}

/// An untracked file or folder that was copied into a sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Brought {
    /// Relative to the sandbox.
    #[serde(with = "crate::serde_path")]
    pub path: PathBuf,
    /// Size in bytes and modification time in nanoseconds of a file, to detect later changes;
    /// `None` for folders that git ignores. In other folders each file is listed.
    pub stamp: Option<(u64, i64)>,
}

/// Something that works differently in this sandbox, for a one-line note to the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "note")]
pub enum SandboxNote {
    /// The history ends at the depth of the clone.
    ShallowHistory,
    /// Submodules were not fetched.
    SubmodulesNotFetched,
    /// Content filters are foreign code and do not run, so pointer files stay pointers.
    FiltersNotRun {
        /// The filters, such as `lfs`.
        filters: Vec<String>,
    },
    /// Git in the sandbox runs without some layers of isolation.
    GitNotConfined {
        /// The missing layers.
        layers: Vec<LayerName>,
    },
    /// A pattern of `copy` or `seed` matched nothing.
    NothingMatched {
        /// The pattern.
        pattern: String,
    },
    /// A file of `copy` or `seed` was left out.
    NotBrought {
        /// The path, lossily as text.
        path: String,
        /// The reason.
        reason: String,
    },
}

impl fmt::Display for SandboxNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ShallowHistory => write!(
                f,
                "the repository is a shallow clone: history and merge bases before its depth are unknown"
            ),
            Self::SubmodulesNotFetched => write!(
                f,
                "submodules are not fetched: their folders are empty until `git submodule update --init` runs in the sandbox"
            ),
            Self::FiltersNotRun { filters } => write!(
                f,
                "content filters do not run ({}): files they store elsewhere stay pointers",
                filters.join(", ")
            ),
            Self::GitNotConfined { layers } => {
                let names: Vec<&str> = layers.iter().map(|layer| layer.as_str()).collect();
                write!(
                    f,
                    "git works in the sandbox without full isolation (missing: {}); `drive doctor` shows what that means",
                    names.join(", ")
                )
            }
            Self::NothingMatched { pattern } => {
                write!(f, "`{pattern}` matched no files to copy")
            }
            Self::NotBrought { path, reason } => {
                write!(f, "`{path}` was not copied: {reason}")
            }
        }
    }
}

/// A git operation that was not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UnfinishedOperation")]
pub enum InProgress {
    /// A rebase.
    Rebase,
    /// A merge.
    Merge,
    /// A cherry-pick.
    CherryPick,
    /// A revert.
    Revert,
    /// A series of patches.
    ApplyPatches,
}

impl InProgress {
    /// All values.
    pub const ALL: [Self; 5] = [
        Self::Rebase,
        Self::Merge,
        Self::CherryPick,
        Self::Revert,
        Self::ApplyPatches,
    ];

    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rebase => "rebase",
            Self::Merge => "merge",
            Self::CherryPick => "cherryPick",
            Self::Revert => "revert",
            Self::ApplyPatches => "applyPatches",
        }
    }

    /// Finds a value by its name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// Checks that an id is a plain folder name and a plain part of a ref, so that it can never lead
/// outside of the folder it is joined to.
pub fn check_folder_name(id: &SandboxId) -> Result<(), Problem> {
    let text = id.as_str();
    let plain = text
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'+'));
    if plain && BranchName::parse(text).is_ok() && text.len() <= 100 {
        return Ok(());
    }
    Err(Problem::new(
        Kind::BadSandboxName,
        format!("invalid sandbox name `{}`", text.escape_debug()),
    )
    .hint("use at most 100 letters, digits, `-`, `_`, `.` and `+`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_become_folders() {
        for good in [
            "r20261115-0942-k3f9a",
            "a.b_c-1",
            "r20261115-0942-k3f9a+login",
        ] {
            assert_eq!(check_folder_name(&SandboxId::new(good)), Ok(()));
        }
        for bad in ["", "..", ".trash", "a/b", "a b", "-x", "x.lock", "é"] {
            let problem = check_folder_name(&SandboxId::new(bad)).unwrap_err();
            assert_eq!(problem.kind, Kind::BadSandboxName, "{bad}");
        }
    }
}
