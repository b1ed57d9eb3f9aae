//! The state of a cruise that builds the tasks of a plan and lands them on its line.

use super::effect::Effect;
use super::level::Level;
use super::line::Receipt;
use super::outcome::OutcomeStatus;
use super::validation::Opinion;
use crate::Problem;
use crate::agent::answer::Handoff;
use crate::cruise::Train;
use crate::ids::{BranchName, CommitSha, RunId, TaskId, TreeSha};
use crate::plan::Plan;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The state of a cruise that builds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Build {
    /// The stage of the cruise.
    pub stage: BuildStage,
    /// The acceptance level: what the cruise must show before it counts as done.
    pub level: Level,
    /// The plan, once there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// The branch that tasks land on, once it exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<Line>,
    /// Acceptance entries that show nothing about the work, until a person accepts them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Doubt>,
    /// How the plan follows people's comments during the build.
    #[serde(skip_serializing_if = "Amending::is_unused")]
    pub amending: Amending,
    /// The records of the plan's tasks.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tasks: BTreeMap<TaskId, TaskRecord>,
    /// Notes from the tasks that landed, for every later agent of the cruise; the oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scratchpad: Vec<PadNote>,
    /// The tasks that are being merged and verified together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub train: Option<Train>,
    /// How the tasks landed so far.
    #[serde(skip_serializing_if = "Tally::is_empty")]
    pub tally: Tally,
    /// Why each tree failed its verification, until the task that caused it is known.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reds: BTreeMap<TreeSha, String>,
    /// Results of the acceptance criteria that programs check.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<Receipt>,
    /// The validator's opinion of the other acceptance criteria.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opinion: Option<Opinion>,
    /// The commit that `receipts` and `opinion` are about, if it is not the tip of the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<CommitSha>,
    /// The commit on the base, once it is merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged: Option<CommitSha>,
    /// How the cruise ends, once that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// The description that was last written to the pull request.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub described: String,
    /// Whether the pull request says how the cruise ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub told: bool,
    /// Whether a person paused the start of new tasks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// When verification is tried again after the machine could not do it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub away_until: Option<Timestamp>,
    /// How often in a row the machine could not verify.
    #[serde(skip_serializing_if = "is_zero")]
    pub away: u32,
    /// Failed effects that will be retried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retries: Vec<Effect>,
    /// Why those effects failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// How many effects failed in a row.
    #[serde(skip_serializing_if = "is_zero")]
    pub tries: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The stage of a cruise that builds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BuildStage {
    /// The plan is being written, or the line is being created.
    #[default]
    Opening,
    /// The acceptance criteria are run on the base, where they must fail.
    Probing,
    /// Tasks are being built and land.
    Building,
    /// The acceptance criteria are checked.
    Checking,
    /// The combined commits are reviewed and merged into the base.
    Validating,
    /// The pull request is being updated.
    Reporting,
}

/// An acceptance entry that shows nothing about the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Doubt {
    /// The task.
    pub task: TaskId,
    /// The entry's id within its task.
    pub id: String,
    /// Whether the entry is a guard, which must pass on the base but fails there; else it passes on
    /// the base and must fail.
    pub is_guard: bool,
    /// Why its command could not run on the base, so that nothing shows that it fails there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            task,
            id,
            is_guard,
            not_run,
        } = self;
        if let Some(why) = not_run {
            write!(
                f,
                "acceptance entry `{id}` of task `{task}` could not run on the base, so it may show nothing: {why}"
            )
        } else if *is_guard {
            write!(f, "guard `{id}` of task `{task}` fails on the base already")
        } else {
            write!(
                f,
                "acceptance entry `{id}` of task `{task}` passes on the base already, so it shows nothing"
            )
        }
    }
}

/// How a plan follows people's comments during the build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Amending {
    /// The last text of the plan's file that the tasks follow. The plan of the cruise also has the
    /// tasks that were added since to replace landed ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreed: Option<Plan>,
    /// The plan as last read from its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard: Option<Plan>,
    /// How many runs were started to take up comments; one at a time.
    #[serde(skip_serializing_if = "is_zero")]
    pub runs: u32,
    /// The state of the last of these runs.
    #[serde(skip_serializing_if = "Listening::is_on")]
    pub listening: Listening,
    /// Whether blocked tasks waited for a person for too long.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub over: bool,
}

