//! Cached answers for conditional requests.

use drive_core::Problem;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Whose answer to what. Another token may see another answer at the same address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CacheKey {
    /// The token's fingerprint, never the token.
    pub token: String,
    /// The whole address.
    pub url: String,
}

/// An answer that was read whole and understood before it was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedAnswer {
    /// The forge's tag of this version.
    pub etag: String,
    /// What was understood, as JSON: a fraction of what was sent.
    pub value: String,
    /// The address of the next page.
    pub next: Option<String>,
}

/// Keeps answers. Losing one costs a request, never correctness.
pub trait HttpCache: Send + Sync {
    /// What is kept.
    fn load(&self, key: &CacheKey) -> Result<Option<CachedAnswer>, Problem>;
    /// Keeps it in place of an older one.
    fn store(&self, key: &CacheKey, answer: &CachedAnswer) -> Result<(), Problem>;
}

/// How many answers are kept.
pub const CACHE_ENTRIES: usize = 4096;

/// Answers kept for as long as the process lives.
#[derive(Debug, Default)]
pub struct MemoryCache {
    answers: Mutex<BTreeMap<CacheKey, CachedAnswer>>,
}

impl HttpCache for MemoryCache {
    fn load(&self, key: &CacheKey) -> Result<Option<CachedAnswer>, Problem> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(answers.get(key).cloned())
    }

    fn store(&self, key: &CacheKey, answer: &CachedAnswer) -> Result<(), Problem> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= CACHE_ENTRIES {
            answers.clear();
        }
        answers.insert(key.clone(), answer.clone());
        Ok(())
    }
}
