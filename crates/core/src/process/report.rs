use super::End;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A process that cannot be mistaken for a later one with the same pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The pid as seen from drive.
    pub pid: i32,
    /// Start time in clock ticks since boot, from `/proc/PID/stat`.
    pub start_ticks: u64,
}

/// What one bounded child did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessReport {
    /// How it ended.
    pub end: End,
    /// Wall time in milliseconds.
    pub duration_ms: u64,
    /// Standard output.
    pub stdout: StreamReport,
    /// Standard error.
    pub stderr: StreamReport,
    /// What it used.
    pub resources: Resources,
    /// Which layers held it, and which were missing with what consequence.
    pub layers: Vec<Layer>,
    /// Processes that were still there after the leader ended.
    pub leaked: u32,
}

/// One captured stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamReport {
    /// The last bytes.
    pub tail: Vec<u8>,
    /// All bytes seen.
    pub total_bytes: u64,
    /// The log file, with at most the log cap of the first bytes.
    pub log: Option<PathBuf>,
}

/// Measured, never guessed: `None` where the machine gives no true figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// The largest memory use seen of the whole tree.
    pub max_rss_bytes: u64,
    /// CPU time in user mode.
    pub cpu_user_micros: u64,
    /// CPU time in the kernel.
    pub cpu_system_micros: u64,
}

/// One containment layer of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// Its stable name, such as `pidNamespace`.
    pub name: String,
    /// Whether it held.
    pub state: LayerState,
}

/// Whether a layer was in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LayerState {
    /// In force.
    Active,
    /// Missing, and what that means for the user.
    Missing(String),
}
