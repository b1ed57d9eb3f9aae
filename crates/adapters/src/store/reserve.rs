//! Room on the disk that only drive's own records use, so that a full disk loses no verdict.

use rustix::fs::{FallocateFlags, fallocate, statvfs};
use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The file, in the state directory.
const NAME: &str = "reserve";
/// How much is kept back: thousands of events, or dozens of reports.
const SIZE: u64 = 8 << 20;
/// With less than this the disk counts as full for records.
const LITTLE: u64 = 4 << 20;
/// With this much the room is taken, also again.
const PLENTY: u64 = 8 * SIZE;

/// The reserved room of one state directory. Every process may give it up, and take it again.
#[derive(Debug)]
pub struct Reserve {
    path: PathBuf,
    /// Whether this process saw that it is there.
    is_held: AtomicBool,
}

impl Reserve {
    /// The room that is reserved in this state directory; nothing is done yet.
    pub fn of(state: &Path) -> Self {
        Self {
            path: state.join(NAME),
            is_held: AtomicBool::new(false),
        }
    }

    /// Before a record is written: gives the room up where hardly any is left, and takes it where there is
    /// plenty. A file system that cannot tell or reserve is left as it is.
    pub fn make_room(&self) {
        let Some(free) = self.path.parent().and_then(free) else {
            return;
        };
        if free < LITTLE {
            self.give_up();
        } else if free >= PLENTY && !self.is_held.load(Ordering::Relaxed) {
            self.is_held.store(self.take().is_ok(), Ordering::Relaxed);
        }
    }

    /// Gives the room up, and tells whether there was some.
    pub fn give_up(&self) -> bool {
        self.is_held.store(false, Ordering::Relaxed);
        fs::remove_file(&self.path).is_ok()
    }

    fn take(&self) -> std::io::Result<()> {
        if fs::symlink_metadata(&self.path).is_ok_and(|there| there.len() >= SIZE) {
            return Ok(());
        }
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&self.path)?;
        let taken = fallocate(&file, FallocateFlags::empty(), 0, SIZE);
        if taken.is_err() {
            // Half of it is no reserve.
            let _ = fs::remove_file(&self.path);
        }
        Ok(taken?)
    }
}

/// The bytes that this user may still write there.
fn free(folder: &Path) -> Option<u64> {
    let about = statvfs(folder).ok()?;
    Some(about.f_bavail.saturating_mul(about.f_frsize))
}
