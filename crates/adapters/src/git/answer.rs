use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The system's messages about a full disk, which git passes on.
const DISK_FULL: [&str; 2] = ["No space left on device", "Disk quota exceeded"];
/// How many bytes of git's error message are shown.
const COMPLAINT_BYTES: usize = 2048;

/// The result of a git call that ended by itself; the caller judges its exit code.
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
    /// Fails if the exit code is not 0.
    pub fn require(self) -> Result<Self, Problem> {
        match self.code {
            0 => Ok(self),
            _ => Err(self.problem()),
        }
    }

    /// Standard output as one line of text, without the line end.
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

    /// Standard output split at NULs, without an empty last field.
    pub fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let bytes = self.stdout.strip_suffix(b"\0").unwrap_or(&self.stdout);
        bytes
            .split(|byte| *byte == 0)
            .filter(move |_| !bytes.is_empty())
    }

    /// The end of git's error message, for people.
    pub fn complaint(&self) -> String {
        let start = self.stderr.len().saturating_sub(COMPLAINT_BYTES);
        String::from_utf8_lossy(&self.stderr[start..])
            .trim()
            .to_owned()
    }

    /// Whether git found a full disk. It removes the file that did not fit, so there may be room again.
    pub(crate) fn met_full_disk(&self) -> bool {
        let complaint = self.complaint();
        DISK_FULL.iter().any(|text| complaint.contains(text))
    }

    /// The general problem, for callers that know nothing more precise.
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

/// Converts bytes that git printed to a path.
pub(crate) fn path_from(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}
