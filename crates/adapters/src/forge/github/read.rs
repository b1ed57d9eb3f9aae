//! Decodes response bodies.

use drive_core::Problem;
use drive_core::forge::github::{IssueComment, Pull, Review, ReviewComment};
use drive_core::forge::{Comment, PullRequest};
use drive_core::ids::CommitSha;
use serde::{Deserialize, Serialize};

type Read<T> = Result<T, serde_json::Error>;

/// A pull request with additional data for this adapter.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PullDetails {
    pub(super) pull_request: PullRequest,
    pub(super) node_id: Option<String>,
    pub(super) merge_commit_sha: Option<CommitSha>,
}

impl PullDetails {
    fn of(pull: Pull) -> Result<Self, Problem> {
        let merged = pull.merge_commit_sha.as_deref();
        Ok(Self {
            node_id: pull.node_id.clone(),
            merge_commit_sha: merged.and_then(CommitSha::parse),
            pull_request: pull.into_pull_request()?,
        })
    }
}

pub(super) fn pull(body: &[u8]) -> Read<PullDetails> {
    let pull: Pull = serde_json::from_slice(body)?;
    PullDetails::of(pull).map_err(serde::de::Error::custom)
}

/// Parses pull requests. One without a commit or a branch is left out, so that it does not hide the others.
pub(super) fn pulls(body: &[u8]) -> Read<Vec<PullRequest>> {
    let pulls: Vec<Pull> = serde_json::from_slice(body)?;
    Ok(pulls
        .into_iter()
        .filter_map(|pull| pull.into_pull_request().ok())
        .collect())
}

pub(super) fn note(body: &[u8]) -> Read<Comment> {
    let note: IssueComment = serde_json::from_slice(body)?;
    note.into_comment().ok_or_else(no_pull_request)
}

pub(super) fn notes(body: &[u8]) -> Read<Vec<Comment>> {
    let notes: Vec<IssueComment> = serde_json::from_slice(body)?;
    Ok(notes
        .into_iter()
        .filter_map(IssueComment::into_comment)
        .collect())
}

pub(super) fn line_note(body: &[u8]) -> Read<Comment> {
    let line: ReviewComment = serde_json::from_slice(body)?;
    line.into_comment().ok_or_else(no_pull_request)
}

pub(super) fn line_notes(body: &[u8]) -> Read<Vec<Comment>> {
    let lines: Vec<ReviewComment> = serde_json::from_slice(body)?;
    Ok(lines
        .into_iter()
        .filter_map(ReviewComment::into_comment)
        .collect())
}

fn no_pull_request() -> serde_json::Error {
    serde::de::Error::custom("the comment names no pull request")
}

pub(super) fn review(body: &[u8]) -> Read<Option<Comment>> {
    serde_json::from_slice::<Review>(body).map(Review::into_comment)
}

pub(super) fn reviews(body: &[u8]) -> Read<Vec<Comment>> {
    let reviews: Vec<Review> = serde_json::from_slice(body)?;
    Ok(reviews
        .into_iter()
        .filter_map(Review::into_comment)
        .collect())
}

/// The commit that a merge left on the base.
pub(super) fn merged(body: &[u8]) -> Read<Option<CommitSha>> {
    #[derive(Deserialize)]
    struct Answer {
        #[serde(default)]
        sha: Option<String>,
    }
    serde_json::from_slice::<Answer>(body)
        .map(|answer| answer.sha.as_deref().and_then(CommitSha::parse))
}

/// The name of a permission.
pub(super) fn permission(body: &[u8]) -> Read<String> {
    #[derive(Deserialize)]
    struct Answer {
        permission: String,
    }
    serde_json::from_slice::<Answer>(body).map(|answer| answer.permission)
}

/// One status: context, state, description.
pub(super) type StatusLine = (String, String, Option<String>);

pub(super) fn statuses(body: &[u8]) -> Read<Vec<StatusLine>> {
    #[derive(Deserialize)]
    struct One {
        context: String,
        state: String,
        #[serde(default)]
        description: Option<String>,
    }
    #[derive(Deserialize)]
    struct Combined {
        statuses: Vec<One>,
    }
    let combined: Combined = serde_json::from_slice(body)?;
    let lines = combined.statuses.into_iter();
    Ok(lines.map(|s| (s.context, s.state, s.description)).collect())
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
