use super::{End, LeaderEnd};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The output stream of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// The report of one bounded child process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessReport {
    /// The end of the process.
    pub end: End,
    /// How the leader itself ended, however the end is classified.
    #[serde(default)]
    pub leader: Option<LeaderEnd>,
    /// Wall time in milliseconds.
    pub duration_ms: u64,
    /// Standard output.
    pub stdout: StreamReport,
    /// Standard error.
    pub stderr: StreamReport,
    /// Resource usage.
    pub resources: Resources,
    /// The layers of isolation, each active or missing with its consequence.
    pub layers: Vec<Layer>,
    /// Processes that still ran after the leader's end.
    pub leaked: u32,
}

/// One captured stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamReport {
    /// The last bytes of the stream.
    pub tail: Vec<u8>,
    /// The total number of bytes.
    pub total_bytes: u64,
    /// The log file with the first bytes, up to the log limit.
    pub log: Option<PathBuf>,
    /// Why the log is incomplete, such as a full disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_error: Option<String>,
}

impl StreamReport {
    /// How many bytes are not in the tail.
    pub fn truncated_bytes(&self) -> u64 {
        self.total_bytes.saturating_sub(self.tail.len() as u64)
    }

    /// The tail as text; bytes that are not UTF-8 become replacement characters.
    pub fn tail_text(&self) -> String {
        String::from_utf8_lossy(&self.tail).into_owned()
    }
}

/// Measured values; `None` if the machine provides no exact number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resources {
    /// The largest resident memory that was seen: of the whole tree if it was sampled, else of its
    /// largest process.
    pub max_rss_bytes: Option<u64>,
    /// The peak that its control group counted, including page cache; `None` without a control group.
    #[serde(default)]
    pub cgroup_peak_bytes: Option<u64>,
    /// CPU time in user mode.
    pub cpu_user_micros: u64,
    /// CPU time in the kernel.
    pub cpu_system_micros: u64,
}

/// A layer of isolation, for one child or for this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// The layer.
    pub name: LayerName,
    /// Whether the layer was active.
    pub state: LayerState,
}

/// Whether a layer was active.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LayerState {
    /// The layer is active.
    Active,
    /// The layer is missing; the text says why and what that means for the user.
    Missing(String),
}

/// The layers of isolation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LayerName {
    /// A helper process that inherits every orphan of the tree and ends it.
    Subreaper,
    /// The tree cannot see or outlive its own first process.
    PidNamespace,
    /// The kernel limits the memory of the tree.
    CgroupMemory,
    /// The kernel limits the number of processes of the tree.
    CgroupProcesses,
    /// The kernel kills the whole tree at once.
    CgroupKill,
    /// The data that the tree writes is limited.
    DiskLimit,
    /// The tree cannot signal processes outside.
    SignalScope,
    /// Only the allowed directories can be written.
    WriteScope,
    /// A root file system with only the named paths: no other file, socket or terminal exists.
    View,
    /// Its own `/proc`, which shows only its own processes.
    OwnProc,
    /// Its own shared memory and message queues.
    IpcNamespace,
    /// The tree cannot reach abstract sockets outside.
    SocketScope,
    /// The kernel refuses system calls that lead around the other layers.
    SystemCalls,
    /// The process has no capabilities and cannot gain any.
    Privileges,
    /// It runs as a user who owns nothing outside its directories.
    OwnUser,
    /// No network but its own loopback and the allowed hosts.
    Network,
    /// Shared caches with a private layer on top.
    Caches,
    /// The keys and logins of an agent stay outside. Every machine supports this, but an agent's
    /// login may not.
    Keys,
}

impl LayerName {
    /// Every layer that a machine can have, the basic ones first.
    pub const ALL: [LayerName; 17] = [
        LayerName::Subreaper,
        LayerName::PidNamespace,
        LayerName::CgroupMemory,
        LayerName::CgroupProcesses,
        LayerName::CgroupKill,
        LayerName::DiskLimit,
        LayerName::SignalScope,
        LayerName::WriteScope,
        LayerName::View,
        LayerName::OwnProc,
        LayerName::IpcNamespace,
        LayerName::SocketScope,
        LayerName::SystemCalls,
        LayerName::Privileges,
        LayerName::OwnUser,
        LayerName::Network,
        LayerName::Caches,
    ];

