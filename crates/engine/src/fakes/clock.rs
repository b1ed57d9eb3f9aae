use super::lock::lock;
use crate::ports::Clock;
use drive_core::time::{Timestamp, after};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A clock that moves only when advanced. Clones share the time.
#[derive(Clone)]
pub struct FakeClock {
    now: Arc<Mutex<Timestamp>>,
}

impl FakeClock {
    /// A clock that shows this time.
    pub fn at(now: Timestamp) -> Self {
        Self {
            now: Arc::new(Mutex::new(now)),
        }
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        let mut now = lock(&self.now);
        *now = after(*now, by);
    }

    /// Moves the clock forward to a time; an earlier time changes nothing.
    pub fn advance_to(&self, instant: Timestamp) {
        let mut now = lock(&self.now);
        *now = instant.max(*now);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        *lock(&self.now)
    }
}
