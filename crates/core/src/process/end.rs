use crate::units::ByteSize;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How a bounded process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "ended")]
pub enum End {
    /// The leader exited.
    Exited {
        /// The exit code.
        code: i32,
    },
    /// A signal that drive did not send ended the leader.
    Signalled {
        /// The signal's number.
        signal: i32,
    },
    /// A time limit was reached.
    TimedOut {
        /// The exceeded time limit.
        bound: TimeBound,
    },
    /// The tree reached its memory limit.
    MemoryLimit,
    /// The tree had more processes than allowed.
    ProcessLimit,
    /// The tree wrote more than allowed, or the disk is nearly full.
    DiskLimit {
        /// The exceeded limit.
        bound: DiskBound,
    },
    /// The tree reached its output limit.
    OutputLimit,
    /// The leader exited and left processes running.
    LeakedProcesses {
        /// The number of leaked processes.
        count: u32,
    },
    /// The caller cancelled the process.
    Aborted,
    /// The process could not be supervised to its end.
    Infra {
        /// The failed step.
        message: String,
    },
}

impl End {
    /// Whether the child succeeded: it exited with code 0 and reached no limit.
    pub fn is_success(&self) -> bool {
        *self == End::Exited { code: 0 }
    }

    /// The leader's exit code, if the process ended by its exit.
    pub fn exit_code(&self) -> Option<i32> {
        if let End::Exited { code } = self {
            return Some(*code);
        }
        None
    }

    /// The signal that ended the leader, if the process ended by it.
    pub fn signal(&self) -> Option<i32> {
        if let End::Signalled { signal } = self {
            return Some(*signal);
        }
        None
    }

    /// The stable name used in journals and envelopes.
    pub fn name(&self) -> &'static str {
        match self {
            End::Exited { .. } => "exited",
            End::Signalled { .. } => "signalled",
            End::TimedOut { .. } => "timedOut",
            End::MemoryLimit => "memoryLimit",
            End::ProcessLimit => "processLimit",
            End::DiskLimit { .. } => "diskLimit",
            End::OutputLimit => "outputLimit",
            End::LeakedProcesses { .. } => "leakedProcesses",
            End::Aborted => "aborted",
            End::Infra { .. } => "infra",
        }
    }
}

/// The exceeded limit on written data, with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DiskBound {
    /// Bytes added to its folders.
    Bytes(u64),
    /// Files and folders added there.
    Files(u64),
    /// Bytes that must stay free on the disk, whoever fills it.
    FreeBytes(u64),
    /// Files and directories that the disk must still be able to hold, whoever creates them.
    FreeFiles(u64),
}

impl fmt::Display for DiskBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DiskBound::Bytes(limit) => {
                write!(f, "used more than {} of disk", ByteSize::new(*limit))
            }
            DiskBound::Files(limit) => write!(f, "made more than {limit} files"),
            DiskBound::FreeBytes(floor) => {
                write!(
                    f,
                    "was stopped: the disk has less than {} left",
                    ByteSize::new(*floor)
                )
            }
            DiskBound::FreeFiles(floor) => {
                write!(
                    f,
                    "was stopped: the disk can take less than {floor} more files"
                )
            }
        }
    }
}

/// The exceeded time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TimeBound {
    /// Total running time.
    Wall,
    /// Time without output.
    Idle,
}

/// What it means when a leader leaves processes behind. They are always killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LeakPolicy {
    /// The process ends as `leakedProcesses`.
    Fail,
    /// The process ends like its leader, and the report counts the leaked processes.
    Kill,
}

/// How the leader itself ended, according to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LeaderEnd {
    /// The process exited with this code.
    Exited(i32),
    /// A signal killed the process.
    Signalled(i32),
}

/// Everything that was observed about the end of a process, before it is classified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Supervision itself failed.
    pub infra: Option<String>,
    /// The caller cancelled it while it ran.
    pub aborted: bool,
    /// A process of the tree hit the memory limit.
    pub memory: bool,
    /// The process limit was hit.
    pub processes: bool,
    /// A limit on written data was hit.
    pub disk: Option<DiskBound>,
    /// The output limit was hit.
    pub output: bool,
    /// A time limit was exceeded.
    pub timeout: Option<TimeBound>,
    /// Processes still alive after the leader exited.
    pub leaked: u32,
    /// The leader's own end; `None` if it was not observed.
    pub leader: Option<LeaderEnd>,
}