/// Whether a cruise takes up comments during the build.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Listening {
    /// A run takes up comments, or is started once there is something to build.
    #[default]
    On,
    /// The last run was asked to end. Another one may start.
    Dismissed,
    /// The last run failed, and no further one is started.
    GivenUp,
}

impl Listening {
    fn is_on(&self) -> bool {
        *self == Listening::On
    }
}

impl Amending {
    fn is_unused(&self) -> bool {
        *self == Self::default()
    }
}

/// How a cruise ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ending {
    /// Whether the cruise succeeded.
    pub status: OutcomeStatus,
    /// The failure, if it did not succeed.
    pub problem: Option<Problem>,
}

/// The branch that tasks land on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// The branch that the tasks land on.
    pub branch: BranchName,
    /// The commit where the branch began.
    pub began_at: CommitSha,
    /// The branch's tip.
    pub tip: CommitSha,
}

/// One task of a cruise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskRecord {
    /// The task's title, in one line.
    pub title: String,
    /// The tasks that must land or be skipped before it starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<TaskId>,
    /// The task's state.
    pub state: TaskState,
    /// How many runs were started for it since a person last asked for it.
    pub attempts: u32,
    /// How many attempts in a row failed for a reason other than the work.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub outages: u32,
    /// When it may start again after such a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_until: Option<Timestamp>,
    /// The newest of its own commits that landed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landed: Option<CommitSha>,
    /// All runs that were started for it, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunId>,
    /// Changed files outside the task's paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// Existing tests that it changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    /// The agent's handoff to later tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Handoff>,
}

/// Counters of how the tasks of a cruise landed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tally {
    /// How often the branch moved to a verified tree.
    pub landings: u32,
    /// The most tasks that landed in one move.
    pub longest: u32,
    /// How many merged trees were verified.
    pub verified: u32,
    /// How many merged trees failed.
    pub red: u32,
    /// How many could not be verified, for a reason outside the tree.
    pub unknown: u32,
    /// How many passed only after a stage was run again.
    pub flaky: u32,
    /// How often tasks had merge conflicts.
    pub conflicts: u32,
}

impl Tally {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A note that every agent of a cruise gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PadNote {
    /// The task whose agent wrote it.
    pub task: TaskId,
    /// The note, in one line.
    pub text: String,
}

/// The state of one task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum TaskState {
    /// It was not started, or waits for its next attempt.
    Waiting {
        /// The failure of the last attempt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diagnosis: Option<Diagnosis>,
    },
    /// A run is building it.
    Building {
        /// The run.
        run: RunId,
    },
    /// Its review is done, and it is about to land.
    Landing {
        /// The reviewed commit.
        head: CommitSha,
    },
    /// It is on the line.
    Landed {
        /// The merge commit, or a later commit that contains it.
        commit: CommitSha,
    },
    /// Only a person can unblock it.
    Blocked {
        /// The reason.
        why: String,
        /// The failure of the last attempt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diagnosis: Option<Diagnosis>,
    },
    /// A person left it out.
    Skipped,
}

/// Why an attempt did not land.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    /// The failure, for the next agent and for people.
    pub what: String,
    /// The commit that did not land.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<CommitSha>,
}

impl Build {
    /// Why tasks wait before they start, if any do.
    pub(in crate::run) fn held(&self) -> Option<&str> {
        if self.away_until.is_some() {
            return Some("the machine could not verify the tasks that are about to land");
        }
        let held = self.tasks.values().any(|task| task.held_until.is_some());
        held.then_some("what a task needs was not there")
    }
}

impl TaskRecord {
    /// A task that was not started yet.
    pub(in crate::run) fn new(title: String, after: Vec<TaskId>) -> Self {
        Self {
            title,
            after,
            state: TaskState::Waiting { diagnosis: None },
            attempts: 0,
            outages: 0,
            held_until: None,
            landed: None,
            runs: Vec::new(),
            outside: Vec::new(),
            tests: Vec::new(),
            handoff: None,
        }
    }

    /// Whether the tasks that depend on it may start.
    pub fn is_through(&self) -> bool {
        matches!(self.state, TaskState::Landed { .. } | TaskState::Skipped)
    }
}
