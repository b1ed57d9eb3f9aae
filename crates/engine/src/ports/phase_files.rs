use drive_core::Problem;
use drive_core::phase::PhaseState;
use drive_core::sandbox::Sandbox;
use std::path::{Path, PathBuf};

/// The state file of a phase in its sandbox. Agents can write to it: the form of what is read is
/// valid, but its contents are not checked against other evidence.
pub trait PhaseFiles: Send + Sync {
    /// Replaces the file atomically.
    fn write(&self, sandbox: &Sandbox, state: &PhaseState) -> Result<(), Problem>;

    /// The state file of a sandbox; `None` if it has none.
    fn read(&self, sandbox_path: &Path) -> Result<Option<PhaseState>, Problem>;

    /// All sandboxes with such a file, in the order of their paths.
    fn list(&self) -> Result<Vec<FoundState>, Problem>;

    /// The folder of all sandboxes, with links resolved.
    fn root(&self) -> &Path;
}

/// A sandbox with the state file of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundState {
    /// The folder of the sandbox.
    pub sandbox_path: PathBuf,
    /// The state, or why it cannot be used.
    pub state: Result<PhaseState, Problem>,
}
