use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One process that cannot be mistaken for a later one with the same pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessMark {
    /// The pid as seen from drive.
    pub pid: i32,
    /// Start time in clock ticks since boot.
    pub start_ticks: u64,
}

/// All that a later drive needs to find a child again, and to end its whole tree: journaled before
/// the child counts as running.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessIdentity {
    /// The child itself.
    pub child: ProcessMark,
    /// The helper that supervises it; `None` for a light child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supervisor: Option<ProcessMark>,
    /// The parent of the child inside its containment: killing it ends a PID namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init: Option<ProcessMark>,
    /// Whether `init` is the first process of a PID namespace.
    #[serde(default)]
    pub pid_namespace: bool,
    /// Control groups made for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cgroups: Vec<PathBuf>,
    /// The boot it belongs to: pids and start times mean nothing after another one.
    pub boot_id: String,
    /// The folder of its report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_dir: Option<PathBuf>,
}

/// What became of a recorded process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Presence {
    /// The helper or the child still runs.
    Alive,
    /// Neither runs, or the machine was rebooted.
    Gone,
}
