use crate::agent::{AgentOutcome, Cost, Ending, Failure, Usage};
use crate::forge::is_local_url;
use crate::ids::{BranchName, CommitSha, PrNumber};
use crate::time::Timestamp;
use crate::{Class, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// The status.
    pub status: OutcomeStatus,
    /// The failure, if the run did not succeed.
    pub failure: Option<Problem>,
    /// When the run ended.
    pub ended_at: Timestamp,
}

/// The contract's `status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OutcomeStatus {
    /// The run did what it was started for.
    Succeeded,
    /// The run did not do what it was started for.
    Failed,
    /// The run hit a time limit.
    TimedOut,
    /// A person stopped it.
    Cancelled,
    /// A person must decide something.
    NeedsHuman,
}

impl OutcomeStatus {
    /// The outcome of a run that cannot continue because of this problem.
    pub fn of_problem(problem: &Problem) -> Self {
        match problem.class() {
            Class::Interrupted => OutcomeStatus::Cancelled,
            Class::Work | Class::Usage | Class::Environment => OutcomeStatus::Failed,
        }
    }

    /// The status of a run whose only agent ended like this.
    pub fn of_agent(ending: &Ending) -> Self {
        let Ending::Failed { reason, .. } = ending else {
            return OutcomeStatus::Succeeded;
        };
        match reason {
            Failure::TimedOut { .. } => OutcomeStatus::TimedOut,
            Failure::Cancelled => OutcomeStatus::Cancelled,
            Failure::LoginExpired
            | Failure::UsageLimit { .. }
            | Failure::Escalations { .. }
            | Failure::Budget { .. } => OutcomeStatus::NeedsHuman,
            Failure::Reported
            | Failure::Model { .. }
            | Failure::NoVerdict { .. }
            | Failure::Garbage
            | Failure::MemoryLimit
            | Failure::ProcessLimit
            | Failure::DiskLimit { .. }
            | Failure::OutputLimit
            | Failure::Infra => OutcomeStatus::Failed,
        }
    }
}

/// Tokens and cost of a run's agents, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spent {
    /// The tokens used.
    pub usage: Usage,
    /// Cost; `None` until an agent reports one.
    pub cost: Option<Cost>,
}

impl Spent {
    /// Tokens and cost of one agent.
    pub fn of(outcome: &AgentOutcome) -> Spent {
        Spent {
            usage: outcome.usage,
            cost: outcome.cost,
        }
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Spent) -> Spent {
        let cost = match (self.cost, other.cost) {
            (Some(before), Some(now)) => Some(before.plus(now)),
            (before, now) => before.or(now),
        };
        Spent {
            usage: self.usage.plus(other.usage),
            cost,
        }
    }

    /// Whether it is worth a new event: the usage grew by at least a tenth since `noted`, or is the
    /// first. So a crash hides at most about a tenth of the usage.
    pub fn is_news_after(&self, noted: &Spent) -> bool {
        let grew = |now: u64, before: u64| now > before && now - before >= before / 10;
        let micros = |cost: Option<Cost>| cost.map_or(0, Cost::micro_usd);
        grew(self.usage.counted(), noted.usage.counted())
            || grew(micros(self.cost), micros(noted.cost))
    }
}

/// The result of a run: its branch, commits and pull request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Work {
    /// The branch, once it has commits.
    pub branch: Option<BranchName>,
    /// The branch's tip, if there is a branch.
    pub head_sha: Option<CommitSha>,
    /// The base of the work, if the base branch was merged in and the base is no longer the commit
    /// that the run started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_sha: Option<CommitSha>,
    /// Its commits, oldest first.
    pub commits: Vec<CommitSummary>,
    /// The steering files that its commits change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steering: Vec<String>,
    /// The pull request.
    pub pull_request: Option<Published>,
    /// The agent's final message.
    pub summary: Option<String>,
    /// The agent's log.
    pub log: Option<PathBuf>,
}

/// A branch's tip and commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchTip {
    /// The branch's tip.
    pub head_sha: CommitSha,
    /// Its commits since the base, oldest first.
    pub commits: Vec<CommitSummary>,
}

/// One commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitSummary {
    /// Its full hash.
    pub sha: CommitSha,
    /// The first line of its message.
    pub subject: String,
}

/// A pull request of ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Published {
    /// The pull request's number.
    pub number: PrNumber,
    /// The URL of its page.
    pub url: String,
}

impl Published {
    /// Whether it is on the built-in local forge, which has no web pages.
    pub fn is_local(&self) -> bool {
        is_local_url(&self.url)
    }
}
