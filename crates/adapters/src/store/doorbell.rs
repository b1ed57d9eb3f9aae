//! Notifies the owners of runs that another process delivered something, so that they need not wait
//! for their next check of the journal.
//!
//! The deliverer opens a file beside the database for writing and closes it; owners watch that file
//! with inotify. A lost notification only delays them until the next check.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// Events for a single file, without its name, have 16 bytes.
const BUFFER: usize = 1024;

fn bell_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-bell");
    PathBuf::from(name)
}

/// Notifies every listening owner.
pub(super) fn ring(database: &Path) {
    if let Err(error) = touch(&bell_of(database)) {
        tracing::debug!(target: "drive::store", "cannot ring: {error}");
    }
}

fn touch(bell: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o600);
    options.open(bell).map(drop)
}

/// Calls `wake` after each notification until the returned value is dropped. `None` if the file
/// cannot be watched.
pub(super) fn listen(database: &Path, wake: Box<dyn Fn() + Send>) -> Option<Listening> {
    let started = start(&bell_of(database), wake);
    if let Err(error) = &started {
        tracing::debug!(target: "drive::store", "cannot listen: {error}");
    }
    started.ok()
}

fn start(bell: &Path, wake: Box<dyn Fn() + Send>) -> io::Result<Listening> {
    touch(bell)?;
    let watch = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    inotify::add_watch(&watch, bell, WatchFlags::CLOSE_WRITE)?;
    let (stopped, stop) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let thread = std::thread::Builder::new()
        .name("doorbell".to_owned())
        .spawn(move || hear(&watch, &stopped, &wake))?;
    Ok(Listening {
        stop: Some(stop),
        thread: Some(thread),
    })
}

fn hear(watch: &OwnedFd, stopped: &OwnedFd, wake: &dyn Fn()) {
    let mut buffer = [0; BUFFER];
    loop {
        let mut ready = [
            PollFd::new(watch, PollFlags::IN),
            PollFd::new(stopped, PollFlags::IN),
        ];
        match poll(&mut ready, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(_) => return,
        }
        // The other end of the pipe is closed when the listener is dropped.
        if !ready[1].revents().is_empty() {
            return;
        }
        match rustix::io::read(watch, &mut buffer) {
            Ok(_) => wake(),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Listens until it is dropped.
pub(super) struct Listening {
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn a_ring_wakes_everybody_who_listens_until_they_stop() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("drive.db");
        let (heard, hears) = channel();
        let listening: Vec<Listening> = (0..2)
            .map(|number| {
                let heard = heard.clone();
                let wake = Box::new(move || heard.send(number).unwrap());
                listen(&database, wake).unwrap()
            })
            .collect();
        ring(&database);
        let patience = Duration::from_secs(20);
        // The start of the second listener may also wake the first.
        let mut woken = BTreeSet::new();
        while woken.len() < 2 {
            woken.insert(hears.recv_timeout(patience).unwrap());
        }
        drop(listening);
        while hears.try_recv().is_ok() {}
        ring(&database);
        assert!(hears.recv_timeout(Duration::from_millis(50)).is_err());
    }
}
