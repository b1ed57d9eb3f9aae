//! Approvals, each bound to the commit it was given for.

use super::{Author, Comment, ReviewState};
use crate::ids::{CommentId, CommitSha};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A yes to exactly one commit. Whether its author may say it is for [`super::trust`] to judge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// The author of the approval.
    pub author: Author,
    /// The commit it was said of. A later head is not approved by it.
    pub head: CommitSha,
    /// The time.
    pub at: Timestamp,
}

/// The approvals that stand among a pull request's reviews, oldest first.
///
/// The newest verdict of a person counts: asking for changes and being dismissed take an approval
/// back, a remark does not. One without an author or a commit binds nobody to nothing, and is left
/// out.
pub fn standing(reviews: &[Comment]) -> Vec<Approval> {
    let mut newest: BTreeMap<String, &Comment> = BTreeMap::new();
    for review in reviews.iter().filter(|review| is_verdict(review)) {
        let Some(login) = &review.author.login else {
            continue;
        };
        let known = newest.entry(login.to_lowercase()).or_insert(review);
        if order(review) >= order(known) {
            *known = review;
        }
    }
    let mut standing: Vec<&Comment> = newest.into_values().collect();
    standing.sort_by_key(|review| order(review));
    standing.into_iter().filter_map(approval).collect()
}

/// Whether a comment is a review that says yes or no, or that was taken back.
pub fn is_verdict(review: &Comment) -> bool {
    match review.review {
        Some(ReviewState::Approved | ReviewState::ChangesRequested | ReviewState::Dismissed) => {
            true
        }
        Some(ReviewState::Commented) | None => false,
    }
}

fn approval(review: &Comment) -> Option<Approval> {
    if review.review != Some(ReviewState::Approved) {
        return None;
    }
    Some(Approval {
        author: review.author.clone(),
        head: review.commit.clone()?,
        at: review.created_at,
    })
}

fn order(review: &Comment) -> (Timestamp, CommentId) {
    (review.created_at, review.key.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forge::{CommentKey, Surface};
    use crate::ids::PrNumber;

    fn said(id: u64, login: Option<&str>, review: ReviewState, commit: Option<&str>) -> Comment {
        let at = Timestamp::from_second(100).unwrap();
        Comment {
            key: CommentKey {
                surface: Surface::Review,
                id: CommentId::new(id),
                updated_at: at,
            },
            pr: PrNumber::new(1),
            author: Author {
                login: login.map(str::to_owned),
                is_bot: false,
            },
            body: String::new(),
            path: None,
            line: None,
            origin: None,
            commit: commit.map(CommitSha::new),
            in_reply_to: None,
            review: Some(review),
            created_at: at,
            url: None,
        }
    }

    fn heads(reviews: &[Comment]) -> Vec<(String, String)> {
        let standing = standing(reviews).into_iter();
        standing
            .map(|approval| {
                (
                    approval.author.login.unwrap_or_default(),
                    approval.head.to_string(),
                )
            })
            .collect()
    }

    #[test]
    fn the_newest_verdict_of_each_person_counts_whatever_the_order_of_the_list() {
        use ReviewState::{Approved, ChangesRequested, Commented, Dismissed};
        let reviews = [
            said(9, Some("Wim"), Approved, Some("new")),
            said(1, Some("wim"), Approved, Some("old")),
            said(2, Some("ada"), Approved, Some("old")),
            said(3, Some("ada"), Commented, Some("new")),
            said(4, Some("rob"), Approved, Some("old")),
            said(5, Some("rob"), ChangesRequested, Some("new")),
            said(6, Some("eve"), Approved, Some("old")),
            said(7, Some("eve"), Dismissed, Some("old")),
        ];
        let pair = |login: &str, head: &str| (login.to_owned(), head.to_owned());
        assert_eq!(heads(&reviews), [pair("ada", "old"), pair("Wim", "new")]);
    }

    #[test]
    fn an_approval_of_nobody_or_of_no_commit_is_none() {
        let reviews = [
            said(1, None, ReviewState::Approved, Some("head")),
            said(2, Some("ada"), ReviewState::Approved, None),
        ];
        assert_eq!(standing(&reviews), []);
    }
}
