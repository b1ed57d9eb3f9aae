//! Liveness of a verification: each verification locks its own file, and the kernel releases the
//! lock when the process dies.

use drive_core::ids::RunId;
use drive_core::problem::{Kind, Problem};
use drive_core::sandbox::OwnerState;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often to try a lock that only a short check by another process can hold.
const ATTEMPTS: u32 = 200;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(10);

/// The lock files of all verifications.
#[derive(Clone, Debug)]
pub(super) struct Liveness {
    dir: PathBuf,
}

/// Held while the verification is alive. Its file is removed with it, unless remains need a sweep.
pub(super) struct Alive {
    path: PathBuf,
    file: File,
    leaves_rest: bool,
}

impl Alive {
    /// The locked file, which no stage can reach.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Releases the lock and leaves the file: the run counts as dead, and a sweep cleans up after it.
    pub(super) fn leave_rest(mut self) {
        self.leaves_rest = true;
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        if !self.leaves_rest {
            // A remaining file is harmless: without its lock the run counts as dead.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Liveness {
    /// Uses lock files in the existing folder `dir`.
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Takes the lock of a run. A sweep may check the file at the same moment, and may even have
    /// removed it as a dead run's: then it is created again.
    pub(super) fn hold(&self, run: &RunId) -> Result<Alive, Problem> {
        let path = self.path(run);
        let failed = |error: io::Error| {
            let what = format!("cannot lock `{}`", path.display());
            Problem::new(Kind::LivenessUnknown, what).because(error)
        };
        for _ in 0..ATTEMPTS {
            let file = open(&path).map_err(failed)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if is_at(&file, &path) => {
                    let leaves_rest = false;
                    return Ok(Alive {
                        path,
                        file,
                        leaves_rest,
                    });
                }
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(BETWEEN_ATTEMPTS),
                Err(error) => return Err(failed(error.into())),
            }
        }
        Err(failed(io::Error::from(io::ErrorKind::WouldBlock)))
    }

    /// Whether a run is alive; unknown for runs that are not verifications.
    pub(super) fn owner(&self, run: &RunId) -> OwnerState {
        let path = self.path(run);
        let file = match File::options().read(true).open(&path) {
            Ok(file) => file,
            // It is not a verification, or was cleaned up already.
            Err(_) => return OwnerState::Unknown,
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => OwnerState::Dead,
            Err(rustix::io::Errno::WOULDBLOCK) => OwnerState::Alive,
            Err(_) => OwnerState::Unknown,
        }
    }

    /// Runs whose lock file exists although no process holds it.
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

    /// Removes the lock file of a dead run after the cleanup.
    pub(super) fn forget(&self, run: &RunId) {
        let path = self.path(run);
        let Ok(file) = File::options().read(true).open(&path) else {
            return;
        };
        // If a process holds the lock, the run is alive after all.
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = std::fs::remove_file(&path);
        }
    }

    fn path(&self, run: &RunId) -> PathBuf {
        self.dir.join(format!("{run}.alive"))
    }
}

/// Whether the open file is still the one at this path.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), path.symlink_metadata()) {
        (Ok(held), Ok(named)) => (held.dev(), held.ino()) == (named.dev(), named.ino()),
        (Ok(_) | Err(_), _) => false,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_alive_while_held_and_dead_when_its_file_stays_behind() {
        let dir = tempfile::tempdir().unwrap();
        let liveness = Liveness::new(dir.path().to_path_buf());
        let run = RunId::new("r1");
        assert_eq!(liveness.owner(&run), OwnerState::Unknown);
        let held = liveness.hold(&run).unwrap();
        assert_eq!(liveness.owner(&run), OwnerState::Alive);
        liveness.forget(&run);
        assert_eq!(
            liveness.owner(&run),
            OwnerState::Alive,
            "a living run is not forgotten"
        );
        drop(held);
        assert_eq!(liveness.owner(&run), OwnerState::Unknown);
        drop(open(&liveness.path(&run)).unwrap());
        assert_eq!(
            (liveness.owner(&run), liveness.dead()),
            (OwnerState::Dead, vec![run.clone()])
        );
        liveness.forget(&run);
        assert_eq!(liveness.dead(), Vec::<RunId>::new());
        // A run that could not remove everything is cleaned up like a dead one.
        liveness.hold(&run).unwrap().leave_rest();
        assert_eq!(liveness.dead(), [run]);
    }
}
