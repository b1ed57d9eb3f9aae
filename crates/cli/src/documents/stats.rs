//! `drive.stats/1`.

use drive_core::agent::Cost;
use drive_core::run::{ReviewStats, Reviewing};
use schemars::JsonSchema;
use serde::Serialize;

/// Review statistics, per agent and domain.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatsDocument {
    /// Number of runs that were counted.
    pub(crate) runs: u32,
    /// One entry for each agent and domain, by name.
    pub(crate) reviewers: Vec<ReviewerStats>,
}

/// Review statistics of one agent in one domain.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReviewerStats {
    /// The agent's name in the settings.
    agent: String,
    /// The domain; null for reviews of the whole change.
    domain: Option<String>,
    /// Reviews, with or without a verdict.
    reviews: u32,
    /// Reviews that asked for changes: each starts a fix round.
    rounds: u32,
    findings: u32,
    /// Findings with a place, of the change, not refuted.
    measured: u32,
    /// Of the measured ones, how many had their lines changed before the end.
    resolved: u32,
    /// `resolved` of `measured`, from 0 to 1; null where nothing was measured.
    #[schemars(range(min = 0, max = 1))]
    resolved_share: Option<f64>,
    /// Findings that a fixer declined.
    declined: u32,
    /// Findings that a second agent refuted.
    refuted: u32,
    /// Cost in millionths of a dollar, as far as the agent reports it.
    cost: Option<u64>,
}

impl ReviewerStats {
    pub(crate) fn new(of: &Reviewing, stats: &ReviewStats) -> Self {
        Self {
            agent: of.agent.clone(),
            domain: of.domain.clone(),
            reviews: stats.reviews,
            rounds: stats.rounds,
            findings: stats.findings,
            measured: stats.measured,
            resolved: stats.resolved,
            resolved_share: (stats.measured > 0)
                .then(|| f64::from(stats.resolved) / f64::from(stats.measured)),
            declined: stats.declined,
            refuted: stats.refuted,
            cost: stats.cost.map(Cost::micro_usd),
        }
    }
}
