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

/// Waits. Tests replace it by a pause that returns immediately.
pub trait Pause: Send + Sync {
    /// Returns after this time, or when a stop is requested.
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
    /// Answers that are cached between runs.
    pub cache: Arc<dyn HttpCache>,
    /// The budgets of tokens.
    pub budgets: Arc<dyn Budgets>,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// The way to wait.
    pub pause: Arc<dyn Pause>,
    /// The cancellation: after the first request nothing is retried, after the second no answer is
    /// waited for.
    pub cancel: CancelToken,
}

impl Surroundings {
    /// The machine's clock, and a cache that is shared by all processes that use `database`.
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
