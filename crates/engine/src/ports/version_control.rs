use drive_core::Problem;
use drive_core::forge::inert::Said;
use drive_core::ids::{BranchName, CommitSha, RemoteName, RunId, TreeSha};
use drive_core::review::Change;
use drive_core::run::CommitSummary;
use drive_core::sandbox::{InProgress, Sandbox};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The repository in which history is read.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// A person's checkout, or a bare repository.
    Checkout(&'a Path),
    /// A sandbox. Its working tree is read inside it, isolated; history is read in the user's
    /// repository, which has every commit that was taken over from the sandbox.
    Sandbox(&'a Sandbox),
}

/// A repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// The git directory that all checkouts share.
    pub common_dir: PathBuf,
    /// The git directory of this checkout.
    pub git_dir: PathBuf,
    /// The root of the checkout; `None` for a bare repository.
    pub top: Option<PathBuf>,
    /// Whether the history ends at the depth of a clone.
    pub shallow: bool,
    /// The checked-out commit.
    pub head_sha: CommitSha,
    /// The checked-out branch; `None` on a detached head.
    pub branch: Option<BranchName>,
}

/// The current state of a working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkState {
    /// The checked-out commit.
    pub head_sha: CommitSha,
    /// The checked-out branch; `None` on a detached head.
    pub branch: Option<BranchName>,
    /// The unfinished git operation.
    pub in_progress: Option<InProgress>,
    /// The number of changed or untracked files.
    pub dirty_files: u32,
    /// The sandbox's own branch; `None` in the user's checkout, and if the sandbox has none.
    pub own: Option<OwnBranch>,
}

/// The branch of a sandbox, in its own repository and in the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnBranch {
    /// Its newest commit in the sandbox, which by then is also in the user's repository.
    pub tip: CommitSha,
    /// The branch of the same name in the user's repository.
    pub users: UsersBranch,
}

/// The user's branch that follows a sandbox's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsersBranch {
    /// It is at the same commit as the sandbox's.
    Follows,
    /// It has only commits of the sandbox, but a checkout shows it, so it was not moved.
    CheckedOut {
        /// The folder of the checkout.
        folder: String,
    },
    /// Another person committed to it, so it was not moved.
    Moved {
        /// Its newest commit.
        to: CommitSha,
    },
}

/// A commit of uncommitted changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftovers {
    /// The run, for a trailer.
    pub run: RunId,
    /// The message, without trailers.
    pub message: String,
}

/// A push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// The remote's name.
    pub remote: RemoteName,
    /// The branch on the remote.
    pub branch: BranchName,
    /// The commit to push.
    pub sha: CommitSha,
    /// The remote's last known tip; `None` if the branch did not exist.
    pub expected: Option<CommitSha>,
}

/// The contents of a working tree after its uncommitted changes were committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectedWork {
    /// The working tree: its commit is the newest one, and its changed files are those found before.
    pub state: WorkState,
    /// Its commits that the base does not contain, oldest first, at most 1,000.
    pub commits: Vec<CommitSummary>,
    /// Whether its history contains the base, given by its full id.
    pub builds_on_base: bool,
    /// Newly committed files that are larger than many forges accept.
    pub large: Vec<LargeFile>,
    /// Repositories inside it that are not submodules.
    pub nested: Vec<NestedRepository>,
}

/// A repository that an agent created or cloned in its worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NestedRepository {
    /// Its path in the working tree.
    pub path: PathBuf,
    /// Whether its files were committed. A clone's files are saved when the working tree is removed.
    pub is_committed: bool,
}

/// A file that is larger than many forges accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LargeFile {
    /// Its path in the working tree.
    pub path: PathBuf,
    /// The file's size.
    pub bytes: u64,
}

/// The result of a push. No commits are ever overwritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The branch now points at the commit.
    Done,
    /// The branch was already up to date.
    UpToDate,
    /// The branch is not at the expected commit.
    Moved {
        /// The branch's tip; `None` if it was deleted.
        remote_head: Option<CommitSha>,
    },
    /// The remote refused the update (because of a rule, a hook or a protected branch).
    Refused {
        /// The remote's message.
        reason: String,
    },
}

