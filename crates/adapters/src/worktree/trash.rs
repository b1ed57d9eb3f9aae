//! Where sandboxes go before they are gone.
//!
//! A folder named after its sandbox may still hold work. Once the work is saved it is renamed to
//! `dead-…`, and from then on anyone may delete it.

use super::lock::FileLock;
use crate::files;
use drive_core::ids::SandboxId;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

/// Its name below the sandbox root.
pub(super) const FOLDER: &str = ".trash";
const DEAD: &str = "dead-";
const LOCK: &str = "lock";

/// The trash of one sandbox root.
#[derive(Debug)]
pub(super) struct Trash {
    dir: PathBuf,
    running: Mutex<Vec<JoinHandle<()>>>,
}

impl Trash {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self {
            dir,
            running: Mutex::new(Vec::new()),
        }
    }

    /// Where a sandbox is moved to.
    pub(super) fn place(&self, id: &SandboxId, token: &str) -> PathBuf {
        self.dir.join(format!("{id}-{token}"))
    }

    /// Marks remains whose work is saved, so that they need no record any more.
    pub(super) fn mark_dead(&self, place: &Path) -> io::Result<()> {
        let Some(name) = place.file_name() else {
            return Ok(());
        };
        let mut dead = std::ffi::OsString::from(DEAD);
        dead.push(name);
        match std::fs::rename(place, self.dir.join(dead)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Deletes everything dead, in the background.
    pub(super) fn empty_in_background(&self) {
        let dir = self.dir.clone();
        let handle = std::thread::Builder::new()
            .name("trash".to_owned())
            .spawn(move || {
                empty(&dir);
            });
        // Without a thread the rubble waits for the next sweep.
        if let Ok(handle) = handle {
            self.handles().push(handle);
        }
    }

    /// Deletes everything dead, and returns how many remains there were.
    pub(super) fn empty(&self) -> u32 {
        empty(&self.dir)
    }

    pub(super) fn finish(&self) {
        let handles = std::mem::take(&mut *self.handles());
        for handle in handles {
            // A deleter that panicked left rubble for the next sweep, nothing else.
            let _ = handle.join();
        }
    }

    fn handles(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One deleter at a time: two would only get into each other's way.
fn empty(dir: &Path) -> u32 {
    let mut deleted = 0;
    while let Ok(Some(_lock)) = FileLock::try_acquire(&dir.join(LOCK), "deleting") {
        let remains = dead(dir);
        let before = deleted;
        for place in remains {
            deleted += u32::from(files::remove_tree(&place).is_ok());
        }
        // Whoever came while we held the lock went away: look once more.
        if deleted == before {
            break;
        }
    }
    deleted
}

fn dead(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(DEAD))
        .map(|entry| entry.path())
        .collect()
}
