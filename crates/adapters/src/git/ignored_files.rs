//! Untracked files that are not an agent's work: those copied into the sandbox, and drive's state file.

use drive_core::phase::{STATE_FILE, STATE_FOLDER};
use drive_core::sandbox::Brought;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Size in bytes, and ctime in nanoseconds.
type Stamp = (u64, i64);

/// The state file, and files and folders that were copied in and not changed since.
pub(crate) struct IgnoredFiles<'a> {
    files: HashMap<&'a Path, Stamp>,
    folders: Vec<&'a Path>,
}

impl<'a> IgnoredFiles<'a> {
    pub(crate) fn of(brought: &'a [Brought]) -> Self {
        let file = |one: &'a Brought| Some((one.path.as_path(), one.stamp?));
        let folders = brought.iter().filter(|one| one.stamp.is_none());
        Self {
            files: brought.iter().filter_map(file).collect(),
            folders: folders.map(|one| one.path.as_path()).collect(),
        }
    }

    /// Whether an untracked path is ignored: an unchanged copied file, or anything in a copied folder,
    /// which git ignores.
    pub(crate) fn covers(&self, folder: &Path, path: &Path) -> bool {
        match self.files.get(path) {
            Some(stamp) => stamp_of(&folder.join(path)) == Some(*stamp),
            None => {
                path == Path::new(STATE_FOLDER).join(STATE_FILE)
                    || self.folders.iter().any(|folder| path.starts_with(folder))
            }
        }
    }
}

/// The stamp of a file. Every write changes ctime, which no program can reset.
pub(crate) fn stamp_of(path: &Path) -> Option<Stamp> {
    let meta = path.symlink_metadata().ok()?;
    let nanoseconds = meta.ctime().checked_mul(1_000_000_000)?;
    Some((meta.len(), nanoseconds.checked_add(meta.ctime_nsec())?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files;

    #[test]
    fn a_brought_file_is_work_once_it_was_changed() {
        let dir = tempfile::tempdir().unwrap();
        files::replace(&dir.path().join("a"), b"1").unwrap();
        let brought = [
            Brought {
                path: "a".into(),
                stamp: stamp_of(&dir.path().join("a")),
            },
            Brought {
                path: "target".into(),
                stamp: None,
            },
        ];
        let covers = |path: &str| IgnoredFiles::of(&brought).covers(dir.path(), Path::new(path));
        assert!(covers("a"));
        assert!(covers("target/debug/app"));
        assert!(!covers("b"));
        assert!(!covers("targets"));
        files::replace(&dir.path().join("a"), b"22").unwrap();
        assert!(!covers("a"));
    }
}
