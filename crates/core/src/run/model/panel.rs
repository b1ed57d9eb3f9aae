//! Reviewers that work side by side on one commit.

use crate::forge::inline::FileDiff;
use crate::ids::{CommitSha, EffectKey};
use crate::review::Seat;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Reviewers that work side by side on one commit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Panel {
    /// The diff they were given, or the first part of it.
    pub diff: String,
    /// The other parts, for a reviewer each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// The commit that they saw last; `None` for the first review.
    pub seen: Option<CommitSha>,
    /// The changes since then.
    pub since: String,
    /// Lines of the whole diff that read like a reviewer's answer, whether the parts show them or not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub quotes: String,
    /// Which lines the whole diff shows.
    pub lines: Vec<FileDiff>,
    /// Whether it shows more lines than those.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// Who is at work.
    pub at_work: BTreeMap<EffectKey, AtWork>,
    /// Why no further reviewer is started.
    pub halt: Option<Halt>,
}

impl Panel {
    /// How many reviewers each domain needs.
    pub(in crate::run) fn count(&self) -> usize {
        1 + self.parts.len()
    }

    /// What the reviewer of a part is shown.
    pub(in crate::run) fn part(&self, part: usize) -> &str {
        let other = part.checked_sub(1).and_then(|other| self.parts.get(other));
        other.unwrap_or(&self.diff)
    }

    /// What can be quoted: all that reviewers are shown, and what reads like an answer in the rest of the
    /// change. They can open its files.
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
    /// Which part of the change it sees, from 0.
    #[serde(default)]
    pub part: usize,
}

/// Why no further reviewer of a panel is started. Those at work end first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Halt {
    /// A model is away, or a share of the budget was used up.
    Held,
    /// A person said that the review is complete: their comments come first.
    Completed,
    /// Somebody moved the branch: what was reviewed is not the head any more.
    Overtaken,
}
