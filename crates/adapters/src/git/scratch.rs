//! A temporary index that leaves the real one unchanged.

use crate::files::FOLDER;
use drive_core::Problem;
use drive_core::problem::Kind;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, openat, unlinkat};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The largest index that is copied, in bytes; it can hold several million files.
const MOST_BYTES: u64 = 1 << 30;

/// A temporary index. Its file is removed with the value.
pub(crate) struct ScratchIndex {
    path: PathBuf,
    folder: OwnedFd,
    name: String,
}

impl ScratchIndex {
    /// A new name in a git directory, for one `purpose`. Files of killed processes with the same
    /// purpose are removed, because a left-over lock would stop git forever.
    pub(crate) fn fresh(git_dir: &Path, purpose: &str) -> Result<Self, Problem> {
        let prefix = format!("drive-{purpose}");
        let folder = open_plain(git_dir, &prefix).map_err(|error| unusable(git_dir, &error))?;
        let number = crate::entropy::random_u32()?;
        let name = format!("{prefix}-{number:08x}.index");
        Ok(Self {
            path: git_dir.join(&name),
            folder,
            name,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Copies the folder's own index with its modification time, by which git recognises files that may have
    /// changed at the same moment. An agent may have replaced it, so only a regular file is read.
    pub(crate) fn copy_own(&self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let own = openat(&self.folder, "index", flags, Mode::empty())?;
        if FileType::from_raw_mode(fstat(&own)?.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("the index is not a regular file"));
        }
        let mut own = File::from(own);
        if own.metadata()?.len() > MOST_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        // An earlier copy is removed first, so that nothing is written through a link.
        let _ = unlinkat(&self.folder, &self.name, AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = Mode::from_raw_mode(0o644);
        let copy = openat(&self.folder, &self.name, flags | OFlags::CLOEXEC, mode)?;
        let mut copy = File::from(copy);
        io::copy(&mut (&mut own).take(MOST_BYTES), &mut copy)?;
        copy.set_modified(own.metadata()?.modified()?)
    }
}

/// Opens a folder that is not a link, and removes files in it whose names begin with `prefix`.
fn open_plain(git_dir: &Path, prefix: &str) -> io::Result<OwnedFd> {
    let folder = openat(CWD, git_dir, FOLDER, Mode::empty())?;
    for entry in Dir::read_from(&folder)?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            // A file that cannot be removed does not matter for another name.
            let _ = unlinkat(&folder, entry.file_name(), AtFlags::empty());
        }
    }
    Ok(folder)
}

impl Drop for ScratchIndex {
    fn drop(&mut self) {
        // A left-over copy is removed with the next one, or with the git directory.
        let _ = unlinkat(&self.folder, &self.name, AtFlags::empty());
    }
}

fn unusable(git_dir: &Path, error: &io::Error) -> Problem {
    Problem::new(
        Kind::IndexUnreadable,
        format!("cannot use `{}`", git_dir.display()),
    )
    .because(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_larger_than_any_repository_needs_is_not_copied() {
        let dir = tempfile::tempdir().unwrap();
        let index = File::create(dir.path().join("index")).unwrap();
        index.set_len(MOST_BYTES + 1).unwrap();
        let scratch = ScratchIndex::fresh(dir.path(), "test").unwrap();
        let refused = scratch.copy_own().unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::FileTooLarge);
        index.set_len(100).unwrap();
        scratch.copy_own().unwrap();
        assert_eq!(scratch.path().metadata().unwrap().len(), 100);
    }
}
