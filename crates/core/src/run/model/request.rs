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

/// A person's request, with every setting it depends on. A later change of the settings does not
/// change a run that has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// The command, with its terms.
    pub kind: RunKind,
    /// The task as it was given.
    pub task: String,
    /// The repository.
    pub repo: PathBuf,
    /// The git folder that all checkouts of the repository share, where it is known: the checkout may
    /// be a linked worktree that is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_dir: Option<PathBuf>,
    /// The commit to start from.
    pub base_sha: CommitSha,
    /// The branch a pull request goes to, where there is one.
    pub base_branch: Option<BranchName>,
    /// The branch to make.
    pub branch: BranchName,
    /// The agent that does the work, by its name in the settings.
    pub agent: String,
    /// The model it uses, where it is not the one of the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How long the agent may be silent.
    pub idle_timeout: Duration,
    /// How long the agent may work.
    pub total_timeout: Duration,
    /// The run's limits on tokens and cost.
    pub budget: Budget,
    /// How often an agent may ask for a permission.
    pub max_escalations: u32,
    /// Where the work goes besides the branch.
    pub publish: Publish,
    /// Whether the sandbox stays when the run ends.
    pub after_end: AfterEnd,
    /// Untracked files to bring along.
    pub copy: Vec<String>,
    /// Caches to clone or link.
    pub seed: Vec<String>,
    /// Whether a person is told at once what they need to know of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub notify: bool,
    /// The prompts of `drive spawn`. `None` is a run of an older version, whose agent gets the bare
    /// task; the prompts of a phase are in its terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<Prompts>,
    /// The run that started this one; `None` for a run that a person started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
}

/// The parent of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parent {
    /// The parent, which receives its reports.
    pub run: RunId,
    /// The parent's task that it works on.
    pub task: TaskId,
}

/// Which command a run serves, with what only that command needs.
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
    /// The name of its command.
    pub fn as_str(&self) -> &'static str {
        self.command().as_str()
    }

    /// The command that it serves.
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

/// The tasks of a root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildTerms {
    /// The tasks; those that can start at the same time start in this order.
    pub tasks: Vec<TaskOrder>,
    /// How many of their runs may live at the same time.
    pub max_parallel: NonZeroU32,
    /// How the tasks of a plan land; `None` where the runs are the whole of it.
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
    /// Whether each task has a pull request of its own into the branch; `None` where none has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_task: Option<PerTask>,
    /// Whether a person chose the name of the branch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub named: bool,
    /// How many verifications may run side by side.
    pub slots: NonZeroU32,
    /// How long blocked tasks wait for a person.
    pub patience: Duration,
    /// How long the cruise may take in all.
    #[serde(default = "max_age")]
    pub max_age: Duration,
    /// The acceptance level: what the cruise must show before it counts as done.
    #[serde(default)]
    pub level: Level,
    /// How what landed there is brought to the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishTerms>,
}

/// How the pull requests of tasks are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PerTask {
    /// How long and how often.
    pub watch: WatchTerms,
    /// Whether a person must approve each.
    pub approve: bool,
}

/// How what a cruise built is brought to the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FinishTerms {
    /// How its pull request is watched.
    pub watch: WatchTerms,
    /// Whether drive merges what passes everything.
    pub auto_merge: bool,
    /// Whether the domains look at all of it once more.
    pub review: bool,
    /// Whether the plan's file stays in what lands.
    pub land_plan: bool,
    /// How many fixer rounds there are for what the contract's programs do not show.
    pub max_waves: u32,
}

/// Where the plan of a cruise comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "from")]
pub enum PlanFrom {
    /// A person brought it.
    File {
        /// The plan.
        plan: Plan,
    },
    /// A child run writes it, and its pull request becomes that of the cruise.
    Phase {
        /// The run to start.
        request: Box<Request>,
    },
}

/// One task of a root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskOrder {
    /// Its id, unique within the root.
    pub id: TaskId,
    /// The tasks that must have succeeded before it starts.
    pub after: Vec<TaskId>,
    /// The run to start. Its budget and its parent are filled in when it starts.
    pub request: Request,
}

/// The default time limit for cruises of earlier versions.
fn max_age() -> Duration {
    Duration::from_secs(7 * 24 * 60 * 60)
}

/// Where the work goes besides its branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "to")]
pub enum Publish {
    /// Nowhere: the run only makes a branch.
    BranchOnly,
    /// Into a pull request.
    PullRequest {
        /// The remote to push to first; `None` for a forge that reads this very repository.
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

/// The fate of the sandbox when the run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AfterEnd {
    /// The sandbox is removed.
    Remove,
    /// It stays, because the person asked for it.
    Stay,
}
