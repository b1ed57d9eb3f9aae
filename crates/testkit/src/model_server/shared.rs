use super::record::RecordedRequest;
use super::script::{Fault, Script, Times, Turn};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The maximum number of stored requests; a client in a loop must not fill the memory.
const KEPT_REQUESTS: usize = 10_000;

/// The state that the handlers share.
#[derive(Debug)]
pub(super) struct Shared {
    script: Script,
    requests: Mutex<Vec<RecordedRequest>>,
    counted: AtomicU64,
    /// How often each point of each conversation was reached.
    reached: Mutex<HashMap<(String, usize), u32>>,
}

impl Shared {
    pub(super) fn new(script: Script) -> Self {
        Self {
            script,
            requests: Mutex::default(),
            counted: AtomicU64::new(0),
            reached: Mutex::default(),
        }
    }

    /// Stores the request and gives it a unique number.
    pub(super) fn record(&self, request: RecordedRequest) -> u64 {
        let mut requests = lock(&self.requests);
        if requests.len() < KEPT_REQUESTS {
            requests.push(request);
        }
        self.counted.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn requests(&self) -> Vec<RecordedRequest> {
        lock(&self.requests).clone()
    }

    /// Whether a request with these keys gets answers from the script.
    pub(super) fn opens_for(&self, shown: impl Iterator<Item = String>) -> bool {
        self.script.opens_for(shown)
    }

    /// The turn to answer with, and the fault that precedes it this time.
    pub(super) fn next(&self, opening: &str, position: usize) -> (Turn, Option<Fault>) {
        let turn = self.script.turn(opening, position);
        let mut reached = lock(&self.reached);
        let count = reached.entry((opening.to_owned(), position)).or_default();
        *count += 1;
        let fault = match turn.fault {
            Some((fault, Times::Always)) => Some(fault),
            Some((fault, Times::First(times))) => (*count <= times).then_some(fault),
            None => None,
        };
        (turn, fault)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panicking handler leaves whole values behind, never half of one.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
