use crate::Problem;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// In one word.
    pub status: OutcomeStatus,
    /// Why, where it did not succeed.
    pub failure: Option<Problem>,
    /// When.
    pub ended_at: Timestamp,
}

/// The contract's `status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OutcomeStatus {
    /// Done.
    Succeeded,
    /// Not done.
    Failed,
    /// A time limit came first.
    TimedOut,
    /// A person stopped it.
    Cancelled,
    /// A person must decide something.
    NeedsHuman,
}

/// What agents used, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens in and out.
    pub tokens: u64,
    /// Dollars, as far as the agents tell.
    pub cost_usd: f64,
}

impl Usage {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Usage) -> Usage {
        Usage {
            tokens: self.tokens.saturating_add(other.tokens),
            cost_usd: self.cost_usd + other.cost_usd,
        }
    }
}

/// What a run made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Work {
    /// The branch, once it holds something.
    pub branch: Option<String>,
    /// Its tip.
    pub head_sha: Option<String>,
    /// Its commits, oldest first.
    pub commits: Vec<CommitSummary>,
    /// The pull request.
    pub pull_request: Option<Published>,
    /// The agent's last words.
    pub summary: Option<String>,
    /// The agent's log.
    pub log: Option<PathBuf>,
}

/// One commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitSummary {
    /// Its full hash.
    pub sha: String,
    /// Its first line.
    pub subject: String,
}

/// A pull request of ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Published {
    /// Its number.
    pub number: u64,
    /// Where it is.
    pub url: String,
}

/// How one agent ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentReport {
    /// `Succeeded` only where a terminal event said so with its error flag clear.
    pub status: OutcomeStatus,
    /// Why, where it did not succeed.
    pub failure: Option<Problem>,
    /// Its last words.
    pub summary: Option<String>,
    /// What it used.
    pub usage: Usage,
    /// Its log.
    pub log: Option<PathBuf>,
}
