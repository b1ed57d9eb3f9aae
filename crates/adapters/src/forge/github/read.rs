//! Bodies into values.

use drive_core::forge::github::{IssueComment, Pull, Review, ReviewComment};
use drive_core::forge::{Comment, PullRequest};
use serde::{Deserialize, Serialize};

type Read<T> = Result<T, serde_json::Error>;

/// A pull request with what only this adapter needs of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PullDetails {
    pub(super) pull_request: PullRequest,
    pub(super) node_id: Option<String>,
    pub(super) merge_commit_sha: Option<String>,
}

impl From<Pull> for PullDetails {
    fn from(pull: Pull) -> Self {
        Self {
            node_id: pull.node_id.clone(),
            merge_commit_sha: pull.merge_commit_sha.clone(),
            pull_request: pull.into_pull_request(),
        }
    }
}

pub(super) fn pull(body: &[u8]) -> Read<PullDetails> {
    serde_json::from_slice::<Pull>(body).map(PullDetails::from)
}

pub(super) fn pulls(body: &[u8]) -> Read<Vec<PullRequest>> {
    let pulls: Vec<Pull> = serde_json::from_slice(body)?;
    Ok(pulls.into_iter().map(Pull::into_pull_request).collect())
}

pub(super) fn note(body: &[u8]) -> Read<Comment> {
    serde_json::from_slice::<IssueComment>(body).map(IssueComment::into_comment)
}

pub(super) fn notes(body: &[u8]) -> Read<Vec<Comment>> {
    let notes: Vec<IssueComment> = serde_json::from_slice(body)?;
    Ok(notes.into_iter().map(IssueComment::into_comment).collect())
}

pub(super) fn line_note(body: &[u8]) -> Read<Comment> {
    serde_json::from_slice::<ReviewComment>(body).map(ReviewComment::into_comment)
}

pub(super) fn line_notes(body: &[u8]) -> Read<Vec<Comment>> {
    let lines: Vec<ReviewComment> = serde_json::from_slice(body)?;
    Ok(lines.into_iter().map(ReviewComment::into_comment).collect())
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

/// The word for what somebody may do.
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
mod tests {
    use super::*;
    use serde_json::Value;

    const EXAMPLES: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../testkit/data/github/examples"
    );

    /// Whether a body is understood.
    type Understood = fn(&[u8]) -> bool;

    /// The reader of each kind of answer that drive asks for; the others are only known to be JSON.
    fn reader(operation: &str) -> Option<Understood> {
        Some(match operation {
            "pulls__get" | "pulls__create" | "pulls__update" => |body| pull(body).is_ok(),
            "pulls__list" => |body| pulls(body).is_ok(),
            "issues__create-comment" | "issues__update-comment" => |body| note(body).is_ok(),
            "issues__list-comments" | "issues__list-comments-for-repo" => {
                |body| notes(body).is_ok()
            }
            "pulls__create-review-comment"
            | "pulls__create-reply-for-review-comment"
            | "pulls__update-review-comment" => |body| line_note(body).is_ok(),
            "pulls__list-review-comments"
            | "pulls__list-review-comments-for-repo"
            | "pulls__list-comments-for-review" => |body| line_notes(body).is_ok(),
            "pulls__create-review" => |body| review(body).is_ok(),
            "pulls__list-reviews" => |body| reviews(body).is_ok(),
            "repos__get-collaborator-permission-level" => |body| permission(body).is_ok(),
            "repos__get-combined-status-for-ref" => |body| statuses(body).is_ok(),
            _ => return None,
        })
    }

    fn examples() -> Vec<(String, Vec<u8>)> {
        let mut all: Vec<(String, Vec<u8>)> = std::fs::read_dir(EXAMPLES)
            .unwrap()
            .map(|entry| {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                (name, std::fs::read(path).unwrap())
            })
            .collect();
        all.sort();
        all
    }

    #[test]
    fn all_of_githubs_examples_are_understood() {
        let mut understood = 0;
        let all = examples();
        for (name, body) in &all {
            serde_json::from_slice::<Value>(body).unwrap();
            let operation = name.split('.').next().unwrap();
            if let Some(reads) = reader(operation).filter(|_| name.contains(".20")) {
                assert!(reads(body), "{name}");
                understood += 1;
            }
        }
        assert_eq!((all.len(), understood), (47, 18));
    }

    #[test]
    fn an_odd_value_in_any_field_but_the_identity_is_read_as_not_said() {
        for (name, body) in examples() {
            let operation = name.split('.').next().unwrap();
            let needed: &[&str] = match operation {
                "repos__get-collaborator-permission-level" => &["permission"],
                "repos__get-combined-status-for-ref" => &["statuses"],
                _ => &["id", "number"],
            };
            let Some(reads) = reader(operation).filter(|_| name.contains(".20")) else {
                continue;
            };
            let whole: Value = serde_json::from_slice(&body).unwrap();
            let one = whole.get(0).unwrap_or(&whole);
            let fields: Vec<String> = one.as_object().unwrap().keys().cloned().collect();
            for field in fields.iter().filter(|f| !needed.contains(&f.as_str())) {
                for odd in [Value::Null, Value::from(-1), Value::from("new word")] {
                    let mut changed = whole.clone();
                    let one = match changed.get_mut(0) {
                        Some(first) => first,
                        None => &mut changed,
                    };
                    one[field] = odd.clone();
                    let bytes = changed.to_string().into_bytes();
                    assert!(reads(&bytes), "{name}: {field} = {odd}");
                }
            }
        }
    }
}
