//! Client-side rate limit: spaces out writes to the forge, and backs off after a failed request.

use crate::time::{Timestamp, after};
use std::time::Duration;

/// Writes allowed within any window: GitHub limits content creation to 80 a minute and 500 an hour.
pub const WINDOWS: [(usize, Duration); 2] = [
    (80, Duration::from_secs(60)),
    (MOST_REMEMBERED, Duration::from_secs(3600)),
];

/// Newest writes that must be remembered to check every window.
pub const MOST_REMEMBERED: usize = 500;

/// Shortest interval between two writes.
pub const APART: Duration = Duration::from_secs(1);

/// Longest time that a call blocks for its turn. The caller schedules a longer wait itself.
pub const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// How far ahead a turn can be booked. All others wait for a turn that a killed process had booked.
pub const LONGEST_BOOKED: Duration = Duration::from_secs(20);

/// When the next write may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// At this instant, which is now reserved.
    Booked(Timestamp),
    /// Not before this instant, which is too far ahead to be booked.
    TooFar(Timestamp),
}

impl Turn {
    /// The instant.
    pub fn at(self) -> Timestamp {
        match self {
            Turn::Booked(at) | Turn::TooFar(at) => at,
        }
    }
}

/// When the next write may be sent, given when earlier ones were (in any order; some may still be
/// ahead of `now`, booked by another process).
pub fn next_write(booked: &[Timestamp], now: Timestamp) -> Turn {
    let mut booked = booked.to_vec();
    booked.retain(|at| is_credible(*at, now));
    booked.sort_unstable();
    let mut at = booked.last().map_or(now, |last| after(*last, APART));
    for (most, window) in WINDOWS {
        if let Some(oldest) = booked.len().checked_sub(most) {
            at = at.max(after(booked[oldest], window));
        }
    }
    match at.max(now) {
        at if is_credible(at, now) => Turn::Booked(at),
        at => Turn::TooFar(at),
    }
}

/// Whether this time may be booked. A later booking was made before the clock was set back.
pub fn is_credible(booked: Timestamp, now: Timestamp) -> bool {
    booked <= after(now, LONGEST_BOOKED)
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
        assert_eq!(next_write(&[], at(100)), Turn::Booked(at(100)));
    }

    #[test]
    fn writes_are_a_second_apart() {
        let next = |booked: &[i64]| {
            let booked: Vec<Timestamp> = booked.iter().map(|second| at(*second)).collect();
            next_write(&booked, at(100))
        };
        assert_eq!(next(&[100]), Turn::Booked(at(101)));
        assert_eq!(next(&[100, 103]), Turn::Booked(at(104)));
        assert_eq!(next(&[90]), Turn::Booked(at(100)));
        assert_eq!(next(&[119]), Turn::Booked(at(120)));
        assert_eq!(next(&[120]), Turn::TooFar(at(121)));
        assert_eq!(
            next(&[121]),
            Turn::Booked(at(100)),
            "the clock was set back"
        );
    }

    #[test]
    fn no_window_holds_more_than_its_share() {
        let (mut now, mut booked) = (at(0), Vec::new());
        while booked.len() < 1_200 {
            match next_write(&booked, now) {
                Turn::Booked(at) => booked.push(at),
                Turn::TooFar(at) => now = at,
            }
        }
        for (most, window) in WINDOWS {
            for (i, start) in booked.iter().enumerate() {
                let end = after(*start, window);
                let inside = booked[i..].iter().filter(|at| **at < end).count();
                assert!(inside <= most, "{inside} writes from {start}");
            }
        }
    }

    #[test]
    fn waits_grow_and_stay_bounded() {
        let waits: Vec<u64> = (1..=4).map(|n| backoff(n).as_secs()).collect();
        assert_eq!(waits, [2, 4, 8, 16]);
        assert_eq!(backoff(40), backoff(6));
    }
}
