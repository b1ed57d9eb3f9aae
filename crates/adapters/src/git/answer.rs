use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// How the system tells a full disk, which git hands on.
const DISK_FULL: [&str; 2] = ["No space left on device", "Disk quota exceeded"];
/// How much of its complaint is shown.
const COMPLAINT_BYTES: usize = 2048;

/// What git answered. It ended by itself; whether its exit code is good is the caller's question.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error, for people.
    pub stderr: Vec<u8>,
    pub(super) withheld: Vec<String>,
    pub(super) asked: String,
}

impl Answer {
    /// Itself; an exit code other than 0 is a problem.
    pub fn require(self) -> Result<Self, Problem> {
        match self.code {
            0 => Ok(self),
            _ => Err(self.problem()),
        }
    }

    /// Standard output as one line of text, without the line's end.
    pub fn line(&self) -> String {
        String::from_utf8_lossy(&self.stdout)
            .trim_end_matches(['\n', '\r'])
            .to_owned()
    }

    /// Standard output as the id of one commit; anything else is a problem.
    pub fn sha(&self) -> Result<CommitSha, Problem> {
        CommitSha::parse(&self.line()).ok_or_else(|| self.problem())
    }

    /// Standard output as one path.
    pub fn path(&self) -> PathBuf {
        let bytes = self.stdout.strip_suffix(b"\n").unwrap_or(&self.stdout);
        PathBuf::from(OsString::from_vec(bytes.to_vec()))
    }

    /// Standard output split at NULs, without the empty end.
    pub fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let bytes = self.stdout.strip_suffix(b"\0").unwrap_or(&self.stdout);
        bytes
            .split(|byte| *byte == 0)
            .filter(move |_| !bytes.is_empty())
    }

    /// The end of what git complained, for people.
    pub fn complaint(&self) -> String {
        let start = self.stderr.len().saturating_sub(COMPLAINT_BYTES);
        String::from_utf8_lossy(&self.stderr[start..])
            .trim()
            .to_owned()
    }

    /// Whether a disk had no room for what git wrote. It removes the file that did not fit, so that
    /// there may be room again.
    pub(crate) fn met_full_disk(&self) -> bool {
        let complaint = self.complaint();
        DISK_FULL.iter().any(|text| complaint.contains(text))
    }

    /// The general problem, where nothing more precise is known.
    pub fn problem(&self) -> Problem {
        if self.met_full_disk() {
            return Problem::new(
                Kind::DiskFull,
                format!("`git {}` found the disk full", self.asked),
            )
            .cause(self.complaint())
            .hint("free some space, then try again");
        }
        let problem = Problem::new(
            Kind::GitFailed,
            format!("`git {}` failed (exit code {})", self.asked, self.code),
        )
        .cause(self.complaint());
        if self.withheld.is_empty() {
            return problem;
        }
        problem.hint(format!(
            "programs named by the repository's own config are not run ({}); set them in your global config if you need them",
            self.withheld.join(", ")
        ))
    }
}

/// A path from bytes git printed.
pub(crate) fn path_from(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}
