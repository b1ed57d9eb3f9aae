use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The wait before the next poll. It grows while nothing is new, and is short after news.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Backoff {
    /// The first wait.
    pub initial: Duration,
    /// The longest wait.
    pub max: Duration,
    /// The next wait.
    pub current: Duration,
}

impl Backoff {
    /// A backoff that starts at `initial`, or at `max` if that is shorter.
    pub fn new(initial: Duration, max: Duration) -> Self {
        let initial = initial.min(max);
        Self {
            initial,
            max,
            current: initial,
        }
    }

    /// The backoff with this next wait, kept within its limits.
    #[must_use]
    pub fn at(mut self, current: Duration) -> Self {
        self.current = current.max(self.initial).min(self.max);
        self
    }

    /// Returns the wait until the next poll. The one after it is twice as long.
    pub fn next_wait(&mut self) -> Duration {
        let wait = self.current.min(self.max);
        self.current = wait.saturating_mul(2).min(self.max);
        wait
    }

    /// Restarts with the first wait, after activity.
    pub fn reset(&mut self) {
        self.current = self.initial;
    }
}

impl Default for Backoff {
    /// A backoff from five seconds to five minutes.
    fn default() -> Self {
        Self::new(Duration::from_secs(5), Duration::from_secs(300))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn waits(backoff: &mut Backoff, count: usize) -> Vec<u64> {
        (0..count).map(|_| backoff.next_wait().as_secs()).collect()
    }

    #[test]
    fn the_backoff_starts_at_5_s() {
        assert_eq!(Backoff::default().next_wait(), Duration::from_secs(5));
    }

    #[test]
    fn the_backoff_doubles() {
        assert_eq!(waits(&mut Backoff::default(), 6), [5, 10, 20, 40, 80, 160]);
    }

    #[test]
    fn the_backoff_caps_at_300_s() {
        assert_eq!(waits(&mut Backoff::default(), 9)[5..], [160, 300, 300, 300]);
    }

    #[test]
    fn the_backoff_resets() {
        let mut backoff = Backoff::default();
        waits(&mut backoff, 8);
        backoff.reset();
        assert_eq!(waits(&mut backoff, 2), [5, 10]);
    }

    #[test]
    fn a_backoff_goes_on_where_it_was_within_its_bounds() {
        let at = |secs| {
            let mut backoff = Backoff::default().at(Duration::from_secs(secs));
            waits(&mut backoff, 2)
        };
        assert_eq!(at(40), [40, 80]);
        assert_eq!(at(0), [5, 10]);
        assert_eq!(at(u64::MAX), [300, 300]);
    }

    #[test]
    fn a_backoff_is_saved_and_loaded() {
        let mut backoff = Backoff::default();
        backoff.next_wait();
        let json = serde_json::to_string(&backoff).unwrap();
        assert_eq!(
            json,
            r#"{"initial":{"secs":5,"nanos":0},"max":{"secs":300,"nanos":0},"current":{"secs":10,"nanos":0}}"#
        );
        assert_eq!(serde_json::from_str::<Backoff>(&json).unwrap(), backoff);
    }

    proptest! {
        #[test]
        fn no_wait_is_longer_than_the_longest(initial: Duration, max: Duration, current: Duration) {
            for mut backoff in [Backoff::new(initial, max).at(current), Backoff { initial, max, current }] {
                for _ in 0..70 {
                    prop_assert!(backoff.next_wait() <= max);
                }
            }
        }
    }
}
