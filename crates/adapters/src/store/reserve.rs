//! Reserves disk space for drive's own records, so that a full disk loses no verdict.

use rustix::fs::{FallocateFlags, fallocate, statvfs};
use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The name of the file in the state directory.
const NAME: &str = "reserve";
/// The size of the reserve: thousands of events, or dozens of reports.
const SIZE: u64 = 8 << 20;
/// With less free space than this, the disk counts as full for records.
const LITTLE: u64 = 4 << 20;
/// With at least this much free space, the reserve is taken or restored.
const PLENTY: u64 = 8 * SIZE;

/// The reserved space of one state directory. Every process may release it, and take it again.
#[derive(Debug)]
pub struct Reserve {
    path: PathBuf,
    /// Whether this process saw that the reserve exists.
    is_held: AtomicBool,
}

impl Reserve {
    /// The reserve of this state directory. This does not take it yet.
    pub fn of(state: &Path) -> Self {
        Self {
            path: state.join(NAME),
            is_held: AtomicBool::new(false),
        }
    }

    /// Called before a record is written: releases the reserve if there is hardly any free space, and takes
    /// it if there is plenty. Does nothing if the file system cannot report free space or reserve it.
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

    /// Releases the reserve, and returns whether there was one.
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
            // An incomplete file is no reserve.
            let _ = fs::remove_file(&self.path);
        }
        Ok(taken?)
    }
}

/// The number of bytes that this user may still write there.
fn free(folder: &Path) -> Option<u64> {
    let about = statvfs(folder).ok()?;
    Some(about.f_bavail.saturating_mul(about.f_frsize))
}
