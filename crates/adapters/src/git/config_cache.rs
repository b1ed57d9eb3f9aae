//! Cache of git settings, valid as long as the config files are unchanged.

use super::config::{Entry, includes_others};
use super::location::{Location, Pinned};
use drive_core::Problem;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// How many repositories are cached.
const MOST_PLACES: usize = 64;

/// Settings by git directory. An agent can edit the config files between two calls, so an entry is used only
/// while their stat data is unchanged. Settings that include other files are never cached.
#[derive(Clone, Debug, Default)]
pub(super) struct ConfigCache(Arc<Mutex<HashMap<PathBuf, Cached>>>);

#[derive(Debug)]
struct Cached {
    stamps: Stamps,
    entries: Vec<Entry>,
}

/// Stamps of `config` and `config.worktree`.
type Stamps = [Option<Stamp>; 2];

/// Device, inode, size, and both times with nanoseconds.
type Stamp = (u64, u64, u64, (i64, i64), (i64, i64));

impl ConfigCache {
    /// The settings at a location, from the cache if the config files are unchanged, else from `load`.
    pub(super) fn get_or_load(
        &self,
        location: &Location,
        load: impl FnOnce() -> Result<Vec<Entry>, Problem>,
    ) -> Result<Vec<Entry>, Problem> {
        let Some(pinned) = &location.pinned else {
            return load();
        };
        // The stamps are taken before the files are read, so that a change in between is noticed.
        let stamps = stamps_of(pinned);
        if let Some(cached) = self.lock().get(&pinned.git_dir)
            && cached.stamps == stamps
        {
            return Ok(cached.entries.clone());
        }
        let entries = load()?;
        let mut all = self.lock();
        if includes_others(&entries) || all.len() >= MOST_PLACES {
            all.clear();
        } else {
            let cached = Cached {
                stamps,
                entries: entries.clone(),
            };
            all.insert(pinned.git_dir.clone(), cached);
        }
        Ok(entries)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, Cached>> {
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
