//! The clock of this machine.

use drive_core::time::Timestamp;
use drive_engine::ports::Clock;

/// The machine's wall-clock time.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
