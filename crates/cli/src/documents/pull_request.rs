//! Pull requests of the local forge: `drive.pullRequests/1`, `drive.pullRequest/1` and
//! `drive.comment/1`.

use super::value::{Moment, Sha};
use drive_core::forge::{Comment, PrState, PullRequest, ReviewState, Surface};
use drive_core::ids::{BranchName, CommentId, CommitSha, PrNumber};
use schemars::JsonSchema;
use serde::Serialize;

/// Pull requests, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PullRequestsDocument {
    pull_requests: Vec<PullRequestSummary>,
}

/// One pull request with its conversation.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PullRequestDocument {
    #[serde(flatten)]
    summary: PullRequestSummary,
    /// The description.
    body: String,
    /// Null while the forge is still working it out.
    mergeable: Option<bool>,
    /// Comments on all surfaces, oldest first.
    comments: Vec<CommentDocument>,
}

/// The changes of a pull request.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PullRequestDiffDocument {
    #[schemars(range(min = 1))]
    number: PrNumber,
    /// The commit at which the branch left its base.
    base_sha: Sha,
    head_sha: Sha,
    /// The changes, as git prints them.
    diff: String,
    /// Whether the diff is longer than that.
    cut: bool,
}

impl PullRequestDiffDocument {
    pub(crate) fn new(pr: &PullRequest, since: &CommitSha, diff: String, cut: bool) -> Self {
        Self {
            number: pr.number,
            base_sha: Sha::new(since),
            head_sha: Sha::new(&pr.head_sha),
            diff,
            cut,
        }
    }
}

/// One pull request in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PullRequestSummary {
    #[schemars(range(min = 1))]
    number: PrNumber,
    title: String,
    state: PrState,
    draft: bool,
    /// The branch with the work.
    branch: BranchName,
    /// The branch it goes to.
    base: BranchName,
    head_sha: Sha,
    url: String,
    updated_at: Moment,
}

/// One comment on a pull request.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommentDocument {
    /// Unique within its surface.
    id: CommentId,
    #[schemars(range(min = 1))]
    pr_number: PrNumber,
    surface: Surface,
    /// The login; null for a deleted account.
    author: Option<String>,
    body: String,
    /// The file, for comments on a line.
    path: Option<String>,
    /// The line; null once outdated.
    line: Option<u64>,
    /// The commit it was given on.
    commit: Option<String>,
    /// The first comment of its thread, for replies.
    in_reply_to: Option<CommentId>,
    /// The verdict, for the body of a review.
    review: Option<ReviewState>,
    created_at: Moment,
    updated_at: Moment,
}

impl PullRequestsDocument {
    pub(crate) fn new(pull_requests: &[PullRequest]) -> Self {
        let all = pull_requests.iter();
        Self {
            pull_requests: all.map(PullRequestSummary::from).collect(),
        }
    }
}

impl PullRequestDocument {
    pub(crate) fn new(pull_request: &PullRequest, comments: &[Comment]) -> Self {
        Self {
            summary: PullRequestSummary::from(pull_request),
            body: pull_request.body.clone(),
            mergeable: pull_request.mergeable,
            comments: comments.iter().map(CommentDocument::from).collect(),
        }
    }
}

impl From<&PullRequest> for PullRequestSummary {
    fn from(pr: &PullRequest) -> Self {
        Self {
            number: pr.number,
            title: pr.title.clone(),
            state: pr.state,
            draft: pr.draft,
            branch: pr.branch.clone(),
            base: pr.base.clone(),
            head_sha: Sha::new(&pr.head_sha),
            url: pr.url.clone(),
            updated_at: pr.updated_at.into(),
        }
    }
}

impl From<&Comment> for CommentDocument {
    fn from(comment: &Comment) -> Self {
        Self {
            id: comment.key.id,
            pr_number: comment.pr,
            surface: comment.key.surface,
            author: comment.author.login.clone(),
            body: comment.body.clone(),
            path: comment.path.clone(),
            line: comment.line,
            commit: comment.commit.as_ref().map(ToString::to_string),
            in_reply_to: comment.in_reply_to,
            review: comment.review,
            created_at: comment.created_at.into(),
            updated_at: comment.key.updated_at.into(),
        }
    }
}
