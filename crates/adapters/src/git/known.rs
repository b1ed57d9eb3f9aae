//! Settings that were read a moment ago and have not changed since.

use super::config::{Entry, includes_others};
use super::{Location, Pinned};
use drive_core::Problem;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// How many worktrees are remembered.
const MOST_PLACES: usize = 64;

/// Settings by the git folders they are in force for. An agent can write the repository's own files
/// between two calls, so what was read counts only as long as those files are what they were.
/// Settings that include other files are never remembered.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownConfig(Arc<Mutex<HashMap<PathBuf, Known>>>);

#[derive(Debug)]
struct Known {
    stamps: Stamps,
    entries: Vec<Entry>,
}

/// The repository's file and the worktree's own.
type Stamps = [Option<Stamp>; 2];

/// Device, inode, size, and both times to the nanosecond.
type Stamp = (u64, u64, u64, (i64, i64), (i64, i64));

impl KnownConfig {
    /// The settings in force at a place, read by `load` unless nothing has changed.
    pub(super) fn get_or_load(
        &self,
        location: &Location,
        load: impl FnOnce() -> Result<Vec<Entry>, Problem>,
    ) -> Result<Vec<Entry>, Problem> {
        let Some(pinned) = &location.pinned else {
            return load();
        };
        // Taken before the files are read: a change in between is a change.
        let stamps = stamps_of(pinned);
        if let Some(known) = self.lock().get(&pinned.git_dir)
            && known.stamps == stamps
        {
            return Ok(known.entries.clone());
        }
        let entries = load()?;
        let mut all = self.lock();
        if includes_others(&entries) || all.len() >= MOST_PLACES {
            all.clear();
        } else {
            let known = Known {
                stamps,
                entries: entries.clone(),
            };
            all.insert(pinned.git_dir.clone(), known);
        }
        Ok(entries)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stamps_of(pinned: &Pinned) -> Stamps {
    [
        stamp(&pinned.common_dir.join("config")),
        stamp(&pinned.git_dir.join("config.worktree")),
    ]
}

fn stamp(path: &Path) -> Option<Stamp> {
    let meta = path.metadata().ok()?;
    Some((
        meta.dev(),
        meta.ino(),
        meta.len(),
        (meta.mtime(), meta.mtime_nsec()),
        (meta.ctime(), meta.ctime_nsec()),
    ))
}
