//! Services that a client shares with the rest of drive.

use super::budget::Budgets;
use super::cache::HttpCache;
use crate::SystemClock;
use crate::store::{Database, SqliteForgeMemory};
use drive_engine::CancelToken;
use drive_engine::ports::Clock;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Lets time pass. Tests let it pass at once.
pub trait Pause: Send + Sync {
    /// Returns after this long, or once a stop is asked for.
    fn pause(&self, wait: Duration, cancel: &CancelToken);
}

/// Waits by sleeping.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadPause;

impl Pause for ThreadPause {
    fn pause(&self, wait: Duration, cancel: &CancelToken) {
        let (asked, stop) = channel();
        let _guard = cancel.on_cancel(move |_| {
            let _ = asked.send(());
        });
        let _ = stop.recv_timeout(wait);
    }
}

/// Everything that a client shares with the rest of drive.
#[derive(Clone)]
pub struct Surroundings {
    /// Answers kept between runs.
    pub cache: Arc<dyn HttpCache>,
    /// The budget of the token.
    pub budgets: Arc<dyn Budgets>,
    /// Civil time.
    pub clock: Arc<dyn Clock>,
    /// How to wait.
    pub pause: Arc<dyn Pause>,
    /// A stop: asked for once nothing is tried again, asked for twice no answer is waited for.
    pub cancel: CancelToken,
}

impl Surroundings {
    /// The machine's own time, and a memory shared with every process that uses `database`.
    pub fn of_machine(database: Arc<Database>) -> Self {
        let memory = Arc::new(SqliteForgeMemory::new(database));
        Self {
            cache: memory.clone(),
            budgets: memory,
            clock: Arc::new(SystemClock),
            pause: Arc::new(ThreadPause),
            cancel: CancelToken::new(),
        }
    }
}
