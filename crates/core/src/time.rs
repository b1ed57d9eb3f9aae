//! Timestamps.
//!
//! Deadlines are stored as wall-clock times because a monotonic clock restarts with each process: a
//! 24 h timeout measured on one would never expire after a restart.

pub use jiff::Timestamp;
use std::time::Duration;

/// `base + wait`, saturating at the end of representable time.
pub fn after(base: Timestamp, wait: Duration) -> Timestamp {
    base.checked_add(wait).unwrap_or(Timestamp::MAX)
}