    /// The stable name used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            LayerName::Subreaper => "subreaper",
            LayerName::PidNamespace => "pidNamespace",
            LayerName::CgroupMemory => "cgroupMemory",
            LayerName::CgroupProcesses => "cgroupProcesses",
            LayerName::CgroupKill => "cgroupKill",
            LayerName::DiskLimit => "diskLimit",
            LayerName::SignalScope => "signalScope",
            LayerName::WriteScope => "writeScope",
            LayerName::View => "view",
            LayerName::OwnProc => "ownProc",
            LayerName::IpcNamespace => "ipcNamespace",
            LayerName::SocketScope => "socketScope",
            LayerName::SystemCalls => "systemCalls",
            LayerName::Privileges => "privileges",
            LayerName::OwnUser => "ownUser",
            LayerName::Network => "network",
            LayerName::Caches => "caches",
            LayerName::Keys => "keys",
        }
    }

    /// What a missing layer means for the user.
    pub fn consequence(self) -> &'static str {
        match self {
            LayerName::Subreaper => "a process that starts its own session outlives its leader",
            LayerName::PidNamespace => {
                "left-over processes are swept by pid, which may take several rounds"
            }
            LayerName::CgroupMemory => "memory: RSS poll, memfd and tmpfs not counted",
            LayerName::CgroupProcesses => {
                "processes: counted every 20 ms, a fast fork bomb can overshoot"
            }
            LayerName::CgroupKill => "a tree left by a crash is found by its pids only",
            LayerName::DiskLimit => "it can fill the disk",
            LayerName::SignalScope => "it can signal other processes of the same user",
            LayerName::WriteScope => "writes outside the allowed folders are not prevented",
            LayerName::View => {
                "the whole machine is readable, its sockets and terminals can be reached, and \
                 protected paths are writable"
            }
            LayerName::OwnProc => "other processes of the machine are visible",
            LayerName::IpcNamespace => "shared memory and message queues are the machine's",
            LayerName::SystemCalls => {
                "system calls are open: vsock, io_uring, keyring, userfaultfd, namespaces"
            }
            LayerName::Privileges => "it keeps capabilities",
            LayerName::OwnUser => "it runs with root's files",
            LayerName::SocketScope => "abstract sockets of other processes can be reached",
            LayerName::Network => "every host and every server of the machine can be reached",
            LayerName::Caches => "package caches are empty or read-only",
            LayerName::Keys => "the agent holds a real login",
        }
    }
}

impl Layer {
    /// An active layer.
    pub fn active(name: LayerName) -> Self {
        Self {
            name,
            state: LayerState::Active,
        }
    }

    /// A missing layer, with the reason and the consequence.
    pub fn missing(name: LayerName, why: &str) -> Self {
        Self {
            name,
            state: LayerState::Missing(format!("{why}; {}", name.consequence())),
        }
    }

    /// Whether the layer was active.
    pub fn is_active(&self) -> bool {
        self.state == LayerState::Active
    }
}

/// The missing layers that prevent a start if isolation is required. Not essential are: the group
/// by which a tree that was left behind is found; the signal scope, if the tree sees no other
/// processes; the socket scope, if its network is private; and shared caches, which only save time.
pub fn missing_essentials(layers: &[Layer], own_network: bool) -> impl Iterator<Item = &Layer> {
    let is_missing = |name| layers.iter().any(|l| l.name == name && !l.is_active());
    let sees_others = is_missing(LayerName::PidNamespace);
    let shares_network = !own_network || is_missing(LayerName::Network);
    layers.iter().filter(move |layer| {
        let is_essential = match layer.name {
            LayerName::CgroupKill | LayerName::Caches => false,
            LayerName::SignalScope => sees_others,
            LayerName::SocketScope => shares_network,
            LayerName::Subreaper
            | LayerName::PidNamespace
            | LayerName::CgroupMemory
            | LayerName::CgroupProcesses
            | LayerName::DiskLimit
            | LayerName::WriteScope
            | LayerName::View
            | LayerName::OwnProc
            | LayerName::IpcNamespace
            | LayerName::SystemCalls
            | LayerName::Privileges
            | LayerName::OwnUser
            | LayerName::Network
            | LayerName::Keys => true,
        };
        is_essential && !layer.is_active()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_persisted_layer_name_is_the_reported_one() {
        for name in LayerName::ALL.into_iter().chain([LayerName::Keys]) {
            assert_eq!(serde_json::to_value(name).unwrap(), name.as_str());
        }
    }

    #[test]
    fn only_layers_that_matter_are_essential() {
        let missing = |names: &[LayerName], own_network| {
            let layers: Vec<Layer> = LayerName::ALL
                .into_iter()
                .map(|name| {
                    if names.contains(&name) {
                        Layer::missing(name, "off")
                    } else {
                        Layer::active(name)
                    }
                })
                .collect();
            let found = missing_essentials(&layers, own_network).map(|layer| layer.name);
            found.collect::<Vec<_>>()
        };
        use LayerName::{
            Caches, CgroupKill, Network, OwnUser, PidNamespace, SignalScope, SocketScope,
        };
        let none: [LayerName; 0] = [];
        assert_eq!(missing(&[CgroupKill, Caches, SignalScope], false), none);
        assert_eq!(missing(&[OwnUser], true), [OwnUser]);
        assert_eq!(missing(&[SocketScope], true), none);
        assert_eq!(missing(&[SocketScope], false), [SocketScope]);
        let both = [Network, SocketScope];
        assert_eq!(missing(&both, true).len(), 2);
        let both = [PidNamespace, SignalScope];
        assert_eq!(missing(&both, true), both);
    }

    #[test]
    fn a_missing_layer_says_why_and_what_follows() {
        let layer = Layer::missing(LayerName::Network, "refused by the kernel");
        assert_eq!(
            layer.state,
            LayerState::Missing(
                "refused by the kernel; every host and every server of the machine can be reached"
                    .into()
            )
        );
    }
}
