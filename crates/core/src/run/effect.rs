use super::outcome::{BranchTip, CommitSummary, Published};
use crate::Problem;
use crate::agent::{AgentOutcome, Budget, Role};
use crate::ids::SandboxId;
use crate::process::ProcessIdentity;
use crate::sandbox::{KeptWork, Sandbox, SandboxSpec};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Something to be done in the world. Plain data: it is journaled before it is performed, and it
/// may be performed by another process than the one that decided it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "effect")]
pub enum Effect {
    /// Make a sandbox.
    CreateSandbox {
        /// Which.
        spec: SandboxSpec,
    },
    /// Let an agent work in a sandbox.
    RunAgent {
        /// Where.
        sandbox: SandboxId,
        /// What it is to do.
        job: Box<AgentJob>,
    },
    /// End a process that outlived its owner.
    EndProcess {
        /// Which.
        identity: ProcessIdentity,
    },
    /// Commit what is left in a sandbox, and see what its branch holds.
    CommitWork {
        /// Where.
        sandbox: SandboxId,
        /// The message of the commit for what the agent left uncommitted.
        message: String,
    },
    /// Push the branch.
    Push {
        /// From where.
        sandbox: SandboxId,
        /// To which remote.
        remote: String,
        /// Which.
        branch: String,
        /// The commit it must be at.
        head_sha: String,
    },
    /// Open a pull request, or find the one that is open.
    OpenPullRequest {
        /// The branch with the work.
        branch: String,
        /// The branch it goes to.
        base: String,
        /// Its title.
        title: String,
        /// Its description.
        body: String,
    },
    /// Keep what is safe nowhere else, then remove a sandbox.
    RemoveSandbox {
        /// Which.
        sandbox: SandboxId,
    },
}

/// One job for one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentJob {
    /// Which agent, by its name in the settings.
    pub agent: String,
    /// What it is asked to be.
    pub role: Role,
    /// Which round of the run.
    pub round: u32,
    /// What a reviewer looks at.
    pub domain: Option<String>,
    /// What it is told.
    pub prompt: String,
    /// How long it may be silent.
    pub idle: Duration,
    /// How long it may work.
    pub total: Duration,
    /// What it may still use.
    pub budget: Budget,
    /// How often it may ask for a permission.
    pub max_escalations: u32,
}

impl Effect {
    /// The first half of its key.
    pub fn name(&self) -> &'static str {
        match self {
            Effect::CreateSandbox { .. } => "createSandbox",
            Effect::RunAgent { .. } => "runAgent",
            Effect::EndProcess { .. } => "endProcess",
            Effect::CommitWork { .. } => "commitWork",
            Effect::Push { .. } => "push",
            Effect::OpenPullRequest { .. } => "openPullRequest",
            Effect::RemoveSandbox { .. } => "removeSandbox",
        }
    }
}

/// What performing an effect came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "result")]
pub enum EffectResult {
    /// The sandbox is there.
    SandboxCreated {
        /// It.
        sandbox: Box<Sandbox>,
    },
    /// The agent ended, well or not.
    AgentEnded {
        /// How.
        outcome: Box<AgentOutcome>,
        /// Its log.
        log: Option<PathBuf>,
    },
    /// The process and all it started are gone.
    ProcessEnded,
    /// The branch holds this.
    WorkCommitted {
        /// Its tip.
        head_sha: String,
        /// Its commits since the base, oldest first.
        commits: Vec<CommitSummary>,
        /// What a person should know, such as a rebase that was left in progress.
        warnings: Vec<String>,
    },
    /// The remote has it.
    Pushed,
    /// The pull request is open.
    PullRequestOpened {
        /// It.
        pull_request: Published,
    },
    /// The sandbox is gone.
    SandboxRemoved {
        /// What was saved first.
        kept: Option<KeptWork>,
        /// What stays on the run's branch, where that was not reported before: an agent that
        /// failed or was stopped may have committed by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<BranchTip>,
    },
    /// It could not be done.
    Failed {
        /// Why.
        problem: Problem,
    },
}
