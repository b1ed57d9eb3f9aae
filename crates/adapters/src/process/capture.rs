//! Captures one stream: counts its bytes, keeps its tail, and logs its start up to a size limit.

use drive_core::process::StreamReport;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The number of bytes that are read from a stream at once.
pub(super) const CHUNK: usize = 256 << 10;

/// The state of one stream.
pub(super) struct Capture {
    tail: Vec<u8>,
    tail_limit: usize,
    total_bytes: u64,
    log: Option<Log>,
}

struct Log {
    path: PathBuf,
    file: File,
    left: u64,
    error: Option<String>,
}

impl Capture {
    /// Captures a stream without a log.
    pub(super) fn new(tail_bytes: u64) -> Self {
        Self {
            tail: Vec::new(),
            tail_limit: usize::try_from(tail_bytes).unwrap_or(usize::MAX / 4),
            total_bytes: 0,
            log: None,
        }
    }

    /// Captures a stream whose first `log_bytes` are written to a new file.
    pub(super) fn logged(
        tail_bytes: u64,
        folder: &Path,
        name: &str,
        log_bytes: u64,
    ) -> io::Result<Self> {
        let path = folder.join(name);
        let mut options = File::options();
        options.write(true).create(true).truncate(true).mode(0o600);
        let file = options.open(&path)?;
        Ok(Self {
            log: Some(Log {
                path,
                file,
                left: log_bytes,
                error: None,
            }),
            ..Self::new(tail_bytes)
        })
    }

    /// Takes bytes that were read from the stream.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total_bytes += bytes.len() as u64;
        if let Some(log) = &mut self.log {
            log.push(bytes);
        }
        self.keep_end(bytes);
    }

    /// Keeps the last bytes. The buffer may grow to twice the limit before its start is dropped, so
    /// that small writes do not move it each time.
    fn keep_end(&mut self, bytes: &[u8]) {
        if bytes.len() >= self.tail_limit {
            self.tail.clear();
            self.tail
                .extend_from_slice(&bytes[bytes.len() - self.tail_limit..]);
            return;
        }
        self.tail.extend_from_slice(bytes);
        if self.tail.len() >= self.tail_limit * 2 {
            self.tail.drain(..self.tail.len() - self.tail_limit);
        }
    }

    /// The number of bytes so far.
    pub(super) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// The report of the finished stream.
    pub(super) fn finish(mut self) -> StreamReport {
        let excess = self.tail.len().saturating_sub(self.tail_limit);
        self.tail.drain(..excess);
        let (log, log_error) = match self.log {
            Some(log) => (Some(log.path), log.error),
            None => (None, None),
        };
        StreamReport {
            tail: self.tail,
            total_bytes: self.total_bytes,
            log,
            log_error,
        }
    }
}

impl Log {
    /// Writes to the log. If this fails, e.g. because the disk is full, the child continues; the
    /// log ends and records the reason.
    fn push(&mut self, bytes: &[u8]) {
        let take = bytes
            .len()
            .min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if take == 0 || self.error.is_some() {
            return;
        }
        match self.file.write_all(&bytes[..take]) {
            Ok(()) => self.left -= take as u64,
            Err(error) => self.error = Some(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_tail_is_the_end_and_the_log_the_start_of_everything(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20),
            tail in 0u64..50,
            log in 0u64..200,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let mut capture = Capture::logged(tail, folder.path(), "out", log).unwrap();
            for chunk in &chunks {
                capture.push(chunk);
            }
            let all: Vec<u8> = chunks.concat();
            let report = capture.finish();
            prop_assert_eq!(report.total_bytes, all.len() as u64);
            prop_assert_eq!(&report.tail[..], &all[all.len() - all.len().min(tail as usize)..]);
            let logged = std::fs::read(report.log.unwrap()).unwrap();
            prop_assert_eq!(&logged[..], &all[..all.len().min(log as usize)]);
        }
    }
}