/// A stored commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitObject {
    /// All its files.
    pub tree: TreeSha,
    /// The parents; the first one was checked out.
    pub parents: Vec<CommitSha>,
}

/// The outcome of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged {
    /// The merge succeeded.
    Done,
    /// Files conflict; the merge is in progress.
    Conflicts {
        /// The commit being merged; for a merge that was begun before, the one it was begun with.
        theirs: CommitSha,
        /// The files.
        files: Vec<PathBuf>,
    },
}

/// The outcome of a merge that changes neither branches nor files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeCommit {
    /// The merge succeeded. The commit is `ours` itself if that already contains the other one.
    Made {
        /// The commit.
        commit: CommitSha,
        /// All its files.
        tree: TreeSha,
    },
    /// Files conflict, so there is no commit.
    Conflicts {
        /// The files.
        files: Vec<PathBuf>,
    },
}

/// Size of the changes between two commits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffStats {
    /// Files changed.
    pub files: u32,
    /// Lines added.
    pub insertions: u64,
    /// Lines removed.
    pub deletions: u64,
    /// The changed files, at most 1,000.
    pub listed: Vec<FileChange>,
}

/// Size of the changes of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Its path in the repository.
    pub path: PathBuf,
    /// Lines added; `None` for a binary file.
    pub insertions: Option<u64>,
    /// Lines removed; `None` for a binary file.
    pub deletions: Option<u64>,
}

/// Access to the history of a repository.
pub trait VersionControl: Send + Sync {
    /// The repository that contains a path.
    fn discover(&self, path: &Path) -> Result<Repository, Problem>;

