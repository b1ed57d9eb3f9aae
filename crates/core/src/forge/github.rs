//! Parsers of GitHub's JSON, for the REST API and for webhooks.
//!
//! GitHub's own examples do not all match its schema, accounts are deleted, lines become outdated,
//! and old fields get new values. So only identity is required (an id, a number, the commit and the
//! branches of a pull request); every other field is optional.

pub mod checks;

use super::{
    Author, Comment, CommentKey, LineOrigin, Permission, PrState, PullRequest, ReviewState, Surface,
};
use crate::ids::{BranchName, CommentId, CommitSha, PrNumber};
use crate::problem::{Kind, Problem};
use crate::time::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Deserializes any value; a missing, null or wrongly typed one gives the default.
fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value = Value::deserialize(deserializer)?;
    Ok(T::deserialize(value).unwrap_or_default())
}

/// An account.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Account {
    #[serde(default, deserialize_with = "lenient")]
    login: Option<String>,
    #[serde(default, rename = "type", deserialize_with = "lenient")]
    kind: Option<String>,
}

impl Account {
    fn author(account: Option<Self>) -> Author {
        let account = account.unwrap_or_default();
        Author {
            is_bot: account.kind.as_deref() == Some("Bot"),
            login: account.login,
        }
    }
}

/// A comment in the conversation.
#[derive(Clone, Debug, Deserialize)]
pub struct IssueComment {
    id: CommentId,
    #[serde(default, deserialize_with = "lenient")]
    user: Option<Account>,
    #[serde(default, deserialize_with = "lenient")]
    body: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    created_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "lenient")]
    updated_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "lenient")]
    issue_url: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    html_url: Option<String>,
}

impl IssueComment {
    /// The comment; `None` if GitHub does not name its pull request.
    pub fn into_comment(self) -> Option<Comment> {
        let (created_at, updated_at) = instants(self.created_at, self.updated_at);
        Some(Comment {
            key: CommentKey {
                surface: Surface::Conversation,
                id: self.id,
                updated_at,
            },
            pr: number_at_end(self.issue_url.as_deref())?,
            author: Account::author(self.user),
            body: self.body.unwrap_or_default(),
            path: None,
            line: None,
            origin: None,
            commit: None,
            in_reply_to: None,
            review: None,
            created_at,
            url: self.html_url,
            aside: None,
        })
    }
}

/// A comment on a line of the diff.
#[derive(Clone, Debug, Deserialize)]
pub struct ReviewComment {
    id: CommentId,
    #[serde(default, deserialize_with = "lenient")]
    user: Option<Account>,
    #[serde(default, deserialize_with = "lenient")]
    body: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    path: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    line: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    original_line: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    original_start_line: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    diff_hunk: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    commit_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    original_commit_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    in_reply_to_id: Option<CommentId>,
    #[serde(default, deserialize_with = "lenient")]
    created_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "lenient")]
    updated_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "lenient")]
    pull_request_url: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    html_url: Option<String>,
}

impl ReviewComment {
    /// The comment; `None` if GitHub does not name its pull request.
    ///
    /// The commit is the one that the comment was written on; GitHub updates `commit_id` with every push.
    pub fn into_comment(self) -> Option<Comment> {
        let (created_at, updated_at) = instants(self.created_at, self.updated_at);
        Some(Comment {
            key: CommentKey {
                surface: Surface::Inline,
                id: self.id,
                updated_at,
            },
            pr: number_at_end(self.pull_request_url.as_deref())?,
            author: Account::author(self.user),
            body: self.body.unwrap_or_default(),
            path: self.path,
            line: self.line,
            origin: self.original_line.map(|line| {
                LineOrigin::new(self.original_start_line, line, self.diff_hunk.as_deref())
            }),
            commit: commit_of(self.original_commit_id.or(self.commit_id)),
            in_reply_to: self.in_reply_to_id,
            review: None,
            created_at,
            url: self.html_url,
            aside: None,
        })
    }
}

/// A review.
#[derive(Clone, Debug, Deserialize)]
pub struct Review {
    id: CommentId,
    #[serde(default, deserialize_with = "lenient")]
    user: Option<Account>,
    #[serde(default, deserialize_with = "lenient")]
    body: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    state: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    commit_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    submitted_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "lenient")]
    updated_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "lenient")]
    pull_request_url: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    html_url: Option<String>,
}

