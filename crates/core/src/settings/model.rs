//! The settings as types. The schema, the check of every file and the decoding are all derived from
//! them, so they cannot disagree. Defaults are in `default.toml`, not here.

use super::verify::VerifySettings;
use crate::agent::answer::Confidence;
use crate::agent::{AgentConfig, Budget, Cost};
use crate::ids::RemoteName;
use crate::problem::{Kind, Problem};
use crate::review::Domain;
use crate::units::Period;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Settings of drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// One agent in its own sandbox.
    pub spawn: SpawnSettings,
    /// A primary and a reviewer in one shared sandbox.
    #[serde(rename = "spawn-team")]
    pub spawn_team: TeamSettings,
    /// A reviewed plan on a watched pull request.
    pub cruise: CruiseSettings,
    /// By which rules work is reviewed.
    pub review: ReviewSettings,
    /// Notifications of the user.
    pub notify: NotifySettings,
    /// Limits for one run; a run that exceeds one stops, saves its work and names the limit.
    pub budget: BudgetSettings,
    /// The forge that pull requests are opened on.
    pub forge: ForgeSettings,
    /// Sandboxes of agents.
    pub sandbox: SandboxSettings,
    /// Secrets in commits.
    pub secrets: SecretSettings,
    /// The record that drive publishes of a run.
    pub observability: ObservabilitySettings,
    /// The agents, by name.
    pub agents: BTreeMap<String, AgentConfig>,
    /// The isolated verifier.
    pub verify: VerifySettings,
}

/// Settings of `drive spawn`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpawnSettings {
    /// The agent: the NAME of an `[agents.NAME]` table.
    pub agent: String,
    /// Longest time without output; shorter than `total_timeout`.
    pub idle_timeout: Period,
    /// Longest running time of an agent.
    pub total_timeout: Period,
    /// Permission requests before the agent is stopped.
    pub max_escalations: u32,
}

/// Settings of `drive spawn-team`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TeamSettings {
    /// The order in which primary and reviewer work.
    pub mode: TeamMode,
    /// Review rounds at most.
    pub max_iterations: u32,
    /// The agent that does the work.
    pub primary_llm: String,
    /// The agent that reviews it.
    pub reviewer_llm: String,
    /// The agent that names the branch and the pull request; default: the primary.
    pub namer_llm: Option<String>,
    /// The model for that agent.
    pub namer_model: Option<String>,
    /// Permission requests before an agent is stopped.
    pub max_escalations: u32,
}

/// The order in which the agents of a team work.
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

/// Settings of `drive cruise`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CruiseSettings {
    /// Wait before the next poll; doubles up to `poll_max` while nothing happens.
    pub poll_initial: Period,
    /// The longest wait between two polls.
    pub poll_max: Period,
    /// A cruise ends after this long without activity; its work is saved.
    pub inactivity_timeout: Period,
    /// A cruise ends after this long, whatever it does; its work is saved.
    pub max_age: Period,
    /// Fixer rounds before a person has to decide.
    pub max_rounds: u32,
    /// Maximum number of tasks to build in parallel.
    pub max_parallel: u32,
    /// Whether a person or drive merges the result; `auto` merges only what passed every review and
    /// verification.
    pub merge: MergeBy,
    /// Whether the code domains review all combined changes again before the merge.
    pub final_review: bool,
    /// Pull requests of a cruise: one for all of it, or also one for each task.
    pub pr_strategy: PrStrategy,
    /// With `per-task`: whether a person must approve each task before it lands.
    pub approve_tasks: bool,
    /// Whether the plan's file stays in what lands.
    pub land_plan: bool,
    /// Fixer rounds for acceptance entries that are not met.
    pub max_validation_rounds: u32,
}

/// Pull requests of a cruise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PrStrategy {
    /// One pull request for the whole cruise.
    Single,
    /// An additional pull request for each task, into the branch of the cruise.
    PerTask,
}

/// Whether a person or drive merges the result of a cruise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MergeBy {
    /// A person.
    Manual,
    /// drive merges.
    Auto,
}

/// Settings of reviews.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewSettings {
    /// Review domains, in order; a domain of your own needs `.drive/prompts/domain-NAME.md`.
    pub domains: Vec<Domain>,
    /// A finding with less confidence than this does not block a merge.
    pub min_confidence: Confidence,
    /// Maximum number of domains to review in parallel.
    pub max_parallel: u32,
    /// Whether a second agent tries to refute each blocker and major before it counts.
    pub refute: bool,
    /// The agent that does; default: the reviewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refuter_llm: Option<String>,
    /// Whether each commit of a team or a task is verified before it is published: reviewers get
    /// the result, and a fix that makes it worse is reverted.
    pub verify: bool,
}

