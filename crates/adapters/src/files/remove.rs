//! Removes any tree, even with folders nobody may enter or paths longer than the kernel allows.
//!
//! Instead of descending, each folder's subfolders are moved up into the root. Two open folders are
//! enough for any depth, and no path is ever longer than one name.

use super::{FOLDER, OWNER_ALL};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Removes a tree whose root is a folder, a file or a link, if it exists. Links are removed, never
/// followed; another file system mounted inside is an error.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let meta = match path.symlink_metadata() {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if meta.is_dir() {
        Removal::of(path)?.finish(path)
    } else {
        std::fs::remove_file(path)
    }
}

/// A tree that is being removed.
struct Removal {
    root: OwnedFd,
    device: u64,
    /// How many folders were renamed.
    moved: u64,
    /// How many entries were handled: each once in its place, and each folder again in the root.
    met: u64,
}

impl Removal {
    fn of(path: &Path) -> io::Result<Self> {
        let root = open_folder(rustix::fs::CWD, &c_name(path)?)?;
        let device = rustix::fs::fstat(&root)?.st_dev;
        Ok(Self {
            root,
            device,
            moved: 0,
            met: 0,
        })
    }

    fn finish(mut self, path: &Path) -> io::Result<()> {
        self.empty()?;
        drop(self.root);
        std::fs::remove_dir(path)
    }

    /// Empties the tree by levels: the contents of one level's folders are the next level.
    fn empty(&mut self) -> io::Result<()> {
        loop {
            let level = self.unlink_files()?;
            if level.is_empty() {
                return Ok(());
            }
            for name in level {
                let folder = self.open(self.root.as_fd(), &name)?;
                self.flatten(folder.as_fd())?;
                drop(folder);
                rustix::fs::unlinkat(&self.root, &name, AtFlags::REMOVEDIR)?;
            }
        }
    }

    /// Unlinks everything in the root except folders, which it returns.
    fn unlink_files(&mut self) -> io::Result<Vec<CString>> {
        let mut folders = Vec::new();
        let root = self.root.as_fd();
        for_each_entry(root, |name, is_folder| {
            self.met += 1;
            if is_folder {
                folders.push(name.to_owned())
            } else {
                unlink(root, name)?
            }
            Ok(())
        })?;
        Ok(folders)
    }

