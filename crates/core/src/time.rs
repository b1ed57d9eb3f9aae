//! Instants of civil time.
//!
//! Deadlines are stored as civil instants because a monotonic clock starts anew with each process:
//! a 24 h timeout measured on one would never come after a restart.

pub use jiff::Timestamp;
use std::time::Duration;

/// `base + wait`, saturating at the end of representable time.
pub fn after(base: Timestamp, wait: Duration) -> Timestamp {
    base.checked_add(wait).unwrap_or(Timestamp::MAX)
}
