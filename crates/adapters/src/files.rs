//! Files: atomic replacement, block-sharing copies, and removal of any tree.

mod clone;
mod remove;

pub use clone::{CloneOutcome, clone_file};
pub use remove::{make_readable, make_usable, remove_tree};

use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Reads the last bytes of a file, at most `most`.
pub fn load_tail(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let length = std::fs::metadata(path)?.len();
    load_from(path, length.saturating_sub(most), most)
}

/// Reads the bytes of a file from `start`, at most `most`.
pub fn load_from(path: &Path, start: u64, most: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(io::SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the first bytes of a regular file, at most `most`. Nothing else is opened: a link may lead
/// anywhere, and a pipe may block forever.
pub fn load_plain(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Replaces a file atomically: after a crash at any moment it has the old or the new content. A
/// link is followed, so its target is replaced.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let parent = parent_of(&target)?;
    let (temporary, mut file) = create_beside(&target)?;
    let written = file
        .write_all(content)
        .and_then(|()| keep_mode(&target, &file))
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::rename(&temporary, &target))
        .and_then(|()| sync_dir(parent));
    if written.is_err() {
        // The unfinished copy is useless; a failure to remove it has no effect.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// Writes a file for another program, and creates its folder if missing. A pipe or a device is
/// written to and not replaced.
pub fn deliver(path: &Path, content: &[u8]) -> io::Result<()> {
    let path = std::path::absolute(path)?;
    match std::fs::metadata(&path) {
        Ok(known) if !known.is_file() && !known.is_dir() => {
            File::options().write(true).open(&path)?.write_all(content)
        }
        Ok(_) | Err(_) => {
            std::fs::create_dir_all(parent_of(&path)?)?;
            replace(&path, content)
        }
    }
}

/// Appends the text that `content` returns for the file's current size.
pub fn append(path: &Path, content: impl FnOnce(u64) -> String) -> io::Result<()> {
    let mut file = File::options().append(true).create(true).open(path)?;
    let size = file.metadata()?.len();
    file.write_all(content(size).as_bytes())
}

/// Removes a file durably, if it exists.
pub fn remove_file(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Ok(()) => sync_dir(parent_of(path)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes created, renamed and removed names in a folder durable.
pub fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Whether a disk is full, judged from its counters and not from an error message.
pub fn is_full(path: &Path) -> bool {
    const ROOM_BYTES: u64 = 256 << 10;
    disk_of(path).is_some_and(|disk| {
        let has_inodes = disk.f_files == 0 || disk.f_favail > 8;
        disk.f_bavail * disk.f_frsize < ROOM_BYTES || !has_inodes
    })
}

/// How many bytes can still be written on the disk of a path.
pub fn free_bytes(path: &Path) -> Option<u64> {
    disk_of(path).map(|disk| disk.f_bavail * disk.f_frsize)
}

fn disk_of(path: &Path) -> Option<rustix::fs::StatVfs> {
    path.ancestors()
        .find_map(|dir| rustix::fs::statvfs(dir).ok())
}

fn create_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    const TRIES: u32 = 100;
    let name = target
        .file_name()
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for attempt in 0..TRIES {
        let mut temporary = name.to_owned();
        temporary.push(format!(".{}.{attempt}.tmp", std::process::id()));
        let temporary = target.with_file_name(temporary);
        match File::options()
            .write(true)
            .create_new(true)
            .open(&temporary)
        {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

fn keep_mode(target: &Path, file: &File) -> io::Result<()> {
    match std::fs::metadata(target) {
        Ok(old) => file.set_permissions(old.permissions()),
        Err(_) => Ok(()),
    }
}

fn parent_of(path: &Path) -> io::Result<&Path> {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
}

/// Flags to open a folder without following a link to it.
pub(crate) const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The permissions that the owner of a folder needs to work in it.
const OWNER_ALL: Mode = Mode::RWXU;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_has_the_new_content_and_the_old_mode() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        replace(&path, b"one").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_delivered_file_gets_its_folder_and_replaces_no_device() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/folder/file");
        deliver(&path, b"one").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        let link = dir.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        deliver(&link, b"two").unwrap();
        let device = std::fs::metadata("/dev/null").unwrap();
        assert!(!device.is_file() && std::fs::symlink_metadata(&link).unwrap().is_symlink());
        let below_a_file = path.join("file");
        assert!(deliver(&below_a_file, b"x").is_err());
    }

    #[test]
    fn appended_text_may_depend_on_the_size_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        append(&path, |size| format!("{size};")).unwrap();
        append(&path, |size| format!("{size};")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"0;2;");
    }

    #[test]
    fn a_failed_replacement_leaves_the_old_content() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("folder");
        std::fs::create_dir(&path).unwrap();
        assert!(replace(&path, b"x").is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
