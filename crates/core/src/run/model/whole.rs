//! The last stage of a cruise: its combined commits are reviewed, checked and merged into the base.

use super::level::Level;
use super::line::{ContractCheck, Receipt};
use super::outcome::Published;
use super::validation::{JudgeCheck, Opinion, Validation};
use crate::ids::CommitSha;
use serde::{Deserialize, Serialize};

/// The commits of a cruise that are merged into the base together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WholeTerms {
    /// The tip of the line, a verified commit.
    pub head: CommitSha,
    /// The pull request that brings them to the base.
    pub pull_request: Published,
    /// The landed tasks, in one sentence.
    pub landed: String,
    /// Whether the plan's file is removed before the merge.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drops_plan: bool,
    /// Whether the domains review the combined commits as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reviewed: bool,
    /// The acceptance criteria that programs check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contract: Vec<ContractCheck>,
    /// The acceptance criteria that a validator judges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<JudgeCheck>,
    /// The acceptance level: what the cruise must show before it counts as done.
    #[serde(default)]
    pub level: Level,
    /// How many fixer rounds are allowed for criteria that programs show as unmet.
    #[serde(default)]
    pub max_waves: u32,
}

/// The state of a phase that merges the combined commits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Whole {
    /// The results of the checks, with their commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<Checked>,
    /// The last validator that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<Validation>,
    /// Whether the plan's file was removed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dropped: bool,
    /// How many fixer rounds were started for unmet criteria.
    pub waves: u32,
    /// The commit that people were asked to merge or to decide about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub announced: Option<CommitSha>,
    /// Why only a person can merge that commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<Left>,
    /// The commit that waits in the forge's merge queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<CommitSha>,
    /// The commit that a person approved after drive could not merge it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<CommitSha>,
    /// Files of the verified commit that control how work is verified.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<String>,
    /// The last commit of other people on the branch that was merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joined: Option<CommitSha>,
    /// Why the last commit did not pass verification, for the next fixer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub red: Option<String>,
}

/// Why only a person can merge a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Left {
    /// The reason, in one sentence.
    pub why: String,
    /// Whether the reason can disappear without a decision.
    pub by: LeftBy,
}

/// The kind of reason that leaves a commit to a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LeftBy {
    /// Objections of people or of checks, which may change.
    Circumstances,
    /// A decision that only a person can make.
    Decision,
}

/// The results of the checks of one commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Checked {
    /// The commit.
    pub commit: CommitSha,
    /// The result of each check, in order.
    pub receipts: Vec<Receipt>,
    /// The validator's opinion of the rest, once it is checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opinion: Option<Opinion>,
}

impl Whole {
    /// Whether nothing is known yet.
    pub(in crate::run) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