/// Settings of notifications.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotifySettings {
    /// The program that is started with a JSON document on its standard input, with its arguments; in
    /// your own settings only.
    pub command: Vec<String>,
}

/// Limits on cost and tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetSettings {
    /// Maximum cost of a run, in US dollars.
    pub cost_usd: f64,
    /// Maximum number of tokens of a run.
    pub tokens: u64,
}

impl BudgetSettings {
    /// The budget of one run.
    pub fn of_run(&self) -> Budget {
        Budget {
            tokens: Some(self.tokens),
            cost: Cost::from_usd(self.cost_usd),
        }
    }
}

/// Settings of the forge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgeSettings {
    /// The forge that hosts the repository.
    pub kind: ForgeKind,
    /// The repository there, as `owner/name`; default: taken from the remote.
    pub repo: Option<String>,
    /// The base URL of its API.
    pub api_url: String,
    /// The id of the GitHub App that drive acts as.
    pub app_id: Option<u64>,
    /// The installation of the app that the repository belongs to.
    pub installation_id: Option<u64>,
    /// The app's private key, as GitHub hands it out: absolute or below `~/`; in your own settings
    /// only.
    pub private_key_file: Option<String>,
    /// The program that prints a token, with its arguments; in your own settings only.
    pub token_command: Vec<String>,
    /// The variable with its token; then `GH_TOKEN`, then `gh auth token`.
    pub token_env: String,
    /// The variable with the webhook secret; if it is unset, `drive serve` accepts no webhooks.
    pub webhook_secret_env: String,
    /// The git remote to push to.
    pub remote: String,
    /// Longest wait for pending checks before a run concludes.
    pub checks_timeout: Period,
    /// Trusted authors besides those with write permission.
    pub trusted: Vec<String>,
}

/// The settings of the GitHub App that drive acts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppSettings<'a> {
    /// The setting `forge.app_id`.
    pub id: u64,
    /// The setting `forge.installation_id`.
    pub installation: u64,
    /// The setting `forge.private_key_file`.
    pub key_file: &'a str,
}

impl ForgeSettings {
    /// The GitHub App; the rules of the settings have checked that its settings are complete.
    pub fn app(&self) -> Option<AppSettings<'_>> {
        Some(AppSettings {
            id: self.app_id?,
            installation: self.installation_id?,
            key_file: self.private_key_file.as_deref()?,
        })
    }

    /// The setting `remote`, which the rules of the settings have checked.
    pub fn remote_name(&self) -> Result<RemoteName, Problem> {
        RemoteName::parse(&self.remote).ok_or_else(|| {
            let message = format!("`forge.remote` is not a remote name: `{}`", self.remote);
            Problem::new(Kind::RemoteMissing, message).hint("list remotes with `git remote`")
        })
    }
}

/// The kind of forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ForgeKind {
    /// GitHub if the remote is there and a token is found, else the local forge.
    Auto,
    /// GitHub or GitHub Enterprise Server.
    Github,
    /// The local forge, in drive's own database.
    Local,
}

/// Settings of sandboxes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxSettings {
    /// The folder for sandboxes: absolute, below `~/`, or relative to the repository; default:
    /// `sandboxes` in the state directory.
    pub root: Option<String>,
    /// Confinement of agents.
    pub isolation: IsolationMode,
    /// Untracked files to copy into a new sandbox.
    pub copy: Vec<String>,
    /// Caches to clone or link into a new sandbox.
    pub seed: Vec<String>,
}

/// Settings of the secret check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretSettings {
    /// Globs of files whose secrets may be pushed, such as test keys.
    pub allow: Vec<String>,
}

/// Settings of the record that drive publishes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObservabilitySettings {
    /// Detail of the run's record in its pull request. `--json` and logs have all of it.
    pub publish: RecordDetail,
}

/// Detail of the run's record in its pull request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecordDetail {
    /// Without paths of this machine and without prompts.
    #[default]
    Redacted,
    /// The whole record.
    Full,
    /// No record.
    None,
}

/// Confinement of agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IsolationMode {
    /// Every layer the machine has; missing ones are named.
    Auto,
    /// Refuse to run an agent when a layer is missing.
    Require,
    /// No confinement.
    Off,
}

impl IsolationMode {
    /// A rank of strictness for the isolation modes.
    pub(super) fn strictness(self) -> u8 {
        match self {
            Self::Off => 0,
            Self::Auto => 1,
            Self::Require => 2,
        }
    }
}
