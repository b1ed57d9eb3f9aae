//! Cached answers for conditional requests.

use drive_core::Problem;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The key of a cached answer. Another token may get another answer from the same address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CacheKey {
    /// The fingerprint of the token, never the token itself.
    pub token: String,
    /// The whole address.
    pub url: String,
}

/// An answer that was read and parsed completely before it was cached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedAnswer {
    /// The forge's tag of this version.
    pub etag: String,
    /// The parsed data as JSON, which is a fraction of the original.
    pub value: String,
    /// The address of the next page.
    pub next: Option<String>,
}

/// A cache of answers. Losing one costs a request, never correctness.
pub trait HttpCache: Send + Sync {
    /// The cached answer.
    fn load(&self, key: &CacheKey) -> Result<Option<CachedAnswer>, Problem>;
    /// Caches an answer, replacing an older one.
    fn store(&self, key: &CacheKey, answer: &CachedAnswer) -> Result<(), Problem>;
}

/// How many answers are cached.
pub const CACHE_ENTRIES: usize = 4096;

/// A cache for the life of the process.
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
