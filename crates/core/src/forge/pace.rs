//! How fast a forge may be asked: writes apart from each other, waits after a failure.

use crate::time::{Timestamp, after};
use std::time::Duration;

/// Writes within any [`WINDOW`].
pub const WRITES: usize = 80;

/// The window that writes are counted in.
pub const WINDOW: Duration = Duration::from_secs(60);

/// The least time between two writes.
pub const APART: Duration = Duration::from_secs(1);

/// When the next write may be sent, given when earlier ones were (in any order; some may still be
/// ahead of `now`, booked by another process).
pub fn next_write(booked: &[Timestamp], now: Timestamp) -> Timestamp {
    let mut booked = booked.to_vec();
    booked.sort_unstable();
    let spaced = booked.last().map_or(now, |last| after(*last, APART));
    let windowed = booked
        .len()
        .checked_sub(WRITES)
        .map_or(now, |oldest| after(booked[oldest], WINDOW));
    now.max(spaced).max(windowed)
}

/// How long to wait before attempt number `attempt` (the first wait is for attempt 1).
pub fn backoff(attempt: u32) -> Duration {
    Duration::from_secs(2u64.saturating_pow(attempt.min(6)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_first_write_goes_at_once() {
        assert_eq!(next_write(&[], at(100)), at(100));
    }

    #[test]
    fn writes_are_a_second_apart() {
        assert_eq!(next_write(&[at(100)], at(100)), at(101));
        assert_eq!(next_write(&[at(100), at(103)], at(100)), at(104));
        assert_eq!(next_write(&[at(90)], at(100)), at(100));
    }

    #[test]
    fn no_window_holds_more_than_its_share() {
        let mut booked = Vec::new();
        for _ in 0..200 {
            booked.push(next_write(&booked, at(0)));
        }
        for (i, start) in booked.iter().enumerate() {
            let end = after(*start, WINDOW);
            let inside = booked[i..].iter().filter(|at| **at < end).count();
            assert!(inside <= WRITES, "{inside} writes from {start}");
        }
    }

    #[test]
    fn waits_grow_and_stay_bounded() {
        let waits: Vec<u64> = (1..=4).map(|n| backoff(n).as_secs()).collect();
        assert_eq!(waits, [2, 4, 8, 16]);
        assert_eq!(backoff(40), backoff(6));
    }
}
