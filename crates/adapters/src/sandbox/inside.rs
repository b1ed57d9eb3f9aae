//! Writes files into a folder in which an agent works.
//!
//! The agent may have replaced the file or a parent folder by a link. So each step starts from an
//! open folder and follows no link: a link in the file's place is replaced, one in the path is
//! refused.

use crate::files::FOLDER;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, fchmod, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Component, Path};

/// Writes a file at a path relative to `top`.
pub(super) fn write(top: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    let mut folder: OwnedFd = openat(CWD, top, FOLDER, Mode::empty())?;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        if parts.peek().is_none() {
            return replace(folder.as_fd(), name, content, true);
        }
        folder = openat(&folder, name, FOLDER, Mode::empty())?;
    }
    Err(io::ErrorKind::InvalidInput.into())
}

/// Removes a file at a path relative to `top`, and the folders above it that are then empty. A
/// missing file is fine. The path may come from an agent: it cannot leave `top`.
pub(super) fn remove(top: &Path, path: &Path) -> io::Result<()> {
    let mut folders: Vec<OwnedFd> = vec![openat(CWD, top, FOLDER, Mode::empty())?];
    let mut names = Vec::new();
    for part in path.components() {
        let Component::Normal(name) = part else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        names.push(name);
    }
    let Some((file, above)) = names.split_last() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    for name in above {
        let Some(last) = folders.last() else {
            break;
        };
        match openat(last, *name, FOLDER, Mode::empty()) {
            Ok(folder) => folders.push(folder),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    let Some(last) = folders.pop() else {
        return Ok(());
    };
    match unlinkat(&last, *file, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    drop(last);
    for (folder, name) in folders.iter().zip(above).rev() {
        if unlinkat(folder, *name, AtFlags::REMOVEDIR).is_err() {
            break;
        }
    }
    Ok(())
}

/// Replaces a file atomically: whenever this process ends, the file has its old or its new content;
/// with `durably` even after a power cut. Anything in the file's place is replaced itself, and
/// never written through.
pub(super) fn replace(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    content: &[u8],
    durably: bool,
) -> io::Result<()> {
    let (temporary, mut file) = create_temporary(folder, name)?;
    let written = file
        .write_all(content)
        .and_then(|()| keep_mode(folder, name, &file))
        .and_then(|()| if durably { file.sync_all() } else { Ok(()) })
        .and_then(|()| Ok(renameat(folder, &temporary, folder, name)?));
    if written.is_err() {
        // The unfinished copy is useless, so a failure to remove it does not matter.
        let _ = unlinkat(folder, &temporary, AtFlags::empty());
    }
    written
}

fn create_temporary(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<(String, File)> {
    const TRIES: u32 = 100;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o644);
    let name = name.to_string_lossy();
    for attempt in 0..TRIES {
        let name = format!("{name}.{}.{attempt}.tmp", std::process::id());
        match openat(folder, &name, flags, mode) {
            Ok(file) => return Ok((name, File::from(file))),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Gives the new file the permissions of the old one.
fn keep_mode(folder: BorrowedFd<'_>, name: &OsStr, file: &File) -> io::Result<()> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(old) if FileType::from_raw_mode(old.st_mode) == FileType::RegularFile => {
            Ok(fchmod(file, Mode::from_raw_mode(old.st_mode & 0o777))?)
        }
        Ok(_) | Err(_) => Ok(()),
    }
}
