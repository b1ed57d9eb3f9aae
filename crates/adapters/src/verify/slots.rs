use super::liveness::open;
use drive_core::problem::{Kind, Problem};
use drive_core::time::Timestamp;
use drive_engine::CancelToken;
use drive_engine::ports::Clock;
use drive_engine::verify::{Slot, Slots};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The interval at which slots are checked while all are taken.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The limit on simultaneous verifications: one lock file per slot. The kernel releases a slot when
/// its holder dies.
pub struct FileSlots {
    dir: PathBuf,
    clock: Arc<dyn Clock>,
}

impl FileSlots {
    /// Uses slots as files in the existing folder `dir`.
    pub fn new(dir: &Path, clock: Arc<dyn Clock>) -> Self {
        Self {
            dir: dir.to_path_buf(),
            clock,
        }
    }

    fn try_take(&self, at_most: u32) -> Result<Option<File>, Problem> {
        for number in 0..at_most.max(1) {
            let path = self.dir.join(format!("{number}.slot"));
            let failed = |error: std::io::Error| {
                Problem::new(
                    Kind::SlotUnusable,
                    format!("cannot lock `{}`", path.display()),
                )
                .because(error)
            };
            let file = open(&path).map_err(failed)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(file)),
                Err(Errno::WOULDBLOCK) => {}
                Err(error) => return Err(failed(error.into())),
            }
        }
        Ok(None)
    }
}

impl Slots for FileSlots {
    fn acquire(
        &self,
        at_most: u32,
        deadline: Timestamp,
        cancel: &CancelToken,
    ) -> Result<Slot, Problem> {
        loop {
            if let Some(file) = self.try_take(at_most)? {
                return Ok(Slot::new(file));
            }
            if cancel.asked().is_some() {
                return Err(Problem::new(
                    Kind::Interrupted,
                    "interrupted while waiting for other verifications",
                ));
            }
            if self.clock.now() >= deadline {
                return Err(Problem::new(
                    Kind::NoSlot,
                    format!("{at_most} other verifications were running until the deadline"),
                )
                .hint("try again later, or raise `verify.max_parallel` or `verify.deadline`"));
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    fn spare(&self, at_most: u32) -> Option<Slot> {
        self.try_take(at_most).ok().flatten().map(Slot::new)
    }
}
