//! Sends events to drive without blocking while the tree runs.

use super::super::wire::put_event;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// The pipe to drive, and the bytes that do not fit into it yet. The child's output is only read
/// while nothing is pending, so the buffer holds at most one chunk of each stream.
pub(super) struct Outlet {
    pipe: Option<OwnedFd>,
    pending: Vec<u8>,
    sent: usize,
}

impl Outlet {
    /// Takes over the writing end.
    pub(super) fn new(pipe: OwnedFd) -> io::Result<Self> {
        fcntl_setfl(&pipe, fcntl_getfl(&pipe)? | OFlags::NONBLOCK)?;
        Ok(Self {
            pipe: Some(pipe),
            pending: Vec::new(),
            sent: 0,
        })
    }

    /// The end to poll until it accepts data; `None` while there is nothing to send.
    pub(super) fn blocked(&self) -> Option<BorrowedFd<'_>> {
        let pipe = self.pipe.as_ref()?;
        (!self.pending.is_empty()).then(|| pipe.as_fd())
    }

    /// Queues one event and sends what fits.
    pub(super) fn push(&mut self, kind: u8, payload: &[u8]) {
        if self.pipe.is_some() {
            put_event(&mut self.pending, kind, payload);
            self.flush();
        }
    }

    /// Sends what fits. When the reader is gone, sending stops for good.
    pub(super) fn flush(&mut self) {
        while self.sent < self.pending.len() {
            let Some(pipe) = &self.pipe else { break };
            match rustix::io::write(pipe, &self.pending[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return,
                Err(_) => self.close(),
            }
        }
        self.pending.clear();
        self.sent = 0;
    }

    /// Sends everything, and waits for the reader up to a limit.
    pub(super) fn flush_all(&mut self, limit: Duration) {
        let until = Instant::now() + limit;
        while let Some(pipe) = self.blocked() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let mut fds = [PollFd::from_borrowed_fd(pipe, PollFlags::OUT)];
            let _ = poll(&mut fds, Timespec::try_from(left).ok().as_ref());
            self.flush();
        }
    }

    /// Stops sending, because nobody reads any more.
    pub(super) fn close(&mut self) {
        self.pipe = None;
        self.pending.clear();
        self.sent = 0;
    }
}
