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
    /// Which, from 1; the first agent's is 0.
    pub number: u32,
    /// The purpose of the round.
    pub job: RoundJob,
    /// The current step.
    pub step: RoundStep,
    /// The branch's tip before it.
    pub head_before: Option<CommitSha>,
    /// The fixer's answer to each comment.
    pub answers: Vec<CommentAnswer>,
}

/// The purpose of a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "job")]
pub enum RoundJob {
    /// To make what the phase is for: a change, or a plan.
    Make,
    /// To deal with these comments and findings, and with a plan that is not valid.
    Fix {
        /// The comments.
        batch: Vec<CommentVersion>,
        /// Findings without a comment.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        findings: Vec<Remark>,
    },
    /// To take up what an earlier journal left.
    Adopt,
    /// To merge commits of other people.
    CatchUp,
    /// To see whether the base can still be merged, before the phase ends well.
    CheckBase,
}

/// A step of a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "step")]
pub enum RoundStep {
    /// A plan that was given is being written.
    WritePlan,
    /// The plan's file is being taken out.
    DropPlan,
    /// Suggestions of people are being made in a file; no agent is needed.
    Apply {
        /// The file.
        path: String,
        /// The replacements to make.
        edits: Vec<Replacement>,
    },
    /// The agent works.
    Agent,
    /// The agent's leftovers are being committed.
    Commit,
    /// The agent failed: its work is being saved, and the sandbox goes back to the last commit.
    RollBack {
        /// Why it failed.
        why: String,
        /// The penalty for the round's comments.
        cost: RollBackCost,
    },
    /// The plan is being read and checked.
    ReadPlan,
    /// The commit is being verified before anybody sees it.
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

/// The penalty for the comments of an agent that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RollBackCost {
    /// Time: the agent was interrupted, its model was away, or the budget is spent.
    Time,
    /// One of their tries: the work failed.
    Try,
}

/// Changes of a fixer's round beyond its findings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoundRecord {
    /// Which, from 1.
    pub number: u32,
    /// The commit that it left.
    pub head: Option<CommitSha>,
    /// Changed places that no finding or comment of the round names. Empty too where one of them names
    /// no place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<ChangedPlace>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
