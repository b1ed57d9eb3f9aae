use super::files::unusable;
use drive_core::Problem;
use drive_core::agent::{Redactor, Secrets};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The name of the log of the agent's redacted output in a run's scratch folder.
pub const TRANSCRIPT: &str = "agent.log";

/// An agent's redacted output, up to a size.
pub(super) struct Transcript {
    file: File,
    stdout: Redactor,
    stderr: Redactor,
    left: u64,
}

impl Transcript {
    /// Continues the log of earlier rounds.
    pub(super) fn open(folder: &Path, secrets: &Secrets, max_bytes: u64) -> Result<Self, Problem> {
        let path = folder.join(TRANSCRIPT);
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| unusable(&path).because(error))?;
        Ok(Self {
            file,
            stdout: Redactor::new(secrets.clone()),
            stderr: Redactor::new(secrets.clone()),
            left: max_bytes,
        })
    }

    pub(super) fn stdout(&mut self, bytes: &[u8]) {
        // A full log takes no more, so nothing needs to be redacted for it.
        if self.left == 0 {
            return;
        }
        let clean = self.stdout.push(bytes);
        self.write(&clean);
    }

    pub(super) fn stderr(&mut self, bytes: &[u8]) {
        if self.left == 0 {
            return;
        }
        let clean = self.stderr.push(bytes);
        self.write(&clean);
    }

    pub(super) fn finish(&mut self) {
        let clean = [self.stdout.finish(), self.stderr.finish()].concat();
        self.write(&clean);
    }

    /// Writes to the log. A failed write, for example on a full disk, must not stop the agent.
    fn write(&mut self, clean: &[u8]) {
        if self.left == 0 || clean.is_empty() {
            return;
        }
        let take = usize::try_from(self.left).map_or(clean.len(), |left| left.min(clean.len()));
        self.left -= take as u64;
        let _ = self.file.write_all(&clean[..take]);
        if self.left == 0 {
            let _ = self
                .file
                .write_all(b"\n[log limit reached; the rest is omitted]\n");
        }
    }
}
