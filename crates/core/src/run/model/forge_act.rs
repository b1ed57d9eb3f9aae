use super::merge::BranchAt;
use super::watch::{Approved, Objected};
use crate::forge::trust::Reason;
use crate::forge::{Checks, Comment, CommentRef, PrState};
use crate::ids::CommitSha;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// An action on a pull request. Repeating one finds its earlier result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "act")]
pub enum ForgeAct {
    /// Read the state of the pull request and people's comments.
    Poll {
        /// The time to read from, by the forge's clock; `None` reads from the beginning.
        since: Option<Timestamp>,
        /// Whether to read the current approvals even if nothing new was written.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        approvals: bool,
        /// The commit whose checks are read as well.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checks: Option<CommitSha>,
    },
    /// React to a comment to show that drive has seen it.
    React {
        /// The comment.
        comment: CommentRef,
    },
    /// Post a review with inline comments.
    PostReview {
        /// The reviewed commit.
        head: CommitSha,
        /// The review's text, in Markdown.
        body: String,
        /// Its inline comments.
        lines: Vec<LineRemark>,
    },
    /// Post in the conversation.
    PostComment {
        /// The text.
        body: String,
    },
    /// Post or update the comment that sums up the reviews.
    Summarize {
        /// The text.
        body: String,
        /// The comment, once it is posted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<CommentRef>,
    },
    /// Answer a comment.
    Reply {
        /// The comment.
        to: CommentRef,
        /// The text.
        body: String,
    },
    /// Resolve the thread of a comment.
    ResolveThread {
        /// The comment.
        comment: CommentRef,
    },
    /// Replace the description, or only drive's [own part](crate::forge::part) if the new text has
    /// one.
    UpdateBody {
        /// The new description.
        body: String,
    },
    /// Mark a draft as ready for review.
    MarkReady,
    /// Merge if the head and the verified base are unchanged.
    Merge {
        /// The commit that was approved.
        head: CommitSha,
        /// The base it was verified against; `None` merges nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verified: Option<VerifiedAgainst>,
    },
    /// Set the commit status of the review.
    SetStatus {
        /// The commit.
        sha: CommitSha,
        /// Whether it passed.
        passed: bool,
        /// A short description.
        description: String,
    },
}

impl ForgeAct {
    /// The first part of the effect's key.
    pub fn name(&self) -> &'static str {
        match self {
            ForgeAct::Poll { .. } => "poll",
            ForgeAct::React { .. } => "react",
            ForgeAct::PostReview { .. } => "postReview",
            ForgeAct::PostComment { .. } => "postComment",
            ForgeAct::Summarize { .. } => "summarize",
            ForgeAct::Reply { .. } => "reply",
            ForgeAct::ResolveThread { .. } => "resolveThread",
            ForgeAct::UpdateBody { .. } => "updateBody",
            ForgeAct::MarkReady => "markReady",
            ForgeAct::Merge { .. } => "merge",
            ForgeAct::SetStatus { .. } => "setStatus",
        }
    }
}

/// The base that a commit was verified against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedAgainst {
    /// The base branch.
    pub base: BranchAt,
    /// The base commit.
    pub sha: CommitSha,
    /// The protected files that the change touches; a person must have approved them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<String>,
}

/// An inline comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LineRemark {
    /// The file.
    pub path: String,
    /// Line in the new version of the file; the last one of several.
    pub line: u64,
    /// The first line, if the remark covers several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u64>,
    /// The remark's text, in Markdown.
    pub body: String,
    /// The code block of its text that people may apply as a change. Other code blocks are not offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

/// The answer of a forge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "answer")]
pub enum ForgeAnswer {
    /// The state of the pull request.
    Polled {
        /// The result of the poll.
        poll: Box<PollResult>,
    },
    /// The review is posted.
    ReviewPosted {
        /// The comment that holds the review's text.
        review: CommentRef,
        /// Its inline comments, in order.
        lines: Vec<CommentRef>,
    },
    /// The comment is posted.
    Posted {
        /// The comment.
        comment: CommentRef,
    },
    /// The pull request is merged.
    Merged {
        /// The commit on the base, if the forge reports it.
        sha: Option<CommitSha>,
    },
    /// The pull request was not merged.
    NotMerged {
        /// The reason.
        reason: String,
    },
    /// The pull request was not merged: its base moved after the verification.
    BaseMoved,
    /// The pull request was not merged: people wrote something that the run has not read yet, or an
    /// objection stands.
    Unheard {
        /// The poll made right before the merge.
        poll: Box<PollResult>,
    },
    /// The pull request is not merged yet: it waits in the forge's merge queue.
    Queued,
    /// The action is done.
    Done,
}

/// The result of one poll of a pull request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PollResult {
    /// Its state; `None` if unchanged.
    pub state: Option<PrState>,
    /// Its head; `None` if unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<CommitSha>,
    /// The commit that the merge left on the base, if the pull request is merged and the forge reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_sha: Option<CommitSha>,
    /// Comments of trusted authors.
    pub comments: Vec<Comment>,
    /// The current approvals of trusted authors; `None` if they were not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvals: Option<Vec<Approved>>,
    /// The standing requests for changes of trusted authors; `None` if they were not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objections: Option<Vec<Objected>>,
    /// The checks of the requested commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<Checks>,
    /// Why the token cannot read the checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<String>,
    /// Whether the commit that was given to the merge queue still waits there; `None` if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<bool>,
    /// What could not be read or judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Comments of other authors, which are listed but not acted on.
    pub ignored: Vec<IgnoredComment>,
    /// The idempotency keys of this run's own replies that the poll found.
    pub answered: Vec<String>,
    /// Where the next poll starts.
    pub next: Option<Timestamp>,
}

/// An ignored comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IgnoredComment {
    /// The comment.
    pub comment: CommentRef,
    /// Who wrote it.
    pub author: Option<String>,
    /// Why it is ignored.
    pub reason: Reason,
}
