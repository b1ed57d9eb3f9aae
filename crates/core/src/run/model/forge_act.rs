use super::merge::BranchAt;
use super::watch::Approved;
use crate::forge::trust::Reason;
use crate::forge::{Comment, CommentRef, PrState};
use crate::ids::CommitSha;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Something to be done on a pull request. Each may be repeated: what already stands is found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "act")]
pub enum ForgeAct {
    /// Read the state of the pull request and what people wrote.
    Poll {
        /// From when on, by the forge's clock; `None` is from the beginning.
        since: Option<Timestamp>,
        /// Whether the approvals that stand are wanted even where nothing new was written.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        approvals: bool,
    },
    /// Show that a comment was seen.
    React {
        /// Which.
        comment: CommentRef,
    },
    /// Post a review with remarks on lines.
    PostReview {
        /// The commit it was given on.
        head: CommitSha,
        /// Its text.
        body: String,
        /// Its remarks on lines of the diff.
        lines: Vec<LineRemark>,
    },
    /// Post in the conversation.
    PostComment {
        /// The text.
        body: String,
    },
    /// Answer a comment.
    Reply {
        /// Which.
        to: CommentRef,
        /// The text.
        body: String,
    },
    /// Resolve the thread of a comment.
    ResolveThread {
        /// Which.
        comment: CommentRef,
    },
    /// Replace the description, or of it what lies between the marks of [own
    /// parts](crate::forge::part), where the new one has such a part.
    UpdateBody {
        /// The new one.
        body: String,
    },
    /// Mark a draft as ready for review.
    MarkReady,
    /// Merge, if this is still the head and what it was verified against is still its base.
    Merge {
        /// The commit that was approved.
        head: CommitSha,
        /// What it passed verification against; without, nothing is merged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verified: Option<VerifiedAgainst>,
    },
    /// Say on a commit what the review came to.
    SetStatus {
        /// Which commit.
        sha: CommitSha,
        /// Whether it is good.
        passed: bool,
        /// In a few words.
        description: String,
    },
}

impl ForgeAct {
    /// The first half of its key.
    pub fn name(&self) -> &'static str {
        match self {
            ForgeAct::Poll { .. } => "poll",
            ForgeAct::React { .. } => "react",
            ForgeAct::PostReview { .. } => "postReview",
            ForgeAct::PostComment { .. } => "postComment",
            ForgeAct::Reply { .. } => "reply",
            ForgeAct::ResolveThread { .. } => "resolveThread",
            ForgeAct::UpdateBody { .. } => "updateBody",
            ForgeAct::MarkReady => "markReady",
            ForgeAct::Merge { .. } => "merge",
            ForgeAct::SetStatus { .. } => "setStatus",
        }
    }
}

/// The other half of what a verdict is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedAgainst {
    /// The branch.
    pub base: BranchAt,
    /// The commit it was at.
    pub sha: CommitSha,
}

/// A remark on one line of the diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LineRemark {
    /// The file.
    pub path: String,
    /// Line in the new version of the file.
    pub line: u64,
    /// The remark.
    pub body: String,
}

/// What a forge answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "answer")]
pub enum ForgeAnswer {
    /// How the pull request stands.
    Polled {
        /// What the poll found.
        poll: Box<PollResult>,
    },
    /// The review stands.
    ReviewPosted {
        /// Its body.
        review: CommentRef,
        /// Its remarks on lines, in their order.
        lines: Vec<CommentRef>,
    },
    /// The comment stands.
    Posted {
        /// Which.
        comment: CommentRef,
    },
    /// It is merged.
    Merged {
        /// The commit on the base, where the forge says.
        sha: Option<CommitSha>,
    },
    /// It is not merged.
    NotMerged {
        /// Why.
        reason: String,
    },
    /// It is not merged: the branch it goes to is not what it was verified against any more.
    BaseMoved,
    /// It is so now.
    Done,
}

/// What one poll of a pull request found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PollResult {
    /// Whether it still lives; `None` when that did not change.
    pub state: Option<PrState>,
    /// The commit that it shows; `None` when that did not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<CommitSha>,
    /// Comments of people who are listened to.
    pub comments: Vec<Comment>,
    /// The approvals that stand, of people who are listened to; `None` where nobody asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvals: Option<Vec<Approved>>,
    /// Comments that are kept and shown, and go no further.
    pub ignored: Vec<IgnoredComment>,
    /// The idempotency keys of this run's own replies that were found.
    pub answered: Vec<String>,
    /// Where the next poll starts.
    pub next: Option<Timestamp>,
}

/// A comment that nobody acts on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IgnoredComment {
    /// Which.
    pub comment: CommentRef,
    /// Who wrote it.
    pub author: Option<String>,
    /// Why it is ignored.
    pub reason: Reason,
}
