//! Cancellation: the first request stops cleanly, the second stops immediately.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The urgency of a cancellation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// SIGTERM, then SIGKILL after the grace period.
    Graceful,
    /// SIGKILL now; the work is still saved.
    Now,
}

type Waker = Box<dyn Fn(Urgency) + Send>;

#[derive(Default)]
struct State {
    asked: Option<Urgency>,
    wakers: Vec<(u64, Waker)>,
    next: u64,
}

/// A shared request to stop. Clones are the same token.
#[derive(Clone, Default)]
pub struct CancelToken {
    state: Arc<Mutex<State>>,
}

impl CancelToken {
    /// Creates a token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Requests a stop. A weaker request after a stronger one changes nothing.
    pub fn cancel(&self, urgency: Urgency) {
        let mut state = self.lock();
        if state.asked >= Some(urgency) {
            return;
        }
        state.asked = Some(urgency);
        for (_, waker) in &state.wakers {
            waker(urgency);
        }
    }

    /// The strongest request so far.
    pub fn asked(&self) -> Option<Urgency> {
        self.lock().asked
    }

    /// Calls `waker` for every further request, and immediately if there was one already, until the
    /// guard is dropped.
    pub fn on_cancel(&self, waker: impl Fn(Urgency) + Send + 'static) -> CancelGuard {
        let mut state = self.lock();
        if let Some(urgency) = state.asked {
            waker(urgency);
        }
        let id = state.next;
        state.next += 1;
        state.wakers.push((id, Box::new(waker)));
        CancelGuard {
            token: self.clone(),
            id,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a waker registered.
pub struct CancelGuard {
    token: CancelToken,
    id: u64,
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        self.token.lock().wakers.retain(|(id, _)| *id != self.id);
    }
}