    /// The full id of the commit that a revision names.
    fn resolve(&self, place: Place<'_>, revision: &str) -> Result<CommitSha, Problem>;

    /// Reads the state of a working tree.
    fn state(&self, place: Place<'_>) -> Result<WorkState, Problem>;

    /// Commits all changed and untracked files to the checked-out branch, unless a rebase, merge or
    /// similar is in progress, and returns the contents afterwards.
    fn collect_work(
        &self,
        place: Place<'_>,
        leftovers: &Leftovers,
        base: &str,
    ) -> Result<CollectedWork, Problem>;

    /// Rewrites messages of an agent's new commits that would act on the forge. Returns how many.
    /// `remote` is read first, because commits that it has are not the agent's.
    fn make_messages_inert(
        &self,
        sandbox: &Sandbox,
        base: &CommitSha,
        said: &Said,
        remote: Option<&RemoteName>,
    ) -> Result<usize, Problem>;

    /// Commits in `head` that are not in `base`, oldest first, at most 1,000.
    fn commits(
        &self,
        place: Place<'_>,
        base: &str,
        head: &str,
    ) -> Result<Vec<CommitSummary>, Problem>;

    /// Counts the changes of `head` against `base`.
    fn diff_stats(&self, place: Place<'_>, base: &str, head: &str) -> Result<DiffStats, Problem>;

    /// The diff of `head` against `base`, within the limits of [`Change`].
    fn diff(&self, place: Place<'_>, base: &str, head: &str) -> Result<Change, Problem>;

    /// One file of a commit as text; `None` if it does not exist. A file longer than `limit` is an
    /// error.
    fn read_file(
        &self,
        place: Place<'_>,
        commit: &str,
        path: &str,
        limit: u64,
    ) -> Result<Option<String>, Problem>;

    /// The files among `names` that are regular files at the root of a commit, with their text.
    /// Links and files larger than `limit` bytes are left out.
    fn plain_files(
        &self,
        place: Place<'_>,
        commit: &str,
        names: &[&str],
        limit: u64,
    ) -> Result<Vec<(String, String)>, Problem>;

    /// The paths that differ between two commits.
    fn changed_paths(
        &self,
        place: Place<'_>,
        base: &str,
        head: &str,
    ) -> Result<Vec<PathBuf>, Problem>;

    /// The newest common commit; `None` if the histories are unrelated.
    fn merge_base(&self, place: Place<'_>, a: &str, b: &str) -> Result<Option<CommitSha>, Problem>;

    /// Reads a commit object.
    fn commit_object(&self, place: Place<'_>, commit: &CommitSha) -> Result<CommitObject, Problem>;

    /// Whether `ancestor` is `descendant` or part of its history.
    fn is_ancestor(
        &self,
        place: Place<'_>,
        ancestor: &str,
        descendant: &str,
    ) -> Result<bool, Problem>;

    /// The tip of the sandbox's branch in the user's repository, if that has a person's commits,
    /// which neither the sandbox nor `head` contains.
    fn users_tip(&self, sandbox: &Sandbox, head: &CommitSha) -> Result<Option<CommitSha>, Problem>;

    /// Creates a branch at a commit; fails if it exists.
    fn create_branch(
        &self,
        place: Place<'_>,
        branch: &BranchName,
        at: &CommitSha,
    ) -> Result<(), Problem>;

    /// Moves a branch forward, if it is still at the expected commit and not checked out.
    fn advance_branch(
        &self,
        place: Place<'_>,
        branch: &BranchName,
        from: &CommitSha,
        to: &CommitSha,
    ) -> Result<(), Problem>;

    /// The address of a remote; `None` if the repository has no remote of this name.
    fn remote_url(&self, place: Place<'_>, remote: &RemoteName) -> Result<Option<String>, Problem>;

    /// Fetches a remote's branches.
    fn fetch(&self, place: Place<'_>, remote: &RemoteName) -> Result<(), Problem>;

    /// Fetches one branch of a remote. Returns its tip; `None` if it does not exist.
    fn fetch_branch(
        &self,
        place: Place<'_>,
        remote: &RemoteName,
        branch: &BranchName,
    ) -> Result<Option<CommitSha>, Problem>;

    /// The files in which two commits conflict; empty if they can be merged. Nothing is changed.
    fn conflicts(
        &self,
        place: Place<'_>,
        ours: &CommitSha,
        theirs: &CommitSha,
    ) -> Result<Vec<PathBuf>, Problem>;

    /// Creates the commit that merges `theirs` into `ours`, with the message and trailer of
    /// `leftovers`. No branch, index or file changes, and no user setting affects its tree. A
    /// repetition gives the same commit, unless commits are signed. Git keeps it for two weeks
    /// while no branch has it (`gc.pruneExpire`).
    fn merge_commits(
        &self,
        place: Place<'_>,
        ours: &CommitSha,
        theirs: &CommitSha,
        leftovers: &Leftovers,
    ) -> Result<MergeCommit, Problem>;

    /// Merges a commit into the checked-out branch, and commits if nothing conflicts. Finds a merge
    /// that is already in progress.
    fn merge(
        &self,
        place: Place<'_>,
        theirs: &CommitSha,
        leftovers: &Leftovers,
    ) -> Result<Merged, Problem>;

    /// Commits a merge whose conflicts were resolved, if no file has a conflict marker that neither
    /// `ours` nor `theirs` has. A merge that is already committed is checked as well; one that was
    /// aborted is started again.
    fn conclude_merge(
        &self,
        place: Place<'_>,
        ours: &CommitSha,
        theirs: &CommitSha,
        leftovers: &Leftovers,
    ) -> Result<Merged, Problem>;

    /// Reads the tip of a remote's branch; `None` if it does not exist.
    fn remote_head(
        &self,
        place: Place<'_>,
        remote: &RemoteName,
        branch: &BranchName,
    ) -> Result<Option<CommitSha>, Problem>;

    /// The patch of a push, for
    /// [`SecretPolicy::require_clean`](drive_core::secrets::SecretPolicy::require_clean): the
    /// message and the changes of every commit that the remote does not have. For commits before
    /// `base`, where the run began, the remote-tracking branches show whether the remote has them;
    /// for the run's own, `push.expected` and `merged`, a commit of the base branch, do.
    fn unpublished(
        &self,
        place: Place<'_>,
        push: &Push,
        base: &CommitSha,
        merged: Option<&CommitSha>,
    ) -> Result<Vec<u8>, Problem>;

    /// Pushes one commit to one branch.
    fn push(&self, place: Place<'_>, push: &Push) -> Result<Pushed, Problem>;
}
