use drive_core::Problem;
use drive_core::forge::inert::Said;
use drive_core::ids::{BranchName, CommitSha, RemoteName, RunId, TreeSha};
use drive_core::review::Change;
use drive_core::run::CommitSummary;
use drive_core::sandbox::{InProgress, Sandbox};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The repository that a question about history is asked in.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// A person's checkout, or a bare repository.
    Checkout(&'a Path),
    /// One of our sandboxes. What it looks like is read in it, confined; history is read in the
    /// user's repository, which has every commit that was taken out of it.
    Sandbox(&'a Sandbox),
}

/// A repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// The git folder all checkouts share.
    pub common_dir: PathBuf,
    /// The git folder of this checkout.
    pub git_dir: PathBuf,
    /// The top of the checkout; `None` for a bare repository.
    pub top: Option<PathBuf>,
    /// Whether history ends at a clone's depth.
    pub shallow: bool,
    /// The commit checked out.
    pub head_sha: CommitSha,
    /// The branch checked out; `None` on a detached head.
    pub branch: Option<BranchName>,
}

/// The state of a working tree now, whatever its agent did in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkState {
    /// The commit checked out.
    pub head_sha: CommitSha,
    /// The branch checked out; `None` on a detached head.
    pub branch: Option<BranchName>,
    /// The unfinished git operation.
    pub in_progress: Option<InProgress>,
    /// Files that are dirty or untracked.
    pub dirty_files: u32,
    /// The sandbox's own branch; `None` in a person's checkout, and where it has none.
    pub own: Option<OwnBranch>,
}

/// The branch of a sandbox, in its own repository and in the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnBranch {
    /// Its newest commit in the sandbox, which the user's repository has then.
    pub tip: CommitSha,
    /// The branch of the same name in the user's repository.
    pub users: UsersBranch,
}

/// The user's branch that follows a sandbox's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsersBranch {
    /// It is where the sandbox's is.
    Follows,
    /// It has none but the sandbox's commits, yet a checkout shows it: it stays.
    CheckedOut {
        /// The folder of the checkout.
        folder: String,
    },
    /// Somebody else committed to it: it stays.
    Moved {
        /// Its newest commit.
        to: CommitSha,
    },
}

/// The commit for uncommitted changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftovers {
    /// Whose they are: goes into a trailer.
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
    /// The tip at the last read; `None` if the branch did not exist.
    pub expected: Option<CommitSha>,
}

/// The contents of a working tree after its leftovers were committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectedWork {
    /// The working tree: its commit is the newest one, its dirty files are those that were found.
    pub state: WorkState,
    /// Commits in it that the base does not have, oldest first, at most 1,000.
    pub commits: Vec<CommitSummary>,
    /// Whether the base, given by its full hash, lies in its history.
    pub builds_on_base: bool,
    /// Committed just now, and larger than many forges take.
    pub large: Vec<LargeFile>,
    /// Repositories that lie in it and are no submodules.
    pub nested: Vec<NestedRepository>,
}

/// A repository that an agent made or cloned in its worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NestedRepository {
    /// Its path in the working tree.
    pub path: PathBuf,
    /// Whether its files were committed. Those of a clone are saved when the working tree is removed.
    pub is_committed: bool,
}

/// A file that is larger than many forges take.
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
    /// The branch points at it now.
    Done,
    /// The branch was already up to date.
    UpToDate,
    /// The branch is not where we expected it.
    Moved {
        /// The branch's tip; `None` if it is gone.
        remote_head: Option<CommitSha>,
    },
    /// The remote took the connection and refused the update (a rule, a hook, a protected branch).
    Refused {
        /// The remote's message.
        reason: String,
    },
}

/// A commit, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitObject {
    /// All its files.
    pub tree: TreeSha,
    /// The parents, the one that was checked out first.
    pub parents: Vec<CommitSha>,
}

/// The outcome of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged {
    /// The merge succeeded.
    Done,
    /// Files conflict; the merge is in progress.
    Conflicts {
        /// The commit being merged: of a merge that was begun before, the one it was begun with.
        theirs: CommitSha,
        /// The files.
        files: Vec<PathBuf>,
    },
}

/// The outcome of a merge that touches neither branches nor files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeCommit {
    /// It is this commit; `ours` itself where that has the other one already.
    Made {
        /// The commit.
        commit: CommitSha,
        /// All its files.
        tree: TreeSha,
    },
    /// Files conflict; nothing was made.
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
    /// The files one by one, at most 1,000.
    pub listed: Vec<FileChange>,
}

