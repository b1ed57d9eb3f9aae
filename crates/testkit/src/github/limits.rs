//! GitHub's limits on requests per hour and writes per minute.

use super::http::{Answer, Refusal};
use drive_core::time::Timestamp;
use jiff::SignedDuration;
use serde_json::json;
use std::collections::BTreeMap;

/// The number of writes per minute before the secondary limit.
const WRITES_A_MINUTE: usize = 80;

/// The counter of one token.
#[derive(Debug)]
struct Hour {
    used: u64,
    resets_at: Timestamp,
}

/// All counters.
#[derive(Debug)]
pub(crate) struct Limits {
    /// Requests per hour.
    pub(crate) hourly: u64,
    hours: BTreeMap<(String, &'static str), Hour>,
    writes: Vec<Timestamp>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            hourly: 5000,
            hours: BTreeMap::new(),
            writes: Vec::new(),
        }
    }
}

impl Limits {
    fn hour(&mut self, token: &str, resource: &'static str, now: Timestamp) -> &mut Hour {
        let fresh = || Hour {
            used: 0,
            resets_at: plus(now, 3600),
        };
        let key = (token.to_owned(), resource);
        let hour = self.hours.entry(key).or_insert_with(fresh);
        if now >= hour.resets_at {
            *hour = fresh();
        }
        hour
    }

    /// Refuses a token whose limit is used up.
    pub(crate) fn refuse(
        &mut self,
        token: &str,
        resource: &'static str,
        now: Timestamp,
    ) -> Option<Answer> {
        let hourly = self.hourly;
        let empty = self.hour(token, resource, now).used >= hourly;
        empty.then(|| {
            let words = "API rate limit exceeded for user";
            let answer = match resource {
                // This API reports it in a successful answer.
                "graphql" => {
                    let error = json!({ "type": "RATE_LIMITED", "message": words });
                    Answer::json(200, &json!({ "errors": [error] }))
                }
                _ => Refusal::new(403, words).answer(),
            };
            self.stamp(answer, token, resource, now)
        })
    }

    /// Uses up the limit until the hour ends.
    pub(crate) fn exhaust(&mut self, token: &str, resource: &'static str, now: Timestamp) {
        let hourly = self.hourly;
        self.hour(token, resource, now).used = hourly;
    }

    /// Counts a request.
    pub(crate) fn count(&mut self, token: &str, resource: &'static str, now: Timestamp) {
        self.hour(token, resource, now).used += 1;
    }

    /// Refuses a write beyond the limit.
    pub(crate) fn refuse_write(&mut self, now: Timestamp) -> Option<Answer> {
        self.writes.retain(|at| plus(*at, 60) > now);
        if self.writes.len() >= WRITES_A_MINUTE {
            return Some(secondary(60));
        }
        self.writes.push(now);
        None
    }

    /// Adds the headers with the remaining limit to an answer.
    pub(crate) fn stamp(
        &mut self,
        answer: Answer,
        token: &str,
        resource: &'static str,
        now: Timestamp,
    ) -> Answer {
        let hourly = self.hourly;
        let hour = self.hour(token, resource, now);
        answer
            .with("x-ratelimit-limit", hourly.to_string())
            .with(
                "x-ratelimit-remaining",
                hourly.saturating_sub(hour.used).to_string(),
            )
            .with("x-ratelimit-used", hour.used.to_string())
            .with("x-ratelimit-reset", hour.resets_at.as_second().to_string())
            .with("x-ratelimit-resource", resource)
    }
}

/// The refusal of the secondary limit.
pub(crate) fn secondary(retry_after: u64) -> Answer {
    Refusal::new(
        403,
        "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
    )
    .answer()
    .with("retry-after", retry_after.to_string())
}

fn plus(at: Timestamp, seconds: i64) -> Timestamp {
    at.checked_add(SignedDuration::from_secs(seconds))
        .unwrap_or(at)
}
