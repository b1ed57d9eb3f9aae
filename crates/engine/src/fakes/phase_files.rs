use super::lock::lock;
use super::machine::DriveProcess;
use super::sandboxes::SANDBOX_ROOT;
use crate::ports::{FoundState, PhaseFiles};
use drive_core::Problem;
use drive_core::phase::PhaseState;
use drive_core::sandbox::Sandbox;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The state files of phases, by sandbox.
#[derive(Clone)]
pub struct FakePhaseFiles {
    files: Arc<Mutex<BTreeMap<PathBuf, PhaseState>>>,
    process: DriveProcess,
}

impl FakePhaseFiles {
    /// A store without files.
    pub fn new(process: DriveProcess) -> Self {
        Self {
            files: Arc::default(),
            process,
        }
    }

    /// The same files, as used by another process.
    pub fn of(&self, process: DriveProcess) -> Self {
        Self {
            process,
            ..self.clone()
        }
    }
}

impl PhaseFiles for FakePhaseFiles {
    fn write(&self, sandbox: &Sandbox, state: &PhaseState) -> Result<(), Problem> {
        self.process.check()?;
        lock(&self.files).insert(sandbox.path.clone(), state.clone());
        Ok(())
    }

    fn read(&self, sandbox_path: &Path) -> Result<Option<PhaseState>, Problem> {
        self.process.check()?;
        Ok(lock(&self.files).get(sandbox_path).cloned())
    }

    fn list(&self) -> Result<Vec<FoundState>, Problem> {
        self.process.check()?;
        let found = |(path, state): (&PathBuf, &PhaseState)| FoundState {
            sandbox_path: path.clone(),
            state: Ok(state.clone()),
        };
        Ok(lock(&self.files).iter().map(found).collect())
    }

    fn root(&self) -> &Path {
        Path::new(SANDBOX_ROOT)
    }
}
