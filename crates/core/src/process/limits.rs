use serde::{Deserialize, Serialize};
use std::time::Duration;

/// All limits on one child and everything it starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The total time limit.
    pub wall: Duration,
    /// The time limit without output on either stream; `None` if silence is normal.
    pub idle: Option<Duration>,
    /// Time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// How long a pipe that a grandchild keeps open is read after the leader's end.
    pub drain: Duration,
    /// Memory of the whole tree.
    pub memory_bytes: Option<u64>,
    /// Processes and threads of the whole tree.
    pub processes: Option<u32>,
    /// Bytes that the tree may add to its writable folders.
    pub disk_bytes: Option<u64>,
    /// Files and directories that the tree may add there.
    pub files: Option<u64>,
    /// Output in bytes, on both streams together, at which the tree is ended.
    pub output_bytes: u64,
    /// How many bytes of each stream's end are kept in memory and in the report.
    pub tail_bytes: u64,
    /// How many bytes of each stream are written to its log file.
    pub log_bytes: u64,
}

impl Default for Limits {
    /// Generous limits for one command: no child runs without limits.
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(10 * 60),
            idle: None,
            grace: Duration::from_secs(5),
            drain: Duration::from_secs(2),
            memory_bytes: None,
            processes: None,
            disk_bytes: None,
            files: None,
            output_bytes: 1 << 30,
            tail_bytes: 64 << 10,
            log_bytes: 256 << 20,
        }
    }
}