/// Classifies an end. Several causes may apply at once (a process that is killed for its memory also ends by
/// a signal, a fork bomb also leaks processes); the first one in this order explains the others.
pub fn classify(seen: &Observed, leaks: LeakPolicy) -> End {
    if let Some(message) = &seen.infra {
        return End::Infra {
            message: message.clone(),
        };
    }
    if seen.aborted {
        return End::Aborted;
    }
    if seen.memory {
        return End::MemoryLimit;
    }
    if seen.processes {
        return End::ProcessLimit;
    }
    if let Some(bound) = seen.disk {
        return End::DiskLimit { bound };
    }
    if seen.output {
        return End::OutputLimit;
    }
    if let Some(bound) = seen.timeout {
        return End::TimedOut { bound };
    }
    if seen.leaked > 0 && leaks == LeakPolicy::Fail {
        return End::LeakedProcesses { count: seen.leaked };
    }
    match seen.leader {
        Some(LeaderEnd::Signalled(signal)) => End::Signalled { signal },
        Some(LeaderEnd::Exited(code)) => End::Exited { code },
        None => End::Infra {
            message: "the exit of the process was not observed".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Cause = (fn(&mut Observed), End);

    /// One setter for each cause, in order of precedence, with the resulting end.
    fn causes() -> Vec<Cause> {
        vec![
            (
                |o| o.infra = Some("lost".into()),
                End::Infra {
                    message: "lost".into(),
                },
            ),
            (|o| o.aborted = true, End::Aborted),
            (|o| o.memory = true, End::MemoryLimit),
            (|o| o.processes = true, End::ProcessLimit),
            (
                |o| o.disk = Some(DiskBound::Files(7)),
                End::DiskLimit {
                    bound: DiskBound::Files(7),
                },
            ),
            (|o| o.output = true, End::OutputLimit),
            (
                |o| o.timeout = Some(TimeBound::Idle),
                End::TimedOut {
                    bound: TimeBound::Idle,
                },
            ),
            (|o| o.leaked = 3, End::LeakedProcesses { count: 3 }),
            (
                |o| o.leader = Some(LeaderEnd::Signalled(9)),
                End::Signalled { signal: 9 },
            ),
        ]
    }

    #[test]
    fn of_any_set_of_causes_the_first_in_order_names_the_end() {
        let causes = causes();
        for set in 0u32..1 << causes.len() {
            let mut seen = Observed {
                leader: Some(LeaderEnd::Exited(0)),
                ..Observed::default()
            };
            let mut expected = End::Exited { code: 0 };
            for (index, (set_cause, end)) in causes.iter().enumerate().rev() {
                if set & (1 << index) != 0 {
                    set_cause(&mut seen);
                    expected = end.clone();
                }
            }
            assert_eq!(classify(&seen, LeakPolicy::Fail), expected, "{seen:?}");
        }
    }

    #[test]
    fn leftovers_that_are_only_killed_leave_the_leaders_end() {
        let seen = Observed {
            leaked: 2,
            leader: Some(LeaderEnd::Exited(0)),
            ..Observed::default()
        };
        assert_eq!(classify(&seen, LeakPolicy::Kill), End::Exited { code: 0 });
    }

    #[test]
    fn an_end_nobody_saw_is_infra_and_never_success() {
        let end = classify(&Observed::default(), LeakPolicy::Kill);
        assert_eq!(end.name(), "infra");
        assert!(!end.is_success());
    }

    #[test]
    fn a_fake_killed_message_with_exit_137_is_an_exit_code() {
        let seen = Observed {
            leader: Some(LeaderEnd::Exited(137)),
            ..Observed::default()
        };
        assert_eq!(classify(&seen, LeakPolicy::Fail), End::Exited { code: 137 });
    }

    #[test]
    fn the_persisted_name_is_the_name() {
        for (_, end) in causes() {
            let json = serde_json::to_value(&end).unwrap();
            assert_eq!(json["ended"], end.name());
        }
    }
}
