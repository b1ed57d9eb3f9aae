//! The settings as types. The schema, the check of every file and the decoding all come from these,
//! so they cannot disagree. Defaults are in `default.toml`, not here.

use super::units::Period;
use super::verify::VerifySettings;
use crate::agent::AgentConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Settings of drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// One agent in a sandbox of its own.
    pub spawn: SpawnSettings,
    /// A primary and a reviewer in one shared sandbox.
    #[serde(rename = "spawn-team")]
    pub spawn_team: TeamSettings,
    /// Plan, build and validate over pull requests.
    pub cruise: CruiseSettings,
    /// Per run; a run that exceeds one stops, keeps its work and says so.
    pub budget: BudgetSettings,
    /// Where pull requests live.
    pub forge: ForgeSettings,
    /// Where agents work.
    pub sandbox: SandboxSettings,
    /// The agents, by name.
    pub agents: BTreeMap<String, AgentConfig>,
    /// The isolated verifier.
    pub verify: VerifySettings,
}

/// `[spawn]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpawnSettings {
    /// The agent: a name of an `[agents.NAME]` table.
    pub agent: String,
    /// How long an agent may give no sign of life; shorter than the total.
    pub idle_timeout: Period,
    /// How long an agent may run.
    pub total_timeout: Period,
    /// How many permissions an agent may ask for before it is ended.
    pub max_escalations: u32,
}

/// `[spawn-team]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TeamSettings {
    /// How primary and reviewer take turns.
    pub mode: TeamMode,
    /// Review rounds at most.
    pub max_iterations: u32,
    /// The agent that does the work.
    pub primary_llm: String,
    /// The agent that reviews it.
    pub reviewer_llm: String,
    /// The agent that names branch and pull request; the primary when left out.
    pub namer_llm: Option<String>,
    /// The model that agent is told to use.
    pub namer_model: Option<String>,
    /// Permission escalations per spawn.
    pub max_escalations: u32,
}

/// How a team takes turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TeamMode {
    /// Work, then one review.
    Sequential,
    /// Work and review in turn until approved.
    Pingpong,
    /// Review over a pull request.
    Github,
}

/// `[cruise]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CruiseSettings {
    /// How soon a pull request is looked at again at first.
    pub poll_initial: Period,
    /// How long the wait between two looks may grow.
    pub poll_max: Period,
    /// After so long without anything new a phase ends; its work is kept.
    pub inactivity_timeout: Period,
    /// Fixer rounds per pull request before a human is asked.
    pub max_rounds: u32,
    /// Tasks at once.
    pub max_parallel: u32,
    /// How tasks become pull requests.
    pub pr_strategy: PrStrategy,
    /// Who merges.
    pub merge: MergePolicy,
}

/// How tasks become pull requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PrStrategy {
    /// One for each task.
    PerTask,
    /// One for each group of tasks that can run together.
    Batch,
    /// One for all.
    Single,
}

/// Who merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MergePolicy {
    /// A person.
    Manual,
    /// Drive, and only after verification passed on that exact commit. A cruise has no step yet that
    /// would: until it has, a person merges here too.
    Auto,
}

/// `[budget]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetSettings {
    /// What a run may cost, in US dollars.
    pub cost_usd: f64,
    /// How many tokens a run may use.
    pub tokens: u64,
}

/// `[forge]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgeSettings {
    /// Which forge.
    pub kind: ForgeKind,
    /// The repository there, as `owner/name`; from the remote when left out.
    pub repo: Option<String>,
    /// Where its API answers.
    pub api_url: String,
    /// The variable its token is in; else `GH_TOKEN`, else `gh auth token`.
    pub token_env: String,
    /// The variable the secret of its webhooks is in; without one `drive serve` takes none.
    pub webhook_secret_env: String,
    /// The git remote that is pushed to.
    pub remote: String,
    /// Logins whose comments count besides those with write permission.
    pub trusted: Vec<String>,
    /// Who posts a review.
    pub post_via: PostVia,
}

/// Which forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ForgeKind {
    /// GitHub when the remote is there, else the local one.
    Auto,
    /// GitHub.
    Github,
    /// The one in drive's own database.
    Local,
}

/// Who posts a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PostVia {
    /// Drive itself; the agent has no token.
    Drive,
    /// The agent, by calling `gh` with the user's token.
    Gh,
}

/// `[sandbox]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxSettings {
    /// The folder sandboxes are made in: absolute, below `~/`, or relative to the repository; the
    /// state directory's `sandboxes` when left out.
    pub root: Option<String>,
    /// How much the kernel must help.
    pub isolation: IsolationMode,
    /// Untracked files to bring along.
    pub copy: Vec<String>,
    /// Caches to clone or link into a new sandbox.
    pub seed: Vec<String>,
}

/// How much the kernel must help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IsolationMode {
    /// Every layer the machine has; what is missing is named.
    Auto,
    /// Refuse to run an agent when a layer is missing.
    Require,
    /// None.
    Off,
}
