use drive_core::Problem;
use drive_core::ids::{BranchName, CommitSha, RunId, SandboxId};
use drive_core::sandbox::{KeptWork, OwnerState, Refusal, Sandbox, SandboxSpec};
use std::path::Path;

/// Worktree sandboxes of real repositories.
pub trait Sandboxes: Send + Sync {
    /// Creates a sandbox. Repeating it with the same spec after a crash finishes or returns the same one.
    fn create(&self, spec: &SandboxSpec) -> Result<Sandbox, Problem>;

    /// The sandbox of this id, from its record outside of it; `None` if none is in use.
    fn find(&self, id: &SandboxId) -> Result<Option<Sandbox>, Problem>;

    /// Repairs what an agent damaged of the sandbox's structure: its folder, its head, and its
    /// branch, which is created again at `head` or, if that is unknown, at its base. Files and
    /// commits stay unchanged. Returns what was missing, for people.
    fn mend(&self, sandbox: &Sandbox, head: Option<&CommitSha>) -> Result<Vec<String>, Problem>;

    /// Like `mend`, before an agent starts: a folder that was deleted by hand is restored from its branch.
    fn make_whole(
        &self,
        sandbox: &Sandbox,
        head: Option<&CommitSha>,
    ) -> Result<Vec<String>, Problem>;

    /// Writes one file at the sandbox's root, replacing anything of that name.
    fn write_file(&self, sandbox: &Sandbox, name: &str, text: &str) -> Result<(), Problem>;

    /// Removes one file, if it exists.
    fn remove_file(&self, sandbox: &Sandbox, name: &str) -> Result<(), Problem>;

    /// Saves uncommitted and untracked files, commits on no branch, and unfinished git operations under
    /// `refs/drive/kept/…`; `None` if everything is safe elsewhere. Ignored files are not saved.
    fn keep(&self, sandbox: &Sandbox) -> Result<Option<KeptWork>, Problem>;

    /// Resets a sandbox and its branch to a commit. Later commits, uncommitted and untracked files,
    /// and unfinished operations are saved first.
    fn roll_back(&self, sandbox: &Sandbox, to: &CommitSha) -> Result<Option<KeptWork>, Problem>;

    /// Moves the sandbox aside and returns immediately. [`settle`](Self::settle) or the next sweep
    /// saves its work and deletes its files. Returns whether there was a sandbox.
    fn retire(&self, sandbox: &Sandbox) -> Result<bool, Problem>;

    /// Saves the work of a retired sandbox and removes its record; the files are deleted in the
    /// background. If something cannot be saved, the sandbox is moved back and the problem names
    /// it.
    fn settle(&self, id: &SandboxId) -> Result<Option<KeptWork>, Problem>;

    /// Saves the work, then removes the sandbox, if it exists.
    fn remove(&self, sandbox: &Sandbox) -> Result<Removal, Problem> {
        let existed = self.retire(sandbox)?;
        let kept = self.settle(&sandbox.id)?;
        Ok(Removal { kept, existed })
    }

    /// Removes what crashed runs left: transient sandboxes of dead runs, half-created and half-removed ones,
    /// and remains in the trash. `owner` returns whether a run is alive; in doubt, nothing is removed.
    fn sweep(&self, owner: &dyn Fn(&RunId) -> OwnerState) -> Result<SweepReport, Problem>;

    /// All work saved in a repository, oldest first.
    fn kept(&self, repo: &Path) -> Result<Vec<KeptWork>, Problem>;

    /// Creates a branch at saved work, which stays saved until it is dropped.
    fn restore(
        &self,
        repo: &Path,
        reference: &str,
        branch: &BranchName,
    ) -> Result<KeptWork, Problem>;

    /// Deletes saved work.
    fn drop_kept(&self, repo: &Path, reference: &str) -> Result<KeptWork, Problem>;
}

/// The result of a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// Work that was saved before the removal.
    pub kept: Option<KeptWork>,
    /// Whether there was a sandbox to remove.
    pub existed: bool,
}

/// The result of a sweep, for one line to the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Removed sandboxes.
    pub removed: Vec<Swept>,
    /// Sandboxes that were not removed, with the reason.
    pub left: Vec<Left>,
    /// Remains in the trash that were deleted.
    pub trash: u32,
}

/// A sandbox that a sweep removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept {
    /// The id.
    pub id: SandboxId,
    /// The run it belonged to.
    pub run: RunId,
    /// Work that was saved before the removal.
    pub kept: Option<KeptWork>,
}

/// A sandbox that a sweep did not remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The id.
    pub id: SandboxId,
    /// The reason.
    pub why: WhyLeft,
}

/// Why a sweep did not remove a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyLeft {
    /// The evidence did not allow it.
    Refused(Refusal),
    /// Another process is working on it.
    Busy,
    /// Removing it failed, and nothing was lost.
    Failed(Problem),
}