/// Size of the changes of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Its path in the repository.
    pub path: PathBuf,
    /// Lines added; `None` where the file has no lines.
    pub insertions: Option<u64>,
    /// Lines removed; `None` where the file has no lines.
    pub deletions: Option<u64>,
}

/// History as the services need it.
pub trait VersionControl: Send + Sync {
    /// The repository a path lies in.
    fn discover(&self, path: &Path) -> Result<Repository, Problem>;

    /// The full hash of the commit a revision names.
    fn resolve(&self, place: Place<'_>, revision: &str) -> Result<CommitSha, Problem>;

    /// Reads the state of a working tree.
    fn state(&self, place: Place<'_>) -> Result<WorkState, Problem>;

    /// Commits everything dirty or untracked on whatever is checked out, unless a rebase, merge or
    /// the like is in progress, and tells what is there then.
    fn collect_work(
        &self,
        place: Place<'_>,
        leftovers: &Leftovers,
        base: &str,
    ) -> Result<CollectedWork, Problem>;

    /// Rewrites the messages of an agent's new commits that would act on the forge. Returns how many.
    /// Before anything is rewritten, `remote` is asked: what it has is not the agent's.
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

    /// Those of `names` that are regular files at the root of a commit, as text of at most `limit`
    /// bytes. Links are left out, and so is what is larger than `limit`.
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

    /// The newest commit both have; `None` when their histories do not meet.
    fn merge_base(&self, place: Place<'_>, a: &str, b: &str) -> Result<Option<CommitSha>, Problem>;

    /// Reads a commit, as it is stored.
    fn commit_object(&self, place: Place<'_>, commit: &CommitSha) -> Result<CommitObject, Problem>;

    /// Whether `ancestor` is `descendant` or lies in its history.
    fn is_ancestor(
        &self,
        place: Place<'_>,
        ancestor: &str,
        descendant: &str,
    ) -> Result<bool, Problem>;

    /// Finds the tip of a sandbox's branch in the user's repository, if that has commits that
    /// neither the sandbox nor `head` has: a person's.
    fn users_tip(&self, sandbox: &Sandbox, head: &CommitSha) -> Result<Option<CommitSha>, Problem>;

    /// Makes a branch at a commit; one that exists is a problem.
    fn create_branch(
        &self,
        place: Place<'_>,
        branch: &BranchName,
        at: &CommitSha,
    ) -> Result<(), Problem>;

    /// Moves a branch forward, as long as it is still where it is expected and is not checked out.
    fn advance_branch(
        &self,
        place: Place<'_>,
        branch: &BranchName,
        from: &CommitSha,
        to: &CommitSha,
    ) -> Result<(), Problem>;

    /// Whether the repository knows a remote of that name.
    fn remote_url(&self, place: Place<'_>, remote: &RemoteName) -> Result<Option<String>, Problem>;

    /// Fetches a remote's branches.
    fn fetch(&self, place: Place<'_>, remote: &RemoteName) -> Result<(), Problem>;

    /// Brings in one branch of a remote, and tells what it points at; `None` when it does not exist.
    fn fetch_branch(
        &self,
        place: Place<'_>,
        remote: &RemoteName,
        branch: &BranchName,
    ) -> Result<Option<CommitSha>, Problem>;

    /// The files in which two commits conflict; none when they can be merged. Nothing is touched.
    fn conflicts(
        &self,
        place: Place<'_>,
        ours: &CommitSha,
        theirs: &CommitSha,
    ) -> Result<Vec<PathBuf>, Problem>;

    /// Makes the commit that merges `theirs` into `ours`, with the message and trailer of `leftovers`.
    /// No branch, index or file changes, and no setting of the user changes its tree. Making it again
    /// gives the same commit, unless commits are signed. Git keeps it for two weeks while no branch
    /// has it (`gc.pruneExpire`).
    fn merge_commits(
        &self,
        place: Place<'_>,
        ours: &CommitSha,
        theirs: &CommitSha,
        leftovers: &Leftovers,
    ) -> Result<MergeCommit, Problem>;

    /// Merges a commit into what is checked out, and commits where nothing conflicts. One that is
    /// in progress is found.
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
    /// message and the changes of every commit that the remote does not have. `base` is where the
    /// run began: the remote-tracking branches tell which of the commits before it the remote has;
    /// `push.expected` and `merged`, a commit of the branch it goes to, tell which of the run's
    /// own.
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
