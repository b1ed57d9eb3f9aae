//! `drive.runLog/1`.

use super::value::Moment;
use drive_adapters::agents::{AgentEnd, AgentHead};
use drive_core::agent::{AgentKind, Role};
use drive_core::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// The logs of a run's agents.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunLogDocument {
    pub(crate) run_id: String,
    /// The file with the output of the agent that was active last; null if there is none yet.
    pub(crate) path: Option<String>,
    /// Its text; absent when the log was followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) log: Option<String>,
    /// The agents of the run and its children, in the order of their start; none when the log was
    /// followed.
    pub(crate) agents: Vec<AgentLogDocument>,
}

/// An agent and the paths of its logs.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentLogDocument {
    /// Its number among the agents of the run, from 1.
    pub(crate) number: usize,
    /// The run it worked for: this one, or one that this one started.
    pub(crate) run_id: String,
    /// The effect that started it, with its attempt.
    pub(crate) effect: String,
    /// The file with its output.
    pub(crate) path: String,
    /// The file with its actions, one event per line; absent for an agent of an older drive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) events: Option<String>,
    /// The agent; absent for an agent of an older drive.
    #[serde(flatten)]
    pub(crate) head: Option<AgentHeadDocument>,
}

/// An agent and its outcome.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentHeadDocument {
    /// Its name in the settings.
    agent: String,
    kind: AgentKind,
    /// The model it was asked to use.
    model: Option<String>,
    role: Role,
    round: u32,
    domain: Option<String>,
    started_at: Moment,
    /// The time from its start to the last that is known of it.
    duration_ms: u64,
    /// Whether it has ended.
    ended: bool,
    /// Why it did not succeed.
    problem: Option<String>,
    /// Tokens, without those read from the model's cache; null until it has ended.
    tokens: Option<u64>,
    #[schemars(range(min = 0))]
    cost_usd: Option<f64>,
}

impl AgentHeadDocument {
    pub(crate) fn new(head: &AgentHead, until: Timestamp, end: Option<&AgentEnd>) -> Self {
        let took = until.duration_since(head.started_at).as_millis();
        Self {
            agent: head.agent.clone(),
            kind: head.kind,
            model: head.model.clone(),
            role: head.role,
            round: head.round,
            domain: head.domain.clone(),
            started_at: head.started_at.into(),
            duration_ms: u64::try_from(took).unwrap_or(0),
            ended: end.is_some(),
            problem: end.and_then(|end| end.problem.clone()),
            tokens: end.and_then(|end| end.usage.reported()),
            cost_usd: end.and_then(|end| end.cost).map(|cost| cost.usd()),
        }
    }
}
