//! Locks between processes: a file that is locked while it is open.

use drive_core::problem::{Kind, Problem};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// A held lock. It is released when it is dropped, or when the process ends.
#[derive(Debug)]
pub(crate) struct FileLock {
    _file: File,
}

impl FileLock {
    /// Waits for the lock, and writes `what` into its file for processes that wait in vain.
    pub(crate) fn acquire(path: &Path, what: &str, wait: Duration) -> Result<Self, Problem> {
        const PAUSE: Duration = Duration::from_millis(5);
        let deadline = Instant::now() + wait;
        loop {
            if let Some(lock) = Self::try_acquire(path, what)? {
                return Ok(lock);
            }
            if Instant::now() >= deadline {
                return Err(held(path, wait));
            }
            thread::sleep(PAUSE);
        }
    }

    /// Takes the lock; `None` if another process holds it.
    pub(super) fn try_acquire(path: &Path, what: &str) -> Result<Option<Self>, Problem> {
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|error| super::problems::storage_problem(path, &error))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK | Errno::INTR) => return Ok(None),
            Err(error) => return Err(super::problems::storage_problem(path, &error.into())),
        }
        // The text is only informative; the lock holds without it.
        let _ = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| write!(file, "process {}, {what}", std::process::id()));
        Ok(Some(Self { _file: file }))
    }
}

fn held(path: &Path, wait: Duration) -> Problem {
    let mut holder = String::new();
    if let Ok(file) = File::open(path) {
        let _ = file.take(200).read_to_string(&mut holder);
    }
    if holder.is_empty() {
        holder.push_str("another process");
    }
    Problem::new(
        Kind::LockHeld,
        format!(
            "`{}` has been locked by {holder} for more than {} s",
            path.display(),
            wait.as_secs()
        ),
    )
    .hint("wait for that process to end, or check what it is doing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_names_its_holder_and_comes_free_when_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let first = FileLock::acquire(&path, "creating `a`", Duration::ZERO).unwrap();
        let problem = FileLock::acquire(&path, "creating `b`", Duration::ZERO).unwrap_err();
        assert_eq!(problem.kind, Kind::LockHeld);
        let holder = format!("locked by process {}, creating `a`", std::process::id());
        assert!(problem.message.contains(&holder), "{}", problem.message);
        drop(first);
        assert!(
            FileLock::try_acquire(&path, "creating `b`")
                .unwrap()
                .is_some()
        );
    }
}
