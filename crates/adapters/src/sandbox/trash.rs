//! The trash, into which sandboxes are moved before their files are deleted.
//!
//! A folder named after its sandbox may still contain work. Once the work is saved it is renamed to
//! `dead-…`, and from then on any process may delete it.

use super::lock::FileLock;
use super::record::{Record, TRASH, root_of};

use crate::files;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

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

    /// The path of a sandbox in the trash. The trash is beside the folder in which the sandbox was
    /// created: the settings may name another root now, and a move must stay on one disk.
    pub(super) fn place(&self, record: &Record) -> PathBuf {
        let beside = root_of(&record.sandbox).map(|root| root.join(TRASH));
        let name = format!("{}-{}", record.sandbox.id, record.token);
        beside.as_deref().unwrap_or(&self.dir).join(name)
    }

    /// Where the repository of a sandbox is moved if its commits could not be transferred.
    pub(super) fn repository_of(&self, record: &Record) -> PathBuf {
        let mut name = self.place(record).into_os_string();
        name.push(".git");
        name.into()
    }

    /// Marks remains whose work is saved, so that they need no record.
    pub(super) fn mark_dead(&self, place: &Path) -> io::Result<()> {
        let Some(name) = place.file_name() else {
            return Ok(());
        };
        let mut dead = std::ffi::OsString::from(DEAD);
        dead.push(name);
        match std::fs::rename(place, place.with_file_name(dead)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Deletes all marked remains beside this path, in the background.
    pub(super) fn empty_in_background(&self, place: &Path) {
        let dir = place.parent().unwrap_or(&self.dir).to_path_buf();
        let handle = std::thread::Builder::new()
            .name("trash".to_owned())
            .spawn(move || {
                empty(&dir);
            });
        // Without a thread, the next sweep deletes them.
        if let Ok(handle) = handle {
            self.handles().push(handle);
        }
    }

    /// Deletes all marked remains, and returns their number.
    pub(super) fn empty(&self) -> u32 {
        empty(&self.dir)
    }

    pub(super) fn finish(&self) {
        let handles = std::mem::take(&mut *self.handles());
        for handle in handles {
            // If the thread panicked, the next sweep deletes the rest.
            let _ = handle.join();
        }
    }

    fn handles(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Deletes marked remains, one process at a time: two would only disturb each other.
fn empty(dir: &Path) -> u32 {
    let mut deleted = 0;
    while let Ok(Some(_lock)) = FileLock::try_acquire(&dir.join(LOCK), "deleting") {
        let remains = dead(dir);
        let before = deleted;
        for place in remains {
            deleted += u32::from(files::remove_tree(&place).is_ok());
        }
        // Processes that came while we held the lock gave up, so check again.
        if deleted == before {
            break;
        }
    }
    deleted
}

/// Whether there is anything to delete.
pub(super) fn has_dead(dir: &Path) -> bool {
    !dead(dir).is_empty()
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
