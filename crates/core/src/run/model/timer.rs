//! Timers of a run.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A timer of a run. At most one timer of each kind is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Timer {
    /// Poll the pull request. Waking it early makes a phase poll now.
    Poll,
    /// End a watched phase after its inactivity timeout.
    Inactivity,
    /// Retry a failed effect.
    Retry,
    /// End a pause after an outage.
    Hold,
    /// End a cruise that exceeded its maximum duration.
    Age,
}

impl Timer {
    /// All timers.
    pub const ALL: [Timer; 5] = [
        Timer::Poll,
        Timer::Inactivity,
        Timer::Retry,
        Timer::Hold,
        Timer::Age,
    ];

    /// The name in the database and in deduplication keys.
    pub fn as_str(self) -> &'static str {
        match self {
            Timer::Poll => "poll",
            Timer::Inactivity => "inactivity",
            Timer::Retry => "retry",
            Timer::Hold => "hold",
            Timer::Age => "age",
        }
    }
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
