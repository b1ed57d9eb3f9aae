use drive_core::Problem;
use drive_core::sandbox::{KeptWork, Sandbox, SandboxSpec};

/// Worktree sandboxes of real repositories.
pub trait Sandboxes: Send + Sync {
    /// Creates one. Asking again with the same spec after a crash finishes or returns the same one.
    fn create(&self, spec: &SandboxSpec) -> Result<Sandbox, Problem>;

    /// Saves dirty, untracked and unpushed work under `refs/drive/kept/…`; `None` when there is
    /// nothing that is not safe elsewhere.
    fn keep(&self, sandbox: &Sandbox) -> Result<Option<KeptWork>, Problem>;

    /// Keeps the work, then removes the sandbox. Removing one that is already gone is fine.
    fn remove(&self, sandbox: &Sandbox) -> Result<Removal, Problem>;
}

/// What a removal did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// Work saved first.
    pub kept: Option<KeptWork>,
    /// Whether there was something to remove.
    pub existed: bool,
}
