//! Removal of any tree: folders nobody may enter, paths longer than the kernel takes.
//!
//! Instead of descending, each folder's subfolders are moved up beside the first one. Two open
//! folders are enough for any depth, and no path is ever longer than one name.

use super::{FOLDER, OWNER_ALL};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

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

/// Gives the owner back what they need to read a tree, and returns how many entries could still not
/// be looked at because their path is too long or they belong to somebody else.
pub fn make_readable(path: &Path) -> u64 {
    let mut unseen = 0;
    let mut folders = vec![path.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = open_folder_at(&folder).and_then(|()| std::fs::read_dir(&folder)) else {
            unseen += 1;
            continue;
        };
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => unseen += u64::from(!made_readable(&entry.path())),
                Ok(_) => {}
                Err(_) => unseen += 1,
            }
        }
    }
    unseen
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

fn open_folder_at(path: &Path) -> io::Result<()> {
    open_folder(rustix::fs::CWD, &c_name(path)?).map(drop)
}

fn made_readable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let Ok(meta) = path.symlink_metadata() else {
        return false;
    };
    let mode = meta.permissions().mode();
    mode & 0o400 != 0
        || std::fs::set_permissions(path, PermissionsExt::from_mode(mode | 0o400)).is_ok()
}

fn c_name(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}
