//! Removal of any tree: folders nobody may enter, paths longer than the kernel takes.
//!
//! Instead of descending, each folder's subfolders are moved up beside the first one. Two open
//! folders are enough for any depth, and no path is ever longer than one name.

use super::{FOLDER, OWNER_ALL};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Removes a tree whose root is a folder, a file or a link. Fine when there is none. Links are
/// removed, never followed; another file system mounted inside is an error.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let meta = match path.symlink_metadata() {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !meta.is_dir() {
        return std::fs::remove_file(path);
    }
    let root = open_folder(rustix::fs::CWD, &c_name(path)?)?;
    let mut moved = 0u64;
    while let Some(name) = empty_of_files(root.as_fd())? {
        let folder = open_folder(root.as_fd(), &name)?;
        flatten(root.as_fd(), folder.as_fd(), &mut moved)?;
        drop(folder);
        rustix::fs::unlinkat(&root, &name, AtFlags::REMOVEDIR)?;
    }
    drop(root);
    std::fs::remove_dir(path)
}

/// Gives the owner of a folder back what they need to work in it and to move it. No link is followed.
pub fn make_usable(folder: &Path) -> io::Result<()> {
    open_folder(rustix::fs::CWD, &c_name(folder)?).map(drop)
}

/// Gives the owner back what they need to read a tree. Returns the folders, at most eight names
/// deep, with files a path still cannot reach: because it would be too long, or they belong to
/// somebody else.
///
/// One folder is open at a time, and the way back up is `..`, so that no depth is too deep.
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

/// The longest path the kernel takes, without the byte that ends it.
const PATH_BYTES: usize = 4095;
/// How many names tell a folder well enough.
const PREFIX_NAMES: usize = 8;

/// A way through a tree.
struct Walk {
    here: OwnedFd,
    /// Of the path to `here`.
    length: usize,
    levels: Vec<Level>,
    unreachable: BTreeSet<PathBuf>,
}

/// One folder on the way down.
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

/// Unlinks everything but folders, and returns one folder that is left.
fn empty_of_files(folder: BorrowedFd<'_>) -> io::Result<Option<CString>> {
    let mut first = None;
    for_each_entry(folder, |name, is_folder| {
        if is_folder {
            first.get_or_insert_with(|| name.to_owned());
            return Ok(());
        }
        unlink(folder, name)
    })?;
    Ok(first)
}

/// Empties a folder: files are unlinked, subfolders moved up into `root` under fresh names.
fn flatten(root: BorrowedFd<'_>, folder: BorrowedFd<'_>, moved: &mut u64) -> io::Result<()> {
    for_each_entry(folder, |name, is_folder| {
        if !is_folder {
            return unlink(folder, name);
        }
        // An empty folder needs no move, and most of the deepest ones are empty by now.
        if rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR).is_ok() {
            return Ok(());
        }
        // Moving a folder rewrites its `..`, which takes the right to write it.
        open_folder(folder, name)?;
        move_up(root, folder, name, moved)
    })
}

fn move_up(
    root: BorrowedFd<'_>,
    folder: BorrowedFd<'_>,
    name: &CStr,
    moved: &mut u64,
) -> io::Result<()> {
    loop {
        *moved += 1;
        let fresh = format!(".drive-{moved}");
        match rustix::fs::renameat(folder, name, root, &fresh) {
            Ok(()) => return Ok(()),
            // A folder of that name is in the way; there are finitely many.
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
            Err(error) => return Err(error.into()),
        }
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

/// Opens a folder, giving its owner the rights back where they are missing.
fn open_folder(parent: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    let handle = rustix::fs::openat(
        parent,
        name,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&handle)?.st_mode);
    if !mode.contains(OWNER_ALL) {
        // Through the handle, so that nobody can put a link in its place meanwhile.
        rustix::fs::chmod(
            format!("/proc/self/fd/{}", handle.as_raw_fd()),
            mode | OWNER_ALL,
        )?;
    }
    Ok(rustix::fs::openat(&handle, c".", FOLDER, Mode::empty())?)
}

/// Whether a file can be read by its owner, after giving that right back where it was missing.
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
