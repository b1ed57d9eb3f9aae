use crate::process::Limits;
use crate::units::ByteSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[agents.NAME.limits]`: the resource limits of one agent job, including all processes that it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgentLimits {
    /// Memory of all its processes together.
    pub memory: ByteSize,
    /// Processes at once.
    pub processes: u32,
    /// Bytes it may add to its folders.
    pub disk: ByteSize,
    /// Files and folders it may add.
    pub files: u64,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self {
            memory: ByteSize::new(8 << 30),
            processes: 1024,
            disk: ByteSize::new(10 << 30),
            files: 1_000_000,
        }
    }
}

impl AgentLimits {
    /// These limits of time and output, with the resource limits of `self`.
    pub fn on(&self, limits: &Limits) -> Limits {
        Limits {
            memory_bytes: Some(self.memory.bytes()),
            processes: Some(self.processes),
            disk_bytes: Some(self.disk.bytes()),
            files: Some(self.files),
            ..limits.clone()
        }
    }
}
