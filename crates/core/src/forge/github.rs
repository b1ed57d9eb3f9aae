//! Parsers of GitHub's JSON, for the REST API and for webhooks.
//!
//! GitHub's own examples do not all match its schema, accounts are deleted, lines become outdated
//! and new values appear in old fields. So only identity is required (an id, a number, the commit and
//! the branches of a pull request); every other field is optional.

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

/// Any value, or the default where it is missing, null or of another type.
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

/// A comment of the conversation.
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
    /// The comment; `None` when GitHub does not name its pull request.
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
    /// The comment; `None` when GitHub does not name its pull request.
    ///
    /// The commit is the one the comment was given on: GitHub moves `commit_id` along with pushes.
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
    /// The review's body as a comment; `None` for one not submitted yet, and for the empty shell
    /// that GitHub wraps around lone inline comments, and one whose pull request is not named.
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

/// A permission by its name. A word we do not know permits nothing.
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
    /// The commit on the base once merged; before that, GitHub's own trial merge.
    #[serde(default, deserialize_with = "lenient")]
    pub merge_commit_sha: Option<String>,
    /// The id that the other API knows it by.
    #[serde(default, deserialize_with = "lenient")]
    pub node_id: Option<String>,
}

impl Pull {
    /// The pull request, or what GitHub left out: its newest commit or one of its two branches.
    pub fn into_pull_request(self) -> Result<PullRequest, Problem> {
        let state = if self.merged || self.merged_at.is_some() {
            PrState::Merged
        } else if self.state.as_deref() == Some("closed") {
            PrState::Closed
        } else {
            PrState::Open
        };
        // Of an open one it is a trial merge.
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

/// When something was written and last changed; one stands in for the other.
fn instants(created: Option<Timestamp>, updated: Option<Timestamp>) -> (Timestamp, Timestamp) {
    let created_at = created.or(updated).unwrap_or(Timestamp::UNIX_EPOCH);
    (created_at, updated.unwrap_or(created_at))
}

fn number_at_end(url: Option<&str>) -> Option<PrNumber> {
    PrNumber::parse(url?.rsplit('/').next()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SHA: &str = "0123456789abcdef0123456789abcdef01234567";

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_conversation_comment_is_read_whole() {
        let raw: IssueComment = serde_json::from_value(json!({
            "id": 5, "body": "please fix", "user": {"login": "ada", "type": "User"},
            "created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T04:00:00Z",
            "issue_url": "https://api.github.com/repos/o/r/issues/7",
            "html_url": "https://github.com/o/r/pull/7#issuecomment-5",
        }))
        .unwrap();
        assert_eq!(
            raw.into_comment(),
            Some(Comment {
                key: CommentKey {
                    surface: Surface::Conversation,
                    id: CommentId::new(5),
                    updated_at: at("2026-01-02T04:00:00Z"),
                },
                pr: PrNumber::new(7),
                author: Author {
                    login: Some("ada".to_owned()),
                    is_bot: false,
                },
                body: "please fix".to_owned(),
                path: None,
                line: None,
                origin: None,
                commit: None,
                in_reply_to: None,
                review: None,
                created_at: at("2026-01-02T03:04:05Z"),
                aside: None,
                url: Some("https://github.com/o/r/pull/7#issuecomment-5".to_owned()),
            })
        );
    }

    #[test]
    fn a_deleted_account_an_outdated_line_and_odd_types_are_read_as_not_said() {
        let raw: ReviewComment = serde_json::from_value(json!({
            "id": 9, "user": null, "body": null, "path": "a.rs", "line": null, "position": "x",
            "commit_id": 3, "in_reply_to_id": null, "created_at": "yesterday",
            "pull_request_url": "https://ghe.example/api/v3/repos/o/r/pulls/7",
        }))
        .unwrap();
        let comment = raw.into_comment().unwrap();
        assert_eq!(
            (
                comment.pr,
                comment.author.login,
                comment.line,
                comment.commit,
                comment.created_at
            ),
            (PrNumber::new(7), None, None, None, Timestamp::UNIX_EPOCH)
        );
    }

    #[test]
    fn an_outdated_comment_keeps_the_lines_and_the_hunk_it_was_written_on() {
        let read = |start: Value, line: Value| {
            let raw: ReviewComment = serde_json::from_value(json!({
                "id": 9, "body": "x", "path": "a.rs", "line": null, "original_line": line,
                "original_start_line": start, "diff_hunk": "@@ -1 +1,2 @@\n one\n+two",
                "pull_request_url": "https://api.github.com/repos/o/r/pulls/7",
            }))
            .unwrap();
            raw.into_comment().unwrap().origin
        };
        let origin = |first_line| LineOrigin {
            first_line,
            line: 2,
            hunk: Some("@@ -1 +1,2 @@\n one\n+two".to_owned()),
        };
        assert_eq!(read(json!(1), json!(2)), Some(origin(Some(1))));
        assert_eq!(read(json!(null), json!(2)), Some(origin(None)));
        assert_eq!(read(json!(null), json!(null)), None);
    }

    #[test]
    fn a_comment_whose_pull_request_is_not_named_is_no_comment() {
        for url in [
            json!(null),
            json!("https://api.github.com/repos/o/r/issues/0"),
        ] {
            let raw = json!({"id": 5, "body": "text", "issue_url": url, "pull_request_url": url});
            let note: IssueComment = serde_json::from_value(raw.clone()).unwrap();
            let line: ReviewComment = serde_json::from_value(raw.clone()).unwrap();
            let review: Review = serde_json::from_value(raw).unwrap();
            assert_eq!(note.into_comment(), None);
            assert_eq!(line.into_comment(), None);
            assert_eq!(review.into_comment(), None);
        }
    }

    #[test]
    fn pending_reviews_and_empty_shells_are_no_comments() {
        let read = |state: &str, body: &str| {
            let review: Review = serde_json::from_value(json!({
                "id": 1, "state": state, "body": body,
                "pull_request_url": "https://api.github.com/repos/o/r/pulls/7",
            }))
            .unwrap();
            review.into_comment().and_then(|c| c.review)
        };
        assert_eq!(read("PENDING", "text"), None);
        assert_eq!(read("COMMENTED", " "), None);
        assert_eq!(read("COMMENTED", "text"), Some(ReviewState::Commented));
        assert_eq!(read("approved", ""), Some(ReviewState::Approved));
        assert_eq!(read("SOMETHING_NEW", "text"), Some(ReviewState::Commented));
    }

    #[test]
    fn a_merged_pull_request_is_not_merely_closed() {
        let read = |mut value: Value| {
            value["head"] = json!({"sha": SHA, "ref": "feat/login"});
            value["base"] = json!({"ref": "main"});
            let pull: Pull = serde_json::from_value(value).unwrap();
            pull.into_pull_request().unwrap().state
        };
        assert_eq!(read(json!({"number": 1, "state": "open"})), PrState::Open);
        assert_eq!(
            read(json!({"number": 1, "state": "closed"})),
            PrState::Closed
        );
        let merged = json!({"number": 1, "state": "closed", "merged_at": "2026-01-02T03:04:05Z"});
        assert_eq!(read(merged), PrState::Merged);
    }

    #[test]
    fn a_pull_request_without_its_commit_or_a_branch_is_refused_by_the_field() {
        let whole = json!({
            "number": 1, "state": "open", "head": {"sha": SHA, "ref": "x"}, "base": {"ref": "main"},
        });
        let table = [
            ("/head/sha", json!(null), "commit"),
            ("/head/sha", json!(""), "commit"),
            ("/head/sha", json!("0123456"), "commit"),
            ("/head/ref", json!(null), "branch in `head.ref`"),
            ("/head/ref", json!(7), "branch in `head.ref`"),
            ("/head/ref", json!(""), "branch in `head.ref`"),
            ("/base/ref", json!(null), "branch in `base.ref`"),
            ("/base/ref", json!("a b"), "branch in `base.ref`"),
        ];
        for (field, value, what) in table {
            let mut pull = whole.clone();
            *pull.pointer_mut(field).unwrap() = value;
            let pull: Pull = serde_json::from_value(pull).unwrap();
            let problem = pull.into_pull_request().unwrap_err();
            assert_eq!(problem.kind, Kind::ForgeAnswer, "{field}");
            assert_eq!(problem.message, format!("the pull request names no {what}"));
        }
    }

    #[test]
    fn unknown_permissions_permit_nothing() {
        assert_eq!(permission("maintain"), Permission::Write);
        assert_eq!(permission("triage"), Permission::Read);
        assert_eq!(permission("owner-of-everything"), Permission::None);
    }
}
