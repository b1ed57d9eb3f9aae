//! The request that starts a run.

use super::level::Level;
use super::phase_terms::{PhaseTerms, WatchTerms};
use crate::agent::Budget;
use crate::ids::{BranchName, CommitSha, RemoteName, RunId, TaskId};
use crate::plan::Plan;
use crate::prompts::Prompts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

/// A person's request with all settings that it depends on. A later change of the settings does not
/// affect a run that has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// The kind of run, with its terms.
    pub kind: RunKind,
    /// The task as it was given.
    pub task: String,
    /// The repository.
    pub repo: PathBuf,
    /// The git directory that all checkouts of the repository share, if known. The checkout itself
    /// may be a linked worktree that is removed later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_dir: Option<PathBuf>,
    /// The commit to start from.
    pub base_sha: CommitSha,
    /// The base branch of the pull request, if there is one.
    pub base_branch: Option<BranchName>,
    /// The branch to create.
    pub branch: BranchName,
    /// The agent that does the work, by its name in the settings.
    pub agent: String,
    /// The agent's model, if it is not the one of the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How long the agent may produce no output.
    pub idle_timeout: Duration,
    /// How long the agent may work.
    pub total_timeout: Duration,
    /// The run's limits on tokens and cost.
    pub budget: Budget,
    /// How many permission requests an agent may make.
    pub max_escalations: u32,
    /// Where the work is published.
    pub publish: Publish,
    /// Whether the sandbox stays when the run ends.
    pub after_end: AfterEnd,
    /// Untracked files to copy into the sandbox.
    pub copy: Vec<String>,
    /// Caches to clone or link.
    pub seed: Vec<String>,
    /// Whether to notify a person about the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub notify: bool,
    /// The prompts of `drive spawn`. `None` for a run of an older version, whose agent gets the
    /// bare task; the terms of a phase hold that phase's prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<Prompts>,
    /// The run that started this one; `None` if a person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
}

/// The parent of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parent {
    /// The parent, which receives its reports.
    pub run: RunId,
    /// The parent's task that the child works on.
    pub task: TaskId,
}

/// The command that a run serves, with the data that only this command needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RunKind {
    /// `drive spawn`.
    Spawn,
    /// `drive spawn-team`.
    Team(Box<PhaseTerms>),
    /// `drive cruise`.
    Cruise(Box<PhaseTerms>),
    /// The root of a cruise that builds tasks as child runs.
    Build(Box<BuildTerms>),
}

/// The command that a run serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "CommandKind")]
pub enum RunCommand {
    /// `drive spawn`.
    Spawn,
    /// `drive spawn-team`.
    SpawnTeam,
    /// `drive cruise`.
    Cruise,
}

impl RunCommand {
    /// The name used in listings and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            RunCommand::Spawn => "spawn",
            RunCommand::SpawnTeam => "spawn-team",
            RunCommand::Cruise => "cruise",
        }
    }
}

impl RunKind {
    /// The name of the command.
    pub fn as_str(&self) -> &'static str {
        self.command().as_str()
    }

    /// The command of this kind.
    pub fn command(&self) -> RunCommand {
        match self {
            RunKind::Spawn => RunCommand::Spawn,
            RunKind::Team(_) => RunCommand::SpawnTeam,
            RunKind::Cruise(_) | RunKind::Build(_) => RunCommand::Cruise,
        }
    }

    /// Whether the run has its own sandbox.
    pub fn has_sandbox(&self) -> bool {
        match self {
            RunKind::Spawn | RunKind::Team(_) | RunKind::Cruise(_) => true,
            RunKind::Build(_) => false,
        }
    }

    /// The terms of a phase; `None` for other flows.
    pub fn phase_terms(&self) -> Option<&PhaseTerms> {
        match self {
            RunKind::Spawn | RunKind::Build(_) => None,
            RunKind::Team(terms) | RunKind::Cruise(terms) => Some(terms),
        }
    }
}

/// The tasks of a root run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildTerms {
    /// The tasks. Tasks that can start at the same time start in this order.
    pub tasks: Vec<TaskOrder>,
    /// How many of their runs may be active at the same time.
    pub max_parallel: NonZeroU32,
    /// How the tasks of a plan land; `None` if there is no plan and the runs are all there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<Box<LineTerms>>,
}

/// How the tasks of a plan are built and landed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LineTerms {
    /// Where the plan comes from.
    pub plan: PlanFrom,
    /// How each task is built and reviewed.
    pub task: Box<PhaseTerms>,
    /// Whether each task has its own pull request into the line; `None` if none has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_task: Option<PerTask>,
    /// Whether a person chose the branch's name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub named: bool,
    /// How many verifications may run at the same time.
    pub slots: NonZeroU32,
    /// How long blocked tasks wait for a person.
    pub patience: Duration,
    /// The maximum duration of the cruise.
    #[serde(default = "max_age")]
    pub max_age: Duration,
    /// The acceptance level: what the cruise must show before it counts as done.
    #[serde(default)]
    pub level: Level,
    /// How the landed work is merged into the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishTerms>,
}

/// How the pull requests of tasks are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PerTask {
    /// The terms of watching each pull request.
    pub watch: WatchTerms,
    /// Whether a person must approve each pull request.
    pub approve: bool,
}

/// How the work of a cruise is merged into the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FinishTerms {
    /// How its pull request is watched.
    pub watch: WatchTerms,
    /// Whether drive merges a commit that passes everything.
    pub auto_merge: bool,
    /// Whether the domains review the combined work as well.
    pub review: bool,
    /// Whether the plan's file stays in the merged work.
    pub land_plan: bool,
    /// How many fixer rounds are allowed for criteria that programs show as unmet.
    pub max_waves: u32,
}

/// Where the plan of a cruise comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "from")]
pub enum PlanFrom {
    /// A person provided it.
    File {
        /// The plan.
        plan: Plan,
    },
    /// A child run writes it, and its pull request becomes the cruise's.
    Phase {
        /// The run to start.
        request: Box<Request>,
    },
}

/// One task of a root run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskOrder {
    /// Its id, unique within the root.
    pub id: TaskId,
    /// The tasks that must have succeeded before it starts.
    pub after: Vec<TaskId>,
    /// The run to start. Its budget and its parent are filled in at the start.
    pub request: Request,
}

/// The default time limit for cruises of earlier versions.
fn max_age() -> Duration {
    Duration::from_secs(7 * 24 * 60 * 60)
}

/// Where the work is published besides its branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "to")]
pub enum Publish {
    /// Nowhere: the run only creates a branch.
    BranchOnly,
    /// In a pull request.
    PullRequest {
        /// The remote to push to first; `None` for a forge that reads this repository directly.
        remote: Option<RemoteName>,
    },
}

impl Publish {
    /// The remote that the branch is pushed to.
    pub fn remote(&self) -> Option<&RemoteName> {
        match self {
            Publish::PullRequest { remote } => remote.as_ref(),
            Publish::BranchOnly => None,
        }
    }
}

/// What happens to the sandbox when the run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AfterEnd {
    /// The sandbox is removed.
    Remove,
    /// It stays, because the person asked for that.
    Stay,
}
