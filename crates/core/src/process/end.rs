use serde::{Deserialize, Serialize};

/// How a child ended. When several hold, the first in declaration order of the severity list in
/// [`End::precedence`] is the one reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "ended")]
pub enum End {
    /// The leader exited by itself.
    Exited {
        /// Its exit code.
        code: i32,
    },
    /// A signal that was not ours ended the leader.
    Signalled {
        /// The signal's number.
        signal: i32,
    },
    /// A time bound was reached.
    TimedOut {
        /// Which one.
        bound: TimeBound,
    },
    /// The tree used more memory than allowed.
    MemoryLimit,
    /// The tree had more processes than allowed.
    ProcessLimit,
    /// The tree printed more than allowed.
    OutputLimit,
    /// The leader exited, and left processes behind.
    LeakedProcesses {
        /// How many were still alive.
        count: u32,
    },
    /// Cancelled from above.
    Aborted,
    /// It could not be started or supervised.
    Infra {
        /// What failed.
        message: String,
    },
}

/// Which clock ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TimeBound {
    /// Total running time.
    Wall,
    /// Time without output.
    Idle,
}
