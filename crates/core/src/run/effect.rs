use super::outcome::{AgentReport, CommitSummary, Published};
use crate::Problem;
use crate::ids::SandboxId;
use crate::process::ProcessIdentity;
use crate::sandbox::{KeptWork, Sandbox, SandboxSpec};
use serde::{Deserialize, Serialize};
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
        /// Which, by its name in the settings.
        agent: String,
        /// What it is told.
        prompt: String,
        /// How long it may be silent.
        idle: Duration,
        /// How long it may work.
        total: Duration,
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
        sandbox: Sandbox,
    },
    /// The agent ended, well or not.
    AgentEnded {
        /// How.
        report: AgentReport,
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
    },
    /// It could not be done.
    Failed {
        /// Why.
        problem: Problem,
    },
}
