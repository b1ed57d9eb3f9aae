//! Child runs: what a parent knows of its children, and what a child reports.

use super::ask::Ask;
use super::landable::Landable;
use super::outcome::{OutcomeStatus, Published, Spent};
use super::request::Request;
use super::whole::Checked;
use crate::Problem;
use crate::agent::Budget;
use crate::agent::answer::Handoff;
use crate::ids::{BranchName, CommitSha, TaskId};
use crate::plan::Plan;
use serde::{Deserialize, Serialize};

/// A child run, as its parent knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Child {
    /// The task it works on.
    pub task: TaskId,
    /// How far the child is.
    pub stage: ChildStage,
    /// Its share of the parent's budget so far.
    pub granted: Budget,
    /// The number of the last report that was answered with a larger share; 0 if none was.
    pub granted_for: u32,
    /// Its latest report; `None` before the first.
    pub report: Option<ChildReport>,
}

/// The stage of a child, as its parent knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChildStage {
    /// Its request is being journaled and may be there already.
    Starting,
    /// It has begun.
    Started,
    /// It was asked to stop.
    Stopping,
    /// It ended, or never began.
    Ended,
}

/// A report of a child's state to its parent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildReport {
    /// The number of the report, from 1.
    pub number: u32,
    /// The child's state.
    pub state: ChildState,
    /// The child's budget. A grant has arrived once a report contains it.
    pub budget: Budget,
    /// Tokens and cost of its agents and of its children.
    pub spent: Spent,
    /// Its fixer rounds and those of its children.
    pub rounds: u32,
    /// Unanswered comments on its pull request and on those of its children.
    pub open_comments: u32,
    /// Its branch, once that has commits.
    pub branch: Option<BranchName>,
    /// The tip of that branch.
    pub head_sha: Option<CommitSha>,
    /// Its pull request.
    pub pull_request: Option<Published>,
    /// The handoff of its agent to the agents of later tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Handoff>,
    /// The plan that it wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// The check results of the commits that it merges into the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<Checked>,
    /// Changed files outside its task's paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// Existing tests that its task changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    /// How near its commits are to landing, if its task has its own pull request.
    #[serde(default, skip_serializing_if = "Landable::is_not")]
    pub landable: Landable,
    /// The commit on the base, once it is merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<CommitSha>,
}

/// The state of a child, as far as its parent needs it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum ChildState {
    /// It works, or waits for something that needs no person.
    Working,
    /// Its share of the budget is used up.
    NeedsBudget {
        /// The limit.
        why: String,
    },
    /// It waits for a person.
    NeedsPerson {
        /// The reason.
        why: String,
        /// What the person can do.
        #[serde(default, skip_serializing_if = "Wants::is_limit")]
        wants: Wants,
    },
    /// It ended.
    Ended {
        /// Whether the child succeeded.
        status: OutcomeStatus,
        /// The failure, if the child did not succeed.
        failure: Option<Problem>,
    },
}

/// What a person can do for a child that waits for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Wants {
    /// Raise a limit.
    #[default]
    Limit,
    /// Approve its pull request.
    Approval,
    /// Merge a commit that passed everything.
    Merge,
    /// Decide about a commit that drive does not merge.
    Decision,
}

impl Wants {
    fn is_limit(&self) -> bool {
        *self == Wants::Limit
    }
}

/// A message between a parent and its child.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "message")]
pub enum RunMessage {
    /// Starts a child. Repeating it finds the child.
    StartRun {
        /// The child's request.
        request: Box<Request>,
    },
    /// Sends a request to a child.
    AskRun {
        /// The request.
        ask: Ask,
    },
    /// Stops a child, which saves its work.
    StopRun,
    /// Reports the state of this run to its parent.
    ReportToParent {
        /// The report. Its number identifies it when it is delivered again.
        report: Box<ChildReport>,
    },
}

impl RunMessage {
    /// The first part of the effect's key.
    pub fn name(&self) -> &'static str {
        match self {
            RunMessage::StartRun { .. } => "startRun",
            RunMessage::AskRun { .. } => "askRun",
            RunMessage::StopRun => "stopRun",
            RunMessage::ReportToParent { .. } => "reportToParent",
        }
    }
}

impl Child {
    /// Whether the child has not ended.
    pub fn is_live(&self) -> bool {
        self.stage != ChildStage::Ended
    }

    /// The tokens and cost that it reported.
    pub fn spent(&self) -> Spent {
        self.report
            .as_ref()
            .map_or_else(Spent::default, |r| r.spent)
    }

    /// The fixer rounds that it reported.
    pub fn rounds(&self) -> u32 {
        self.report.as_ref().map_or(0, |report| report.rounds)
    }

    /// The comments that it has yet to answer; none after it has ended.
    pub fn open_comments(&self) -> u32 {
        let report = self.report.as_ref().filter(|_| self.is_live());
        report.map_or(0, |report| report.open_comments)
    }

    /// Whether it waits until a person raises one of its own limits.
    pub fn waits_for_limit(&self) -> bool {
        let report = self.report.as_ref().filter(|_| self.is_live());
        matches!(
            report.map(|report| &report.state),
            Some(ChildState::NeedsPerson {
                wants: Wants::Limit,
                ..
            })
        )
    }

    /// Whether its latest report was answered with a larger share.
    pub fn is_granted(&self) -> bool {
        let number = self.report.as_ref().map_or(0, |report| report.number);
        number > 0 && self.granted_for >= number
    }

    /// Whether the child succeeded.
    pub fn has_succeeded(&self) -> bool {
        let state = self.report.as_ref().map(|report| &report.state);
        matches!(
            state,
            Some(ChildState::Ended {
                status: OutcomeStatus::Succeeded,
                ..
            })
        )
    }
}
