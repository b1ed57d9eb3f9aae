use drive_core::Problem;
use drive_core::ids::{BranchName, CommitSha, RunId, SandboxId};
use drive_core::sandbox::{KeptWork, OwnerState, Refusal, Sandbox, SandboxSpec};
use std::path::Path;

/// Worktree sandboxes of real repositories.
pub trait Sandboxes: Send + Sync {
    /// Creates one. Asking again with the same spec after a crash finishes or returns the same one.
    fn create(&self, spec: &SandboxSpec) -> Result<Sandbox, Problem>;

    /// The sandbox of that name, as recorded outside of it; `None` when there is none in use.
    fn find(&self, id: &SandboxId) -> Result<Option<Sandbox>, Problem>;

    /// Puts right what an agent did to the files by which its work is found: its folder, its head,
    /// its branch, which is made again at `head`, or at its base where that is not known. Tells what
    /// was missing, for a person; its files and commits stay as they are.
    fn mend(&self, sandbox: &Sandbox, head: Option<&CommitSha>) -> Result<Vec<String>, Problem>;

    /// Like `mend`, before an agent starts: a folder that was removed by hand is restored from its
    /// branch.
    fn make_whole(
        &self,
        sandbox: &Sandbox,
        head: Option<&CommitSha>,
    ) -> Result<Vec<String>, Problem>;

    /// Writes one file at the sandbox's root, replacing whatever has that name.
    fn write_file(&self, sandbox: &Sandbox, name: &str, text: &str) -> Result<(), Problem>;

    /// Removes one file; fine where there is none.
    fn remove_file(&self, sandbox: &Sandbox, name: &str) -> Result<(), Problem>;

    /// Saves dirty and untracked files, commits that are on no branch, and what is half done under
    /// `refs/drive/kept/…`; `None` when everything is safe elsewhere. Ignored files are not work.
    fn keep(&self, sandbox: &Sandbox) -> Result<Option<KeptWork>, Problem>;

    /// Puts a sandbox and its branch back to a commit. What that takes away is saved first: commits
    /// after it, dirty and untracked files, and what is half done.
    fn roll_back(&self, sandbox: &Sandbox, to: &CommitSha) -> Result<Option<KeptWork>, Problem>;

    /// Moves the sandbox aside, and returns at once. Its work is saved, and its files are deleted,
    /// by [`settle`](Self::settle) or by the next sweep. Tells whether there was one.
    fn retire(&self, sandbox: &Sandbox) -> Result<bool, Problem>;

    /// Saves the work of a retired sandbox and removes its record; the files are deleted in the
    /// background. If something cannot be saved, the sandbox is moved back and the problem names
    /// it.
    fn settle(&self, id: &SandboxId) -> Result<Option<KeptWork>, Problem>;

    /// Keeps the work, then removes the sandbox. Removing one that is already gone is fine.
    fn remove(&self, sandbox: &Sandbox) -> Result<Removal, Problem> {
        let existed = self.retire(sandbox)?;
        let kept = self.settle(&sandbox.id)?;
        Ok(Removal { kept, existed })
    }

    /// Removes what crashed runs left: transient sandboxes of dead runs, half-made and half-removed
    /// ones, and rubble in the trash. `owner` tells whether a run lives; when in doubt, nothing goes.
    fn sweep(&self, owner: &dyn Fn(&RunId) -> OwnerState) -> Result<SweepReport, Problem>;

    /// All work saved in a repository, oldest first.
    fn kept(&self, repo: &Path) -> Result<Vec<KeptWork>, Problem>;

    /// Makes a branch at saved work; the saved work stays until it is dropped.
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
    /// Whether there was something to remove.
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

/// One sandbox that a sweep removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept {
    /// The id.
    pub id: SandboxId,
    /// The run it belonged to.
    pub run: RunId,
    /// Work that was saved before the removal.
    pub kept: Option<KeptWork>,
}

/// One sandbox that a sweep left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The id.
    pub id: SandboxId,
    /// The reason.
    pub why: WhyLeft,
}

/// Why a sweep left a sandbox alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyLeft {
    /// The evidence did not allow it.
    Refused(Refusal),
    /// Another process works on it right now.
    Busy,
    /// Something failed, and nothing was lost.
    Failed(Problem),
}
