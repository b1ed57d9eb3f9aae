//! Whether a verification lives: it holds a lock on its own file, and the kernel lets go when it dies.

use drive_core::Problem;
use drive_core::ids::RunId;
use drive_core::sandbox::OwnerState;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The lock files of all verifications.
#[derive(Clone, Debug)]
pub(super) struct Liveness {
    dir: PathBuf,
}

/// Held while the verification lives; its file goes with it.
pub(super) struct Alive {
    path: PathBuf,
    _file: File,
}

impl Drop for Alive {
    fn drop(&mut self) {
        // A stray file is harmless: without its lock the run counts as dead.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Liveness {
    /// Lock files in `dir`, which exists.
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Takes the lock of a run.
    pub(super) fn hold(&self, run: &RunId) -> Result<Alive, Problem> {
        let path = self.path(run);
        let failed = |error: io::Error| {
            Problem::environment(
                "livenessUnknown",
                format!("cannot lock `{}`", path.display()),
            )
            .because(error)
        };
        let file = open(&path).map_err(failed)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|e| failed(e.into()))?;
        Ok(Alive { path, _file: file })
    }

    /// Whether a run lives; runs that are no verifications are not ours to judge.
    pub(super) fn owner(&self, run: &RunId) -> OwnerState {
        let path = self.path(run);
        let file = match File::options().read(true).open(&path) {
            Ok(file) => file,
            // The file is made before anything else of a run and goes after everything else.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return OwnerState::Unknown,
            Err(_) => return OwnerState::Unknown,
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => OwnerState::Dead,
            Err(rustix::io::Errno::WOULDBLOCK) => OwnerState::Alive,
            Err(_) => OwnerState::Unknown,
        }
    }

    /// Runs whose file is there although nobody holds it.
    pub(super) fn dead(&self) -> Vec<RunId> {
        let entries = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                Some(RunId::new(name.strip_suffix(".alive")?))
            })
            .filter(|run| self.owner(run) == OwnerState::Dead)
            .collect()
    }

    /// Forgets a run that is dead and cleaned up after.
    pub(super) fn forget(&self, run: &RunId) {
        if self.owner(run) == OwnerState::Dead {
            let _ = std::fs::remove_file(self.path(run));
        }
    }

    fn path(&self, run: &RunId) -> PathBuf {
        self.dir.join(format!("{run}.alive"))
    }
}

pub(super) fn open(path: &Path) -> io::Result<File> {
    File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}
