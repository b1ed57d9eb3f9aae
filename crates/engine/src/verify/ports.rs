//! Ports of the verifier, besides processes and the clock.

use super::StageEnv;
use crate::CancelToken;
use crate::ports::LayeredFolder;
use drive_core::Problem;
use drive_core::ids::{CommitSha, RunId, TreeSha};
use drive_core::network::Reach;
use drive_core::time::Timestamp;
use drive_core::verify::detect::Project;
use drive_core::verify::{Rules, VerdictKey, Verification};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Facts about commits.
pub trait Candidates: Send + Sync {
    /// The full hash of the commit a revision names. A revision that names none is a usage problem.
    fn resolve(&self, repo: &Path, revision: &str) -> Result<CommitSha, Problem>;

    /// Merges `head` into `base`, in no branch and no checkout. The same commits give the same commit.
    fn merge(&self, repo: &Path, base: &CommitSha, head: &CommitSha) -> Result<Merging, Problem>;

    /// The commit from which two histories part; `None` where they share none.
    fn fork_point(
        &self,
        repo: &Path,
        base: &CommitSha,
        head: &CommitSha,
    ) -> Result<Option<CommitSha>, Problem>;

    /// The paths that differ between two commits: added, modified and deleted ones; a rename is both
    /// its names.
    fn changed_paths(
        &self,
        repo: &Path,
        from: &CommitSha,
        to: &CommitSha,
    ) -> Result<Vec<String>, Problem>;
}

/// What a merge gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merging {
    /// A commit with this tree; the head itself where it contains the base.
    Clean {
        /// The commit.
        commit: CommitSha,
        /// The tree of the merged commit.
        tree: TreeSha,
    },
    /// Both changed these files.
    Conflicts(Vec<String>),
}

/// A separate worktree at one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// Its name, for [`Workspaces::close`].
    pub id: String,
    /// The repository it was made of.
    pub repo: PathBuf,
    /// The tree.
    pub path: PathBuf,
    /// A private folder for temporary files and the stages' home.
    pub tmp: PathBuf,
    /// The whole environment of a stage.
    pub env: Vec<(OsString, OsString)>,
    /// Variables of the user's environment that routes pass; a stage gets those that its route names.
    pub passed: Vec<(OsString, OsString)>,
    /// Paths inside the tree that no stage may write.
    pub protected: Vec<PathBuf>,
    /// Paths that no stage may read, whatever folder that is shown holds them.
    pub hidden: Vec<PathBuf>,
    /// Paths outside the tree that a stage may read: tool chains and the repository.
    pub shown: Vec<PathBuf>,
    /// Caches of package managers, for all stages together.
    pub layered: Vec<LayeredFolder>,
    /// The package registries, as a stage reaches them that may.
    pub registries: Reach,
    /// The files of the commit.
    pub files: Arc<[String]>,
    /// Notes for the report.
    pub notes: Vec<String>,
}

/// Ephemeral workspaces.
pub trait Workspaces: Send + Sync {
    /// Makes one at exactly that commit, pinned so that no clean-up of the repository drops it.
    fn open(
        &self,
        run: &RunId,
        repo: &Path,
        commit: &CommitSha,
        rules: &Rules,
    ) -> Result<Workspace, Problem>;

    /// Everything besides tree and rules that decides how stages end, as one text: tools, variables,
    /// seeded folders. `None` where it cannot be told.
    fn surroundings(&self, repo: &Path, rules: &Rules) -> Option<String>;

    /// Tracked files that differ from the commit. Compares the files themselves and does not trust
    /// the index.
    fn altered(&self, workspace: &Workspace) -> Result<Vec<String>, Problem>;

    /// A folder inside the workspace, links followed; a problem when it is none or lies outside.
    fn folder(&self, workspace: &Workspace, dir: &str) -> Result<PathBuf, Problem>;

    /// The program a stage names, links followed: a name stays a name for `PATH`, a path must lie
    /// inside the workspace or in a folder of `PATH`.
    fn program(&self, workspace: &Workspace, dir: &Path, program: &str) -> Result<String, Problem>;

    /// Removes it, whatever is in it. Retries; fine when it is gone.
    fn close(&self, workspace: &Workspace) -> Result<(), Problem>;

    /// Removes what verifications that died left behind; remarks for the user.
    fn sweep(&self) -> Result<Vec<String>, Problem>;
}

/// What kinds of project a workspace holds.
pub trait Projects: Send + Sync {
    /// Looks. Tools that read the candidate's files run inside `stage_env`, like every stage.
    fn read(&self, stage_env: &StageEnv, cancel: &CancelToken) -> Result<Vec<Project>, Problem>;
}

/// The right to run one verification; given back when dropped.
pub struct Slot(#[expect(dead_code, reason = "held for its drop")] Box<dyn Send>);

impl Slot {
    /// A slot that is free again when `held` is dropped.
    pub fn new(held: impl Send + 'static) -> Self {
        Self(Box::new(held))
    }
}

/// The machine's limit on verifications at once.
pub trait Slots: Send + Sync {
    /// Waits for a free slot, until the deadline or until cancelled.
    fn acquire(
        &self,
        at_most: u32,
        deadline: Timestamp,
        cancel: &CancelToken,
    ) -> Result<Slot, Problem>;

    /// Takes a slot that is free now; `None` where there is none.
    fn spare(&self, at_most: u32) -> Option<Slot>;
}

/// The store of reports.
pub trait Reports: Send + Sync {
    /// Keeps one; a report of the same run is replaced.
    fn save(&self, report: &Verification) -> Result<(), Problem>;

    /// The report that was remembered under a key, where it can be read.
    fn known(&self, key: &VerdictKey) -> Option<Verification>;

    /// Remembers the report of a run under a key.
    fn remember(&self, key: &VerdictKey, run: &RunId) -> Result<(), Problem>;

    /// Forgets what was remembered under a key.
    fn forget(&self, key: &VerdictKey) -> Result<(), Problem>;
}

/// Reports that were kept.
pub trait KeptReports: Send + Sync {
    /// The newest, newest first.
    fn newest(&self, most: usize) -> Vec<Verification>;

    /// The report of a run; `None` where there is none that can be read whole.
    fn load(&self, run: &RunId) -> Option<Verification>;
}
