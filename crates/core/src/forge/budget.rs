//! The remaining request budget of a token.

use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// The remaining requests of one token, shared by all processes that use the token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestBudget {
    /// The number of requests per hour.
    pub limit: u64,
    /// The remaining requests.
    pub remaining: u64,
    /// When the count resets.
    pub resets_at: Timestamp,
    /// Until when the forge asked for no requests at all.
    pub paused_until: Option<Timestamp>,
}

/// The state of a budget at a given time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The state as text.
    pub words: String,
    /// Whether requests must wait.
    pub waits: bool,
}

impl RequestBudget {
    /// The budget's state now. Numbers from an hour that is over no longer count.
    pub fn standing(&self, now: Timestamp) -> Standing {
        let Self {
            limit,
            remaining,
            resets_at,
            paused_until,
        } = self;
        if let Some(until) = paused_until.filter(|until| *until > now) {
            return Standing {
                words: format!("GitHub asked for a pause until {until}"),
                waits: true,
            };
        }
        if *resets_at <= now {
            return Standing {
                words: format!("all {limit} requests left"),
                waits: false,
            };
        }
        Standing {
            words: format!("{remaining} of {limit} requests left until {resets_at}"),
            waits: *remaining == 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_told_as_it_is_now() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let told = |remaining, paused_until: Option<i64>, now| {
            let budget = RequestBudget {
                limit: 5000,
                remaining,
                resets_at: at(3600),
                paused_until: paused_until.map(at),
            };
            let standing = budget.standing(at(now));
            (standing.words, standing.waits)
        };
        let left = |count: u64| format!("{count} of 5000 requests left until 1970-01-01T01:00:00Z");
        let paused = "GitHub asked for a pause until 1970-01-01T00:03:20Z";
        assert_eq!(told(42, None, 100), (left(42), false));
        assert_eq!(told(0, None, 100), (left(0), true));
        assert_eq!(told(42, Some(200), 100), (paused.to_owned(), true));
        assert_eq!(told(42, Some(50), 100), (left(42), false));
        let anew = "all 5000 requests left".to_owned();
        assert_eq!(told(0, None, 3600), (anew, false));
    }
}
