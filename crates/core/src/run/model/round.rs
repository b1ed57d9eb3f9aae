//! One round of the worker: an agent makes or fixes something, and it is published.

use super::remark::Remark;
use crate::agent::answer::CommentAnswer;
use crate::forge::CommentVersion;
use crate::forge::suggestion::Replacement;
use crate::ids::CommitSha;
use crate::review::ChangedPlace;
use serde::{Deserialize, Serialize};

/// One round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Round {
    /// The round's number, from 1; the first agent's is 0.
    pub number: u32,
    /// The purpose of the round.
    pub job: RoundJob,
    /// The current step.
    pub step: RoundStep,
    /// The branch's tip before the round.
    pub head_before: Option<CommitSha>,
    /// The fixer's answer to each comment.
    pub answers: Vec<CommentAnswer>,
}

/// The purpose of a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "job")]
pub enum RoundJob {
    /// To make the phase's output: a change, or a plan.
    Make,
    /// To fix these comments and findings, and the errors of a plan that is not valid.
    Fix {
        /// The comments.
        batch: Vec<CommentVersion>,
        /// Findings without a comment.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        findings: Vec<Remark>,
    },
    /// To take over the work of a phase whose journal was lost.
    Adopt,
    /// To merge commits of other people.
    CatchUp,
    /// To check whether the base can still be merged, before the phase succeeds.
    CheckBase,
}

/// A step of a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "step")]
pub enum RoundStep {
    /// The provided plan is being written.
    WritePlan,
    /// The plan's file is being removed.
    DropPlan,
    /// People's suggestions are being applied to a file; this needs no agent.
    Apply {
        /// The file.
        path: String,
        /// The replacements to make.
        edits: Vec<Replacement>,
    },
    /// The agent works.
    Agent,
    /// Changes that the agent left uncommitted are being committed.
    Commit,
    /// The agent failed: its work is being saved, and the sandbox is reset to the last commit.
    RollBack {
        /// Why it failed.
        why: String,
        /// The penalty for the round's comments.
        cost: RollBackCost,
    },
    /// The plan is being read and checked.
    ReadPlan,
    /// The commit is being verified before it is published.
    Verify,
    /// The commit before the round is being verified, because the new one failed.
    VerifyBefore,
    /// The branch is being moved to the verified commit.
    Land,
    /// The branch is being pushed.
    Push,
    /// The pull request is being opened.
    Open,
    /// The author of this comment is being answered.
    Reply {
        /// The version of the comment.
        key: CommentVersion,
    },
    /// The thread of this comment is being resolved.
    Resolve {
        /// The version of the comment.
        key: CommentVersion,
    },
}

/// What a failed agent costs the comments it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RollBackCost {
    /// Only time: the agent was interrupted, its model was away, or the budget is used up.
    Time,
    /// One of their tries: the work failed.
    Try,
}

/// Changes of a fixer round beyond its findings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoundRecord {
    /// The round's number, from 1.
    pub number: u32,
    /// The commit that ended the round.
    pub head: Option<CommitSha>,
    /// Changed places that no finding or comment of the round names. Also empty if one of them
    /// names no place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<ChangedPlace>,
    /// How many more such places there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