    /// Empties a folder: files are unlinked, and subfolders are moved up into the root under new names.
    fn flatten(&mut self, folder: BorrowedFd<'_>) -> io::Result<()> {
        for_each_entry(folder, |name, is_folder| {
            self.met += 1;
            if !is_folder {
                return unlink(folder, name);
            }
            // An empty folder need not be moved, and most of the deepest ones are empty by now.
            if rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR).is_ok() {
                return Ok(());
            }
            // Moving a folder rewrites its `..`, which needs write permission on it.
            self.open(folder, name)?;
            self.move_up(folder, name)
        })
    }

    fn move_up(&mut self, folder: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
        loop {
            self.moved += 1;
            let fresh = format!(".drive-{}", self.moved);
            match rustix::fs::renameat(folder, name, &self.root, &fresh) {
                Ok(()) => return Ok(()),
                // A folder of that name exists already; there are finitely many.
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Opens a folder of this tree. A folder of another file system is refused.
    fn open(&self, parent: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
        let folder = open_folder(parent, name)?;
        if rustix::fs::fstat(&folder)?.st_dev == self.device {
            Ok(folder)
        } else {
            Err(io::ErrorKind::CrossesDevices.into())
        }
    }
}

/// Restores the permissions that a folder's owner needs to work in it and to move it. No link is followed.
pub fn make_usable(folder: &Path) -> io::Result<()> {
    open_folder(rustix::fs::CWD, &c_name(folder)?).map(drop)
}

/// Restores the permissions that the owner needs to read a tree. Returns the folders, at most eight
/// names deep, with files that still cannot be read: because their path is too long, or they belong
/// to another user.
///
/// Only one folder is open at a time, and `..` leads back up, so any depth works.
pub fn make_readable(path: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let mut walk = Walk {
        here: open_folder(rustix::fs::CWD, &c_name(path)?)?,
        length: path.as_os_str().len(),
        levels: Vec::new(),
        unreachable: BTreeSet::new(),
    };
    walk.enter(c"")?;
    while let Some(level) = walk.levels.last_mut() {
        match level.folders.pop() {
            Some(name) => match open_folder(walk.here.as_fd(), &name) {
                Ok(folder) => {
                    walk.here = folder;
                    walk.enter(&name)?;
                }
                Err(_) => walk.note(),
            },
            None => walk.leave()?,
        }
    }
    Ok(walk.unreachable)
}

/// The longest path that the kernel accepts, without the final zero byte.
const PATH_BYTES: usize = 4095;
/// How many names identify a folder well enough.
const PREFIX_NAMES: usize = 8;

/// A walk through a tree.
struct Walk {
    here: OwnedFd,
    /// The length of the path to `here`.
    length: usize,
    levels: Vec<Level>,
    unreachable: BTreeSet<PathBuf>,
}

/// A folder on the way down.
struct Level {
    name: CString,
    folders: Vec<CString>,
}

impl Walk {
    fn enter(&mut self, name: &CStr) -> io::Result<()> {
        self.length += name.to_bytes().len() + 1;
        let mut folders = Vec::new();
        let mut reached = true;
        for_each_entry(self.here.as_fd(), |name, is_folder| {
            if is_folder {
                folders.push(name.to_owned());
            } else {
                reached &= self.length + name.to_bytes().len() <= PATH_BYTES
                    && made_readable(self.here.as_fd(), name);
            }
            Ok(())
        })?;
        self.levels.push(Level {
            name: name.to_owned(),
            folders,
        });
        if !reached {
            self.note();
        }
        Ok(())
    }

    fn leave(&mut self) -> io::Result<()> {
        if let Some(level) = self.levels.pop() {
            self.length -= level.name.as_bytes().len() + 1;
        }
        if !self.levels.is_empty() {
            self.here = rustix::fs::openat(&self.here, c"..", FOLDER, Mode::empty())?;
        }
        Ok(())
    }

    fn note(&mut self) {
        let names = self.levels.iter().skip(1).take(PREFIX_NAMES);
        let prefix = names.map(|level| OsStr::from_bytes(level.name.as_bytes()));
        self.unreachable.insert(prefix.collect());
    }
}

fn unlink(folder: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn for_each_entry(
    folder: BorrowedFd<'_>,
    mut visit: impl FnMut(&CStr, bool) -> io::Result<()>,
) -> io::Result<()> {
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
            kind = FileType::from_raw_mode(stat.st_mode);
        }
        visit(name, kind.is_dir())?;
    }
    Ok(())
}

/// Opens a folder, after restoring its owner's permissions if necessary.
fn open_folder(parent: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    let handle = rustix::fs::openat(
        parent,
        name,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&handle)?.st_mode);
    if !mode.contains(OWNER_ALL) {
        // The handle is used, so that nobody can replace the folder by a link meanwhile.
        rustix::fs::chmod(
            format!("/proc/self/fd/{}", handle.as_raw_fd()),
            mode | OWNER_ALL,
        )?;
    }
    Ok(rustix::fs::openat(&handle, c".", FOLDER, Mode::empty())?)
}

/// Whether a file's owner can read it, after restoring that permission if necessary.
fn made_readable(folder: BorrowedFd<'_>, name: &CStr) -> bool {
    let Ok(stat) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
        return false;
    };
    let mode = Mode::from_raw_mode(stat.st_mode);
    let is_file = FileType::from_raw_mode(stat.st_mode).is_file();
    !is_file
        || mode.contains(Mode::RUSR)
        || rustix::fs::chmodat(folder, name, mode | Mode::RUSR, AtFlags::empty()).is_ok()
}

fn c_name(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of entries handled while a tree of `wide` folders is emptied, each with three
    /// more below and a file in each; and the number of existing entries.
    fn met(wide: u64) -> (u64, u64) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("tree");
        for folder in 0..wide {
            let mut path = root.join(folder.to_string());
            for name in ["a", "b", "c"] {
                path.push(name);
                std::fs::create_dir_all(&path).unwrap();
                super::super::replace(&path.join("file"), b"x").unwrap();
            }
        }
        let mut removal = Removal::of(&root).unwrap();
        removal.empty().unwrap();
        let met = removal.met;
        removal.finish(&root).unwrap();
        assert!(!root.exists());
        (met, wide * 7)
    }

    #[test]
    fn no_entry_is_met_more_than_twice_however_many_folders_there_are() {
        for wide in [10, 300] {
            let (met, entries) = met(wide);
            assert!(met <= 2 * entries, "{met} of {entries}");
        }
    }
}
