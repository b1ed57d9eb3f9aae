use drive_core::Problem;
use drive_core::phase::PhaseState;
use drive_core::sandbox::Sandbox;
use std::path::{Path, PathBuf};

/// The file in which a phase tells about itself inside its sandbox. Whoever works there can write
/// it: what is read has been checked by itself, and not yet against anything else.
pub trait PhaseFiles: Send + Sync {
    /// Replaces the file, whole or not at all.
    fn write(&self, sandbox: &Sandbox, state: &PhaseState) -> Result<(), Problem>;

    /// What the file of a sandbox says; `None` when it carries none.
    fn read(&self, sandbox_path: &Path) -> Result<Option<PhaseState>, Problem>;

    /// Every sandbox that carries such a file, in the order of their paths.
    fn list(&self) -> Result<Vec<FoundState>, Problem>;

    /// The folder of all sandboxes, without links in it.
    fn root(&self) -> &Path;
}

/// A sandbox that carries the file of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundState {
    /// Where the sandbox is.
    pub sandbox_path: PathBuf,
    /// What its file says, or why it cannot be used.
    pub state: Result<PhaseState, Problem>,
}
