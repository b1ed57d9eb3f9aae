//! The state of a watched pull request.

use super::phase_terms::WatchTerms;
use super::post_key::PostKey;
use crate::forge::CommentRef;
use crate::ids::CommitSha;
use crate::phase::Backoff;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// How many approvals from the command line are stored.
const MOST_APPROVALS: usize = 100;

/// The state of a watched pull request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Watch {
    /// The wait before the next poll.
    pub backoff: Backoff,
    /// When something last happened.
    pub last_activity: Timestamp,
    /// The time up to which the pull request was read.
    pub cursor: Option<Timestamp>,
    /// Whether the pull request was polled after the worker's last step.
    pub fresh: bool,
    /// Counts failed polls after the inactivity timeout; `None` before it. One more poll without
    /// news ends the phase.
    #[serde(default)]
    pub closing: Option<u32>,
    /// Comments that are to get an 👀 reaction.
    pub eyes: VecDeque<CommentRef>,
    /// Approvals on the forge at the last poll, each with its commit.
    pub approvals: Vec<Approved>,
    /// Approvals from the command line, each with its commit.
    #[serde(default)]
    pub granted: Vec<Approved>,
    /// Requests for changes that stood at the last poll.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objections: Vec<Objected>,
    /// The author of a comment that arrived during a merge. A person merges in that case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<Interrupted>,
    /// The last reading, if it was complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_reading: Option<LastReading>,
    /// The reading under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asking: Option<Asking>,
    /// What the next reading must include at least.
    #[serde(default, skip_serializing_if = "Reading::is_of_changes")]
    pub wants: Reading,
    /// When everything is read again, even if the forge reports no change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_at: Option<Timestamp>,
    /// The wait before the reading after that.
    #[serde(default = "whole_backoff")]
    pub whole_backoff: Backoff,
    /// Readings in a row that a decision needed and that failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed_readings: u32,
    /// Posts to make on the pull request besides replies, by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub to_say: BTreeMap<PostKey, String>,
    /// Keys of the posts that were made.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub said: BTreeSet<PostKey>,
    /// When a person last completed a review, by the forge's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// Why the last poll failed, or what it could not read.
    pub trouble: Option<String>,
    /// The head of the pull request, if it is not the pushed commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<CommitSha>,
    /// The last such head that was merged in or found to be known. Seeing it again is not news
    /// until something else is pushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caught: Option<CommitSha>,
}

/// How much of a pull request to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reading {
    /// Changes since the last reading.
    #[default]
    Changes,
    /// Everything on the pull request.
    Whole,
}

impl Reading {
    fn is_of_changes(&self) -> bool {
        *self == Reading::Changes
    }
}

/// A reading of a pull request that is in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Asking {
    /// The published commit when the reading began.
    pub head: Option<CommitSha>,
    /// Whether another reading was requested since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
}

/// A complete reading of a pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastReading {
    /// The published commit when the reading began.
    pub head: Option<CommitSha>,
    /// How much was read.
    pub reading: Reading,
    /// When its answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

/// A request for changes that was not withdrawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Objected {
    /// The login of the person who objects.
    pub by: String,
    /// The commit that the request was made on, if the forge reports it.
    pub head: Option<CommitSha>,
    /// A link for people.
    pub url: Option<String>,
}

/// A comment that a person wrote during a merge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interrupted {
    /// The login of the person who wrote it.
    pub by: String,
    /// The first line of the comment.
    pub words: String,
}

/// The backoff of whole readings: from ten minutes to six hours.
fn whole_backoff() -> Backoff {
    Backoff::new(Duration::from_secs(600), Duration::from_secs(6 * 3600))
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// One approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approved {
    /// The login of the person who approved.
    pub by: String,
    /// The approved commit.
    pub head: CommitSha,
}

impl Watch {
    pub(in crate::run) fn new(terms: Option<&WatchTerms>, now: Timestamp) -> Self {
        Self {
            backoff: terms.map_or_else(Backoff::default, |terms| {
                Backoff::new(terms.poll_initial, terms.poll_max)
            }),
            last_activity: now,
            cursor: None,
            fresh: true,
            closing: None,
            eyes: VecDeque::new(),
            approvals: Vec::new(),
            granted: Vec::new(),
            objections: Vec::new(),
            interrupted: None,
            last_reading: None,
            asking: None,
            wants: Reading::Changes,
            whole_at: None,
            whole_backoff: whole_backoff(),
            failed_readings: 0,
            to_say: BTreeMap::new(),
            said: BTreeSet::new(),
            completed_at: None,
            trouble: None,
            moved: None,
            caught: None,
        }
    }

    /// Stores an approval from the command line, and drops the oldest beyond the limit.
    pub(in crate::run) fn grant(&mut self, approved: Approved) {
        if !self.granted.contains(&approved) {
            self.granted.push(approved);
        }
        let too_many = self.granted.len().saturating_sub(MOST_APPROVALS);
        self.granted.drain(..too_many);
    }

    /// Replaces the approvals on the forge; approvals that are missing now were withdrawn. Returns
    /// whether one is new.
    pub(in crate::run) fn stand(&mut self, approvals: Vec<Approved>) -> bool {
        let is_new = approvals.iter().any(|one| !self.approvals.contains(one));
        self.approvals = approvals;
        is_new
    }
}
