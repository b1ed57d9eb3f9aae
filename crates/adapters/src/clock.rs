//! The clock of this machine.

use drive_core::time::Timestamp;
use drive_engine::ports::Clock;

/// Civil time as the machine tells it.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
