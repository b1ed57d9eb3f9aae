//! Parses a reviewer's answer.

use super::finding::Finding;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The verdict on one commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ReviewVerdict")]
pub enum Verdict {
    /// It can be merged.
    Approved,
    /// It cannot be merged yet.
    NeedsChanges,
    /// There is nothing in it for this reviewer to judge.
    NotApplicable,
}

impl Verdict {
    /// Whether the reviewer does not object.
    pub fn is_content(self) -> bool {
        match self {
            Verdict::Approved | Verdict::NotApplicable => true,
            Verdict::NeedsChanges => false,
        }
    }

    pub(super) fn read(word: &str) -> Option<Self> {
        match word {
            "approved" | "approve" | "lgtm" | "accepted" | "accept" => Some(Verdict::Approved),
            "needschanges" | "changesneeded" | "changesrequested" | "requestchanges"
            | "rejected" | "reject" => Some(Verdict::NeedsChanges),
            "notapplicable" | "na" => Some(Verdict::NotApplicable),
            _ => None,
        }
    }
}

/// A reviewer's answer. The verdict that counts is derived elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Review {
    /// The reviewer's own verdict on the whole change.
    pub verdict: Verdict,
    /// The findings as the reviewer wrote them.
    pub findings: Vec<Finding>,
}
