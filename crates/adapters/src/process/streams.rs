//! Reads both output streams of a child without blocking.

use super::capture::{CHUNK, Capture};
use drive_core::process::{Limits, StreamReport};
use drive_engine::ports::Stream;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// A larger pipe needs fewer context switches between the child and its reader.
pub(super) const PIPE_BYTES: usize = 1 << 20;

/// The names of the log files.
pub(super) const LOGS: [&str; 2] = ["stdout.log", "stderr.log"];

/// The reading ends while they are open, and what was read from them.
pub(super) struct Streams {
    ends: [Option<OwnedFd>; 2],
    captures: [Capture; 2],
    buffer: Vec<u8>,
}

/// The streams in the order of the arrays.
pub(super) const ORDER: [Stream; 2] = [Stream::Stdout, Stream::Stderr];

impl Streams {
    /// Takes the reading ends of both pipes.
    pub(super) fn new(
        stdout: OwnedFd,
        stderr: OwnedFd,
        limits: &Limits,
        log_dir: Option<&Path>,
    ) -> io::Result<Self> {
        for end in [&stdout, &stderr] {
            fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
            // The kernel refuses this if the user has many large pipes; the default size works as well.
            let _ = rustix::pipe::fcntl_setpipe_size(end, PIPE_BYTES);
        }
        let capture = |name| match log_dir {
            Some(folder) => Capture::logged(limits.tail_bytes, folder, name, limits.log_bytes),
            None => Ok(Capture::new(limits.tail_bytes)),
        };
        Ok(Self {
            ends: [Some(stdout), Some(stderr)],
            captures: [capture(LOGS[0])?, capture(LOGS[1])?],
            buffer: vec![0; CHUNK],
        })
    }

    /// The end to poll; `None` after it was closed.
    pub(super) fn end(&self, index: usize) -> Option<BorrowedFd<'_>> {
        self.ends[index].as_ref().map(AsFd::as_fd)
    }

    /// Whether any stream is still open.
    pub(super) fn any_open(&self) -> bool {
        self.ends.iter().any(Option::is_some)
    }

    /// The number of bytes on both streams.
    pub(super) fn total_bytes(&self) -> u64 {
        self.captures.iter().map(Capture::total_bytes).sum()
    }

    /// Reads up to one buffer from a stream and passes it on. Returns whether there was something to read.
    pub(super) fn read(&mut self, index: usize, mut hand_on: impl FnMut(&[u8])) -> bool {
        let Some(end) = &self.ends[index] else {
            return false;
        };
        match rustix::io::read(end, &mut self.buffer[..]) {
            Ok(0) => self.ends[index] = None,
            Ok(count) => {
                let bytes = &self.buffer[..count];
                self.captures[index].push(bytes);
                hand_on(bytes);
                return true;
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            Err(_) => self.ends[index] = None,
        }
        false
    }

    /// Stops reading, and returns the reports.
    pub(super) fn finish(self) -> [StreamReport; 2] {
        self.captures.map(Capture::finish)
    }
}
