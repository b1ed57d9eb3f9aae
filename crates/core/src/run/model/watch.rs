//! What polling a pull request has found so far.

use super::request::WatchTerms;
use crate::forge::CommentRef;
use crate::ids::CommitSha;
use crate::phase::Backoff;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// How many approvals are remembered.
const MOST_APPROVALS: usize = 100;

/// What the watch knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Watch {
    /// The wait before the next poll.
    pub backoff: Backoff,
    /// When something last happened.
    pub last_activity: Timestamp,
    /// Up to where the pull request was read.
    pub cursor: Option<Timestamp>,
    /// Whether it was polled since the worker finished its last step.
    pub fresh: bool,
    /// Set after the inactivity timeout: one more poll without news ends the phase. Counts failed
    /// polls.
    #[serde(default)]
    pub closing: Option<u32>,
    /// Whether a poll was requested while one was running.
    pub again: bool,
    /// Comments that are to get their 👀.
    pub eyes: VecDeque<CommentRef>,
    /// Approvals on the forge at the last poll, each with the approved commit.
    pub approvals: Vec<Approved>,
    /// Approvals from the command line, each with the head it was given for.
    #[serde(default)]
    pub granted: Vec<Approved>,
    /// Why the last poll failed.
    pub trouble: Option<String>,
    /// The commit that the pull request shows, where it is not the one that was pushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<CommitSha>,
    /// The last such commit that was merged or found to be known. Seeing it again is not news,
    /// until something else was pushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caught: Option<CommitSha>,
}

/// One approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approved {
    /// Who gave it.
    pub by: String,
    /// The commit it was given for.
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
            again: false,
            eyes: VecDeque::new(),
            approvals: Vec::new(),
            granted: Vec::new(),
            trouble: None,
            moved: None,
            caught: None,
        }
    }

    /// Remembers an approval from the command line; the newest are enough.
    pub(in crate::run) fn grant(&mut self, approved: Approved) {
        if !self.granted.contains(&approved) {
            self.granted.push(approved);
        }
        let too_many = self.granted.len().saturating_sub(MOST_APPROVALS);
        self.granted.drain(..too_many);
    }

    /// Replaces the approvals on the forge; those that are missing now were withdrawn. Returns
    /// whether one is new.
    pub(in crate::run) fn stand(&mut self, approvals: Vec<Approved>) -> bool {
        let is_new = approvals.iter().any(|one| !self.approvals.contains(one));
        self.approvals = approvals;
        is_new
    }
}
