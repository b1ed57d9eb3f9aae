//! Client-side rate limit: spaces out writes to the forge, and backs off after a failed request.

use crate::time::{Timestamp, after};
use jiff::SignedDuration;
use std::time::Duration;

/// Maximum numbers of writes within time windows: GitHub limits content creation to 80 a minute and
/// 500 an hour.
pub const WINDOWS: [(usize, Duration); 2] = [
    (80, Duration::from_secs(60)),
    (MOST_REMEMBERED, Duration::from_secs(3600)),
];

/// How many of the newest writes must be stored to check every window.
pub const MOST_REMEMBERED: usize = 500;

/// The interval between two writes of a long series: GitHub asks for one second.
pub const APART: Duration = Duration::from_secs(1);

/// How many writes may be sent without a pause after a quiet time. Each quiet interval adds one.
pub const BURST: u32 = 5;

/// The longest time that a call blocks for its turn. For a longer wait, the caller sets a timer.
pub const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// How far ahead a turn can be booked. If a killed process had booked a turn, all others wait for it.
pub const LONGEST_BOOKED: Duration = Duration::from_secs(20);

/// When the next write may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// At this time, which is now reserved.
    Booked(Timestamp),
    /// Not before this time, which is too far ahead to be booked.
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

/// When the next write may be sent, given the times of earlier ones (in any order; some may still be ahead of
/// `now`, booked by another process). Turns are assigned in order, never before one that is already booked.
pub fn next_write(booked: &[Timestamp], now: Timestamp) -> Turn {
    let mut booked = booked.to_vec();
    booked.retain(|at| is_credible(*at, now));
    booked.sort_unstable();
    let mut at = booked.last().map_or(now, |last| *last);
    at = at.max(refilled(&booked));
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

/// When a bucket of [`BURST`] writes, refilled by one each [`APART`], allows the next write.
fn refilled(booked: &[Timestamp]) -> Timestamp {
    let emptied = booked.iter().fold(Timestamp::MIN, |full_again, at| {
        after(full_again.max(*at), APART)
    });
    let ahead = SignedDuration::try_from(APART * (BURST - 1)).unwrap_or_default();
    emptied.checked_sub(ahead).unwrap_or(Timestamp::MIN)
}

/// Whether this booked time is possible. A later one was booked before the clock was set back.
pub fn is_credible(booked: Timestamp, now: Timestamp) -> bool {
    booked <= after(now, LONGEST_BOOKED)
}

/// The wait before attempt number `attempt` (the first wait is for attempt 1).
pub fn backoff(attempt: u32) -> Duration {
    Duration::from_secs(2u64.saturating_pow(attempt.min(6)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_first_write_goes_at_once() {
        assert_eq!(next_write(&[], at(100)), Turn::Booked(at(100)));
    }

    #[test]
    fn the_first_writes_after_quiet_go_at_once_and_then_one_a_second() {
        let next = |booked: &[i64]| {
            let booked: Vec<Timestamp> = booked.iter().map(|second| at(*second)).collect();
            next_write(&booked, at(100))
        };
        assert_eq!(next(&[100]), Turn::Booked(at(100)));
        assert_eq!(next(&[100; 4]), Turn::Booked(at(100)));
        assert_eq!(next(&[100; 5]), Turn::Booked(at(101)));
        assert_eq!(next(&[100, 100, 100, 100, 100, 101]), Turn::Booked(at(102)));
        assert_eq!(next(&[98; 5]), Turn::Booked(at(100)), "two came back");
        assert_eq!(next(&[90; 5]), Turn::Booked(at(100)));
        assert_eq!(next(&[119]), Turn::Booked(at(119)), "never before another");
        assert_eq!(next(&[120; 5]), Turn::TooFar(at(121)));
        assert_eq!(
            next(&[121; 5]),
            Turn::Booked(at(100)),
            "the clock was set back"
        );
    }

    /// Books one write at each of these times, or as soon after it as allowed.
    fn booked_at(arrivals: &[i64]) -> Vec<Timestamp> {
        let (mut now, mut booked) = (at(0), Vec::new());
        for millis in arrivals {
            now = after(now, Duration::from_millis(u64::try_from(*millis).unwrap()));
            loop {
                match next_write(&booked, now) {
                    Turn::Booked(at) => break booked.push(at),
                    Turn::TooFar(at) => now = at,
                }
            }
        }
        booked
    }

    fn most_within(booked: &[Timestamp], window: Duration) -> usize {
        let from = |(i, start): (usize, &Timestamp)| {
            let end = after(*start, window);
            booked[i..].iter().filter(|at| **at < end).count()
        };
        booked.iter().enumerate().map(from).max().unwrap_or(0)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn no_arrivals_break_a_window_or_the_burst(
            arrivals in proptest::collection::vec(0_i64..3_000, 1..700),
        ) {
            let booked = booked_at(&arrivals);
            for (most, window) in WINDOWS {
                prop_assert!(most_within(&booked, window) <= most);
            }
            for seconds in [1, 2, 10, 30] {
                let most = BURST as usize + seconds - 1;
                let window = Duration::from_secs(seconds as u64);
                prop_assert!(most_within(&booked, window) <= most);
            }
            prop_assert!(booked.is_sorted());
        }
    }

    #[test]
    fn no_window_holds_more_than_its_share() {
        let booked = booked_at(&[0; 1_200]);
        for (most, window) in WINDOWS {
            let inside = most_within(&booked, window);
            assert!(inside <= most, "{inside} writes");
        }
    }

    #[test]
    fn waits_grow_and_stay_bounded() {
        let waits: Vec<u64> = (1..=4).map(|n| backoff(n).as_secs()).collect();
        assert_eq!(waits, [2, 4, 8, 16]);
        assert_eq!(backoff(40), backoff(6));
    }
}
