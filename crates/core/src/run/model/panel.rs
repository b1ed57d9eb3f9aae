//! A panel: reviewers that work on one commit at the same time.

use crate::forge::inline::FileDiff;
use crate::ids::{CommitSha, EffectKey};
use crate::review::Seat;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Reviewers that work on one commit at the same time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Panel {
    /// The diff for the reviewers, or its first part.
    pub diff: String,
    /// The other parts of the diff; each gets its own reviewer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// The commit of their last review; `None` for the first review.
    pub seen: Option<CommitSha>,
    /// The changes since that commit.
    pub since: String,
    /// Lines of the whole diff that look like a reviewer's answer, whether the parts show them or not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub quotes: String,
    /// The lines that the whole diff shows.
    pub lines: Vec<FileDiff>,
    /// Whether the diff shows more lines than those listed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// The reviewers at work.
    pub at_work: BTreeMap<EffectKey, AtWork>,
    /// Why no further reviewer is started.
    pub halt: Option<Halt>,
}

impl Panel {
    /// How many reviewers each domain needs.
    pub(in crate::run) fn count(&self) -> usize {
        1 + self.parts.len()
    }

    /// The part of the diff that a reviewer gets.
    pub(in crate::run) fn part(&self, part: usize) -> &str {
        let other = part.checked_sub(1).and_then(|other| self.parts.get(other));
        other.unwrap_or(&self.diff)
    }

    /// All text that can be quoted: what reviewers see, and lines in the rest of the change that
    /// look like an answer, because reviewers can open its files.
    pub(in crate::run) fn quotable(&self) -> String {
        let mut whole = self.diff.clone();
        let rest = [&self.since, &self.quotes];
        whole.extend(self.parts.iter().chain(rest).map(String::as_str));
        whole
    }
}

/// A reviewer at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AtWork {
    /// The review it gives.
    #[serde(flatten)]
    pub seat: Seat,
    /// The number of the diff part that it reviews, from 0.
    #[serde(default)]
    pub part: usize,
}

/// Why no further reviewer of a panel is started. The reviewers at work finish first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Halt {
    /// A model is away, or a share of the budget is used up.
    Held,
    /// A person said that the review is complete, so their comments are handled first.
    Completed,
    /// Somebody moved the branch, so the reviewed commit is no longer the head.
    Overtaken,
}
