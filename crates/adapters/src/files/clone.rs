//! Copies that share blocks if the file system supports it.
//!
//! Hard links are never used: writing to a linked copy would change the original, and a read-only
//! mode does not stop the owner.

use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// How a file was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloneOutcome {
    /// The copy shares its blocks until either side is written.
    Shared,
    /// This many bytes were copied.
    Copied(u64),
}

/// Copies a regular file with its permissions and times to a new name.
pub fn clone_file(from: &Path, to: &Path) -> io::Result<CloneOutcome> {
    let mut source = File::options()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(from)?;
    let meta = source.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let mut target = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to)?;
    let outcome = match rustix::fs::ioctl_ficlone(&target, &source) {
        Ok(()) => CloneOutcome::Shared,
        Err(_) => CloneOutcome::Copied(io::copy(&mut source, &mut target)?),
    };
    target.set_permissions(PermissionsExt::from_mode(meta.mode() & 0o777))?;
    // Build tools compare times: a copy newer than its source would be built again.
    if let Ok(modified) = meta.modified() {
        target.set_modified(modified)?;
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_has_content_mode_and_time_and_is_a_file_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("a"), dir.path().join("b"));
        crate::files::replace(&from, b"text").unwrap();
        std::fs::set_permissions(&from, PermissionsExt::from_mode(0o750)).unwrap();
        clone_file(&from, &to).unwrap();
        let (old, new) = (from.metadata().unwrap(), to.metadata().unwrap());
        assert_eq!(std::fs::read(&to).unwrap(), b"text");
        assert_eq!(old.mode(), new.mode());
        assert_eq!(old.modified().unwrap(), new.modified().unwrap());
        assert_ne!(old.ino(), new.ino());
        assert_eq!(old.nlink(), 1);
    }

    #[test]
    fn a_link_or_an_existing_name_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        crate::files::replace(&file, b"text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(clone_file(&link, &dir.path().join("new")).is_err());
        assert!(clone_file(&file, &link).is_err());
    }
}
