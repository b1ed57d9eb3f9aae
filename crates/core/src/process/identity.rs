use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The identity of a process, which cannot be mistaken for a later process with the same pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessMark {
    /// The pid as seen from drive.
    pub pid: i32,
    /// Start time in clock ticks since boot.
    pub start_ticks: u64,
}

/// Everything that a later drive needs to find a child and to end its whole tree. It is journaled
/// before the child counts as running.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessIdentity {
    /// The child itself.
    pub child: ProcessMark,
    /// The helper that supervises it; `None` for a light child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supervisor: Option<ProcessMark>,
    /// The child's parent inside the isolation: killing it ends the PID namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init: Option<ProcessMark>,
    /// Whether `init` is the first process of a PID namespace.
    #[serde(default)]
    pub pid_namespace: bool,
    /// Control groups made for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cgroups: Vec<PathBuf>,
    /// The boot that it belongs to: pids and start times are only valid within one.
    pub boot_id: String,
    /// The folder of its report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_dir: Option<PathBuf>,
}

/// The state of a recorded process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Presence {
    /// The helper or the child still runs.
    Alive,
    /// Neither runs, or the machine was rebooted.
    Gone,
}
