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
        aside: None,
    }
}

fn heads(reviews: &[Comment]) -> Vec<(String, String)> {
    let standing = standing(reviews).approvals.into_iter();
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
    assert_eq!(standing(&reviews), Opinions::default());
}

#[test]
fn a_request_for_changes_stands_until_its_author_approves_or_it_is_dismissed() {
    use ReviewState::{Approved, ChangesRequested, Commented, Dismissed};
    let reviews = [
        said(1, Some("ada"), ChangesRequested, Some("old")),
        said(2, Some("rob"), ChangesRequested, Some("old")),
        said(3, Some("rob"), Approved, Some("old")),
        said(4, Some("eve"), Dismissed, Some("old")),
        said(5, Some("wim"), Approved, Some("old")),
        said(6, Some("wim"), ChangesRequested, None),
        said(7, Some("ada"), Commented, Some("new")),
    ];
    let found = standing(&reviews).objections;
    let by: Vec<_> = found
        .iter()
        .filter_map(|one| one.author.login.as_deref())
        .collect();
    assert_eq!(by, ["ada", "wim"]);
}

#[test]
fn praise_in_an_approval_asks_for_nothing_and_a_request_in_it_does() {
    let praise = [
        "",
        "LGTM",
        "LGTM! 🚀",
        "Looks good to me, nice work.",
        "Thanks for handling the edge cases",
        "> please rename this\n\nDone, looks great",
        "No changes needed.",
        "Nothing to add.",
        "Approved :tada:",
        "Ship it!",
        "Great unit tests!",
        "Love the exception handling",
        "Should be good to go",
        "Test coverage is excellent",
        "LGTM, tested locally, works",
        "+1",
        "Okay, let's merge this",
    ];
    for text in praise {
        assert!(!asks_for_something(text), "{text}");
    }
    let requests = [
        "LGTM, please rename `a` first",
        "Looks good. Rename `a` to `b`.",
        "Fine, but the docs are stale",
        "nit: trailing space",
        "LGTM\n\n- [ ] changelog",
        "ok\n```suggestion\nlet b = 1;\n```",
        "Is the lock released here?",
        "Good; should the timeout be configurable",
        "+1 once you add a test",
        "Do not merge before Friday.",
        "Don't merge yet.",
        "Don’t merge yet.",
        "Hold off until #12 lands.",
        "Nice cleanup - please also rename a",
        "Nice work but the docs are stale",
        "No tests for the error path.",
        "Not sure the lock is released.",
        "Nits: rename x",
        "LGTM, just bump the version first",
        "LGTM modulo the naming",
        "Approving, however the message is wrong",
        "LGTM. Docs are stale.",
        "LGTM! Breaks on Windows.",
        "LGTM, bump the version",
        "LGTM, run clippy",
        "Approved. Clean up the imports afterwards.",
        "Good. Happy path misses the null case",
        "The well-known port is hard coded",
        "Bitte umbenennen",
        "Great. A test for the empty name would be nice",
        "Nice to have: a changelog entry",
        "Great care is needed around the lock",
        "Works on my machine, the lock leaks",
    ];
    for text in requests {
        assert!(asks_for_something(text), "{text}");
    }
}
