//! State that the model calls of a run share: keys, token budget, and whether new calls are accepted.

use super::dialect::Dialect;
use super::grant::{Grant, OnUsage, Renew};
use super::outside::Outside;
use axum::http::HeaderMap;
use drive_core::agent::Usage;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use subtle::ConstantTimeEq;
use tokio::sync::{Semaphore, watch};
use ureq::Agent;

/// How many calls run at once, of an agent and the agents it starts. Further ones wait before their
/// body is read.
pub(super) const MOST_CALLS: usize = 16;
/// How many calls one run may make: far more than an agent and its sub-agents make in a day.
pub(super) const MOST_CALLS_OF_RUN: u64 = 100_000;
/// The total size of all requests that wait to be sent, in KiB.
pub(super) const MOST_WAITING: u32 = 256 * 1024;

pub(super) const RUN_OVER: &str = "the run is over";
const BUDGET_USED: &str = "the token budget of this run is used up";
pub(super) const CALLS_MADE: &str = "the run has made too many calls of its model";

/// Headers that carry a key.
const KEYS: [&str; 4] = ["authorization", "x-api-key", "x-goog-api-key", "api-key"];

/// A grant, with the data that its calls need.
pub(super) struct Entry {
    pub(super) grant: Grant,
    pub(super) client: Agent,
    /// The current key.
    pub(super) real: Mutex<String>,
}

/// Where the agent puts its dummy: the name of a header, and the scheme before the dummy.
pub(super) type Carrier = (&'static str, String);

/// The data that every call needs.
pub(super) struct Shared {
    pub(super) dialect: Dialect,
    pub(super) grants: Vec<Entry>,
    renew: Renew,
    used: Mutex<Usage>,
    /// The estimated tokens of the running calls.
    pub(super) expected: AtomicU64,
    on_usage: OnUsage,
    pub(super) calls: Arc<Semaphore>,
    /// The number of the run's calls so far.
    pub(super) made: AtomicU64,
    pub(super) waiting: Arc<Semaphore>,
    /// Why no further call is accepted, if so.
    closed: watch::Sender<Option<&'static str>>,
}

impl Shared {
    pub(super) fn new(
        dialect: Dialect,
        grants: &[Grant],
        outside: &Outside,
        renew: Renew,
        on_usage: OnUsage,
    ) -> Self {
        let entry = |grant: &Grant| Entry {
            client: outside.client(&grant.upstream),
            real: Mutex::new(grant.real.clone()),
            grant: grant.clone(),
        };
        Self {
            dialect,
            grants: grants.iter().map(entry).collect(),
            renew,
            used: Mutex::default(),
            expected: AtomicU64::new(0),
            on_usage,
            calls: Arc::new(Semaphore::new(MOST_CALLS)),
            made: AtomicU64::new(0),
            waiting: Arc::new(Semaphore::new(MOST_WAITING as usize)),
            closed: watch::Sender::new(None),
        }
    }

    /// Refuses further calls for this reason, and ends the running ones.
    pub(super) fn close(&self, why: &'static str) {
        self.closed.send_if_modified(|closed| {
            let is_first = closed.is_none();
            closed.get_or_insert(why);
            is_first
        });
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.borrow().is_some()
    }

    /// Waits until calls are refused; returns the reason.
    pub(super) fn closing(&self) -> impl Future<Output = &'static str> + Send + use<> {
        let mut closed = self.closed.subscribe();
        async move {
            let why = closed.wait_for(Option::is_some).await;
            why.map_or(RUN_OVER, |why| why.unwrap_or(RUN_OVER))
        }
    }

    /// The usage with an estimate for unanswered calls.
    pub(super) fn final_usage(&self) -> Usage {
        let expected = Usage {
            input: self.expected.load(Ordering::Relaxed),
            ..Usage::default()
        };
        self.usage().plus(expected)
    }

    pub(super) fn usage(&self) -> Usage {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, more: Usage) {
        if more == Usage::default() {
            return;
        }
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used = used.plus(more);
        let now = *used;
        drop(used);
        if (self.on_usage)(now).is_break() {
            self.close(BUDGET_USED);
        }
    }

    /// The caller's grant, and the headers that contain the dummy.
    pub(super) fn granted(&self, headers: &HeaderMap) -> Option<(usize, Vec<Carrier>)> {
        let mut found = None;
        let mut carriers = Vec::new();
        for name in KEYS {
            let Some(value) = headers.get(name).and_then(|value| value.to_str().ok()) else {
                continue;
            };
            let (scheme, shown) = match value.split_at_checked(7) {
                Some((scheme, shown)) if scheme.eq_ignore_ascii_case("bearer ") => (scheme, shown),
                Some(_) | None => ("", value),
            };
            let is_shown = |dummy: &str| bool::from(dummy.as_bytes().ct_eq(shown.as_bytes()));
            let mut entries = self.grants.iter();
            let Some(entry) = entries.position(|entry| is_shown(&entry.grant.dummy)) else {
                continue;
            };
            // A call has one key: another one would go to the wrong server.
            if *found.get_or_insert(entry) == entry {
                carriers.push((name, scheme.to_owned()));
            }
        }
        found.map(|entry| (entry, carriers))
    }

    /// The new key of a grant, if the user's own program renewed it. Only the key may differ,
    /// because the rest of a run must use the same account.
    pub(super) fn renewed(&self, index: usize, refused: &str) -> Option<String> {
        let entry = self.grants.get(index)?;
        let mut real = entry.real.lock().unwrap_or_else(PoisonError::into_inner);
        if *real == refused {
            let all = (self.renew)();
            let now = all.get(index).filter(|_| all.len() == self.grants.len())?;
            let is_same =
                now.upstream == entry.grant.upstream && now.headers == entry.grant.headers;
            if !is_same || now.real == refused {
                return None;
            }
            real.clone_from(&now.real);
        }
        Some(real.clone())
    }
}
