//! Timestamps.
//!
//! Deadlines are stored as wall-clock times because a monotonic clock restarts with each process: a
//! 24 h timeout that uses one would never expire across restarts.

use crate::units::{Day, Period};
pub use jiff::Timestamp;
use std::time::Duration;

/// Returns `base + wait`, limited to the end of representable time.
pub fn after(base: Timestamp, wait: Duration) -> Timestamp {
    base.checked_add(wait).unwrap_or(Timestamp::MAX)
}

/// Parses a time: the beginning of a date in UTC (`2026-11-01`), a time (`2026-11-01T08:00:00Z`),
/// or a duration before now (`7d`).
pub fn since(text: &str, now: Timestamp) -> Option<Timestamp> {
    if let Ok(period) = text.parse::<Period>() {
        return Some(now.checked_sub(period.get()).unwrap_or(Timestamp::MIN));
    }
    let begins = text.parse::<Day>().ok().and_then(Day::begins);
    begins.or_else(|| text.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_date_a_timestamp_or_a_length_before_now() {
        let now: Timestamp = "2026-11-17T12:00:00Z".parse().unwrap();
        let read = |text| since(text, now).map(|at| at.to_string());
        let is = |text: &str| Some(text.to_owned());
        assert_eq!(read("2026-11-01"), is("2026-11-01T00:00:00Z"));
        assert_eq!(
            read("2026-11-01T08:00:00+02:00"),
            is("2026-11-01T06:00:00Z")
        );
        assert_eq!(read("7d"), is("2026-11-10T12:00:00Z"));
        assert_eq!(read("1h30m"), is("2026-11-17T10:30:00Z"));
        assert_eq!(since("999999999d", now), Some(Timestamp::MIN));
        for text in [
            "",
            "yesterday",
            "7",
            "7w",
            "2026-13-01",
            "2026-11-01T08:00",
            "-7d",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
