//! Pull requests and comments, independent of the forge.

pub mod approval;
pub mod budget;
pub mod checks;
pub mod choice;
pub mod github;
mod hmac;
pub mod inert;
pub mod inline;
pub mod marker;
pub mod part;
pub mod rate_limit;
pub mod readiness;
pub mod suggestion;
pub mod template;
pub mod text;
pub mod trust;
mod version;
pub mod webhook;

pub use approval::{Approval, Objection, Opinions};
pub use budget::RequestBudget;
pub use checks::{Check, Checks};
pub use version::{CommentVersion, Words, newest};

use crate::ids::{BranchName, CommentId, CommitSha, PrNumber};
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a link names a pull request of the built-in local forge, which has no web pages.
pub(crate) fn is_local_url(url: &str) -> bool {
    url.starts_with("local:")
}

/// The surface of a comment.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CommentSurface")]
pub enum Surface {
    /// The pull request's conversation.
    Conversation,
    /// A line of the diff.
    Inline,
    /// The body of a review.
    Review,
}

/// A comment at the time of an edit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommentKey {
    /// The surface.
    pub surface: Surface,
    /// The forge's id, unique within its surface.
    pub id: CommentId,
    /// The time of the last edit.
    pub updated_at: Timestamp,
}

/// A comment in any version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommentRef {
    /// The surface.
    pub surface: Surface,
    /// The forge's id, unique within its surface.
    pub id: CommentId,
}

impl CommentKey {
    /// The comment without its version.
    pub fn comment(&self) -> CommentRef {
        CommentRef {
            surface: self.surface,
            id: self.id,
        }
    }
}

/// An author's permission in the repository, as the forge reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Permission {
    /// The author may administer.
    Admin,
    /// The author may push.
    Write,
    /// The author may read.
    Read,
    /// The author has no permission, or the forge did not report any.
    None,
}

/// The verdict of a review on a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ReviewStateWord")]
pub enum ReviewState {
    /// Approved the head it was given for.
    Approved,
    /// Asked for changes.
    ChangesRequested,
    /// Only commented.
    Commented,
    /// The review was dismissed.
    Dismissed,
}

/// The author of a comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Author {
    /// The login; a deleted account has none.
    pub login: Option<String>,
    /// Whether the forge marks the author as a bot or an app.
    pub is_bot: bool,
}

/// One comment on a pull request, on any of the three surfaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Comment {
    /// The identity, which includes the time of the last edit.
    pub key: CommentKey,
    /// The pull request.
    pub pr: PrNumber,
    /// The author.
    pub author: Author,
    /// The text, as written.
    pub body: String,
    /// The file, for inline comments.
    pub path: Option<String>,
    /// The line, for inline comments; `None` once outdated.
    pub line: Option<u64>,
    /// The place where an inline comment was written; it stays when the line is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<LineOrigin>,
    /// The commit it was written on, if the forge reports it.
    pub commit: Option<CommitSha>,
    /// The first comment of its thread, for replies.
    pub in_reply_to: Option<CommentId>,
    /// The verdict, for review bodies.
    pub review: Option<ReviewState>,
    /// The creation time.
    pub created_at: Timestamp,
    /// A link for people.
    pub url: Option<String>,
    /// How a person put it aside, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aside: Option<Aside>,
}

/// How a comment was put aside without being deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CommentAside")]
pub enum Aside {
    /// Its thread is resolved.
    Resolved,
    /// It was minimised.
    Minimized,
    /// It is a dismissed review.
    Dismissed,
}

impl Comment {
    /// How a person put it aside, if one did.
    pub fn put_aside(&self) -> Option<Aside> {
        let is_dismissed = self.review == Some(ReviewState::Dismissed);
        is_dismissed.then_some(Aside::Dismissed).or(self.aside)
    }
}

/// The lines that a comment was written on, in the file of its commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LineOrigin {
    /// The first of several lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_line: Option<u64>,
    /// The line, or the last one.
    pub line: u64,
    /// The part of the diff that its author saw, up to that line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunk: Option<String>,
}

impl LineOrigin {
    /// The lines of a file that a comment was written on, with the end of the diff shown there.
    pub fn new(first_line: Option<u64>, line: u64, hunk: Option<&str>) -> Self {
        let hunk = hunk.map(inline::end_of_hunk);
        Self {
            first_line: first_line.filter(|first| *first < line),
            line,
            hunk: hunk.filter(|hunk| !hunk.is_empty()),
        }
    }
}

/// Whether a pull request is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PullRequestState")]
pub enum PrState {
    /// Open for review, draft or not.
    Open,
    /// Merged into its base.
    Merged,
    /// Closed without a merge.
    Closed,
}

/// One pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PullRequest {
    /// The pull request's number.
    pub number: PrNumber,
    /// The pull request's title.
    pub title: String,
    /// The description.
    pub body: String,
    /// Open, merged or closed.
    pub state: PrState,
    /// Whether it is a draft.
    pub draft: bool,
    /// The branch with the work.
    pub branch: BranchName,
    /// The branch it goes to.
    pub base: BranchName,
    /// The commit at the tip of the work.
    pub head_sha: CommitSha,
    /// Whether it can be merged; `None` while the forge computes it, and in polls.
    pub mergeable: Option<bool>,
    /// The commit that its merge left on the base; `None` if it is not merged or the forge does not
    /// report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_sha: Option<CommitSha>,
    /// When it last changed, by the forge's clock.
    pub updated_at: Timestamp,
    /// A link for people.
    pub url: String,
}
