//! Ports that only the verifier needs.

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
    /// The full id of the commit that a revision names. An unknown revision is a usage problem.
    fn resolve(&self, repo: &Path, revision: &str) -> Result<CommitSha, Problem>;

    /// Merges `head` into `base` without changing any branch or checkout. The same commits give the
    /// same merge.
    fn merge(&self, repo: &Path, base: &CommitSha, head: &CommitSha) -> Result<Merging, Problem>;

    /// The newest common commit of two histories; `None` if they share none.
    fn fork_point(
        &self,
        repo: &Path,
        base: &CommitSha,
        head: &CommitSha,
    ) -> Result<Option<CommitSha>, Problem>;

    /// The paths that differ between two commits: added, modified and deleted ones; a rename counts
    /// with both names.
    fn changed_paths(
        &self,
        repo: &Path,
        from: &CommitSha,
        to: &CommitSha,
    ) -> Result<Vec<String>, Problem>;
}

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merging {
    /// A merge commit with this tree; the head itself if it contains the base.
    Clean {
        /// The commit.
        commit: CommitSha,
        /// The tree of the merged commit.
        tree: TreeSha,
    },
    /// Both sides changed these files.
    Conflicts(Vec<String>),
}

/// A separate worktree at one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// Its id, for [`Workspaces::close`].
    pub id: String,
    /// The repository it was created from.
    pub repo: PathBuf,
    /// The path of the tree.
    pub path: PathBuf,
    /// A private folder for temporary files and the stages' home.
    pub tmp: PathBuf,
    /// The complete environment of a stage.
    pub env: Vec<(OsString, OsString)>,
    /// Variables that routes pass from the user's environment; a stage gets those that its route names.
    pub passed: Vec<(OsString, OsString)>,
    /// Paths inside the tree that no stage may write.
    pub protected: Vec<PathBuf>,
    /// Paths that no stage may read, even inside a visible folder.
    pub hidden: Vec<PathBuf>,
    /// Paths outside the tree that a stage may read: toolchains and the repository.
    pub shown: Vec<PathBuf>,
    /// Caches of package managers, shared by all stages.
    pub layered: Vec<LayeredFolder>,
    /// How stages reach the package registries, if they may.
    pub registries: Reach,
    /// The files of the commit.
    pub files: Arc<[String]>,
    /// Notes for the report.
    pub notes: Vec<String>,
}

/// Creates and removes ephemeral workspaces.
pub trait Workspaces: Send + Sync {
    /// Creates a workspace at exactly this commit, which is pinned so that no clean-up of the
    /// repository removes it.
    fn open(
        &self,
        run: &RunId,
        repo: &Path,
        commit: &CommitSha,
        rules: &Rules,
    ) -> Result<Workspace, Problem>;

    /// Everything besides the tree and the rules that affects the stages, as one text: tools,
    /// variables, seeded folders. `None` if it cannot be determined.
    fn surroundings(&self, repo: &Path, rules: &Rules) -> Option<String>;

    /// Tracked files that differ from the commit. The files themselves are compared, without
    /// trusting the index.
    fn altered(&self, workspace: &Workspace) -> Result<Vec<String>, Problem>;

    /// A folder inside the workspace, with links resolved; a problem if it is no folder or lies outside.
    fn folder(&self, workspace: &Workspace, dir: &str) -> Result<PathBuf, Problem>;

    /// The program of a stage, with links resolved. A name is looked up in `PATH`; a path must be
    /// inside the workspace or in a folder of `PATH`.
    fn program(&self, workspace: &Workspace, dir: &Path, program: &str) -> Result<String, Problem>;

    /// Removes a workspace with its contents, with retries. Does nothing if it is gone.
    fn close(&self, workspace: &Workspace) -> Result<(), Problem>;

    /// Removes the remains of verifications that died. Returns notes for the user.
    fn sweep(&self) -> Result<Vec<String>, Problem>;
}

/// Detects the projects in a workspace.
pub trait Projects: Send + Sync {
    /// Detects the projects. Tools that read the candidate's files run in `stage_env`, like every stage.
    fn read(&self, stage_env: &StageEnv, cancel: &CancelToken) -> Result<Vec<Project>, Problem>;
}

/// The permission to run one verification; released when dropped.
pub struct Slot(#[expect(dead_code, reason = "held for its drop")] Box<dyn Send>);

impl Slot {
    /// A slot that is released when `held` is dropped.
    pub fn new(held: impl Send + 'static) -> Self {
        Self(Box::new(held))
    }
}

/// The machine's limit on simultaneous verifications.
pub trait Slots: Send + Sync {
    /// Waits for a free slot, until the deadline or until cancelled.
    fn acquire(
        &self,
        at_most: u32,
        deadline: Timestamp,
        cancel: &CancelToken,
    ) -> Result<Slot, Problem>;

    /// Takes a slot if one is free now.
    fn spare(&self, at_most: u32) -> Option<Slot>;
}

/// The store of reports.
pub trait Reports: Send + Sync {
    /// Stores a report, replacing an earlier one of the same run.
    fn save(&self, report: &Verification) -> Result<(), Problem>;

    /// The report stored under a key, if it can be read.
    fn known(&self, key: &VerdictKey) -> Option<Verification>;

    /// Stores the report of a run under a key.
    fn remember(&self, key: &VerdictKey, run: &RunId) -> Result<(), Problem>;

    /// Removes the report under a key.
    fn forget(&self, key: &VerdictKey) -> Result<(), Problem>;
}

/// Read access to stored reports.
pub trait KeptReports: Send + Sync {
    /// The newest reports, newest first.
    fn newest(&self, most: usize) -> Vec<Verification>;

    /// The report of a run; `None` if there is none or it cannot be read.
    fn load(&self, run: &RunId) -> Option<Verification>;
}
