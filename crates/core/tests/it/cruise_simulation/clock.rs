//! Simulated time: a steady clock that only advances, the civil clock of drive's machine, which
//! people may set back, and the forge's own clock.

use crate::common;
use drive_core::time::Timestamp;

/// All times are in milliseconds.
pub struct Clock {
    pub steady: i64,
    /// How far the civil time is off.
    pub offset: i64,
}

pub const SECOND: i64 = 1_000;
pub const MINUTE: i64 = 60 * SECOND;
pub const HOUR: i64 = 60 * MINUTE;

impl Clock {
    pub fn now(&self) -> Timestamp {
        self.civil(self.steady + self.offset)
    }

    pub fn forge(&self) -> Timestamp {
        Timestamp::from_second(self.civil(self.steady).as_second()).expect("in range")
    }

    fn civil(&self, millis: i64) -> Timestamp {
        Timestamp::from_millisecond(common::at(0).as_millisecond() + millis).expect("in range")
    }

    /// When the civil clock will show this time, by the steady clock.
    pub fn steady_at(&self, civil: Timestamp) -> i64 {
        civil.as_millisecond() - common::at(0).as_millisecond() - self.offset
    }
}
