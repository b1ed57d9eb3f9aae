use drive_core::time::{Timestamp, after};
use drive_engine::ports::Clock;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A clock that moves only when a test advances it. Clones are the same clock.
#[derive(Clone, Debug)]
pub struct SimClock {
    now: Arc<Mutex<Timestamp>>,
}

impl SimClock {
    /// A clock that shows `start`.
    pub fn new(start: Timestamp) -> Self {
        Self {
            now: Arc::new(Mutex::new(start)),
        }
    }

    /// Advances the clock.
    pub fn advance(&self, by: Duration) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        *now = after(*now, by);
    }
}

impl Default for SimClock {
    fn default() -> Self {
        Self::new(Timestamp::from_second(1_767_225_600).unwrap_or(Timestamp::UNIX_EPOCH))
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