impl Review {
    /// The review's body as a comment. `None` for a review that is not submitted yet, for the empty review
    /// that GitHub wraps around single inline comments, and if GitHub does not name the pull request.
    pub fn into_comment(self) -> Option<Comment> {
        let state = self.state.unwrap_or_default();
        let body = self.body.unwrap_or_default();
        if state.eq_ignore_ascii_case("PENDING") {
            return None;
        }
        let review = review_state(&state);
        if review == ReviewState::Commented && body.trim().is_empty() {
            return None;
        }
        let (created_at, updated_at) = instants(self.submitted_at, self.updated_at);
        Some(Comment {
            key: CommentKey {
                surface: Surface::Review,
                id: self.id,
                updated_at,
            },
            pr: number_at_end(self.pull_request_url.as_deref())?,
            author: Account::author(self.user),
            body,
            path: None,
            line: None,
            origin: None,
            commit: commit_of(self.commit_id),
            in_reply_to: None,
            review: Some(review),
            created_at,
            url: self.html_url,
            aside: None,
        })
    }
}

/// Parses a verdict. An unknown value is not a verdict.
pub fn review_state(word: &str) -> ReviewState {
    match word.to_ascii_uppercase().as_str() {
        "APPROVED" => ReviewState::Approved,
        "CHANGES_REQUESTED" => ReviewState::ChangesRequested,
        "DISMISSED" => ReviewState::Dismissed,
        _ => ReviewState::Commented,
    }
}

/// Parses a permission. An unknown word permits nothing.
pub fn permission(word: &str) -> Permission {
    match word {
        "admin" => Permission::Admin,
        "maintain" | "write" => Permission::Write,
        "triage" | "read" => Permission::Read,
        _ => Permission::None,
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Side {
    #[serde(default, rename = "ref", deserialize_with = "lenient")]
    branch: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    sha: Option<String>,
}

/// A pull request.
#[derive(Clone, Debug, Deserialize)]
pub struct Pull {
    number: PrNumber,
    #[serde(default, deserialize_with = "lenient")]
    title: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    body: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    state: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    draft: bool,
    #[serde(default, deserialize_with = "lenient")]
    merged: bool,
    #[serde(default, deserialize_with = "lenient")]
    merged_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "lenient")]
    head: Side,
    #[serde(default, deserialize_with = "lenient")]
    base: Side,
    #[serde(default, deserialize_with = "lenient")]
    mergeable: Option<bool>,
    #[serde(default, deserialize_with = "lenient")]
    updated_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "lenient")]
    html_url: Option<String>,
    /// The commit on the base after the merge; before that, GitHub's own trial merge.
    #[serde(default, deserialize_with = "lenient")]
    pub merge_commit_sha: Option<String>,
    /// The id in GitHub's GraphQL API.
    #[serde(default, deserialize_with = "lenient")]
    pub node_id: Option<String>,
}

impl Pull {
    /// The pull request, or the problem that GitHub left out its newest commit or a branch.
    pub fn into_pull_request(self) -> Result<PullRequest, Problem> {
        let state = if self.merged || self.merged_at.is_some() {
            PrState::Merged
        } else if self.state.as_deref() == Some("closed") {
            PrState::Closed
        } else {
            PrState::Open
        };
        // For an open pull request it is a trial merge.
        let merged_sha = commit_of(self.merge_commit_sha).filter(|_| state == PrState::Merged);
        Ok(PullRequest {
            number: self.number,
            title: self.title.unwrap_or_default(),
            body: self.body.unwrap_or_default(),
            state,
            draft: self.draft,
            branch: branch_of(self.head.branch, "head.ref")?,
            base: branch_of(self.base.branch, "base.ref")?,
            head_sha: commit_of(self.head.sha).ok_or_else(|| names_no("commit"))?,
            mergeable: self.mergeable,
            merged_sha,
            updated_at: self.updated_at.unwrap_or(Timestamp::UNIX_EPOCH),
            url: self.html_url.unwrap_or_default(),
        })
    }
}

fn branch_of(name: Option<String>, field: &str) -> Result<BranchName, Problem> {
    let missing = || names_no(&format!("branch in `{field}`"));
    let name = name.ok_or_else(missing)?;
    BranchName::parse(&name).map_err(|refused| missing().because(refused))
}

fn names_no(what: &str) -> Problem {
    Problem::new(
        Kind::ForgeAnswer,
        format!("the pull request names no {what}"),
    )
}

fn commit_of(text: Option<String>) -> Option<CommitSha> {
    CommitSha::parse(&text?)
}

/// The times of creation and last change; if one is missing, the other replaces it.
fn instants(created: Option<Timestamp>, updated: Option<Timestamp>) -> (Timestamp, Timestamp) {
    let created_at = created.or(updated).unwrap_or(Timestamp::UNIX_EPOCH);
    (created_at, updated.unwrap_or(created_at))
}

fn number_at_end(url: Option<&str>) -> Option<PrNumber> {
    PrNumber::parse(url?.rsplit('/').next()?)
}

#[cfg(test)]
mod tests;
