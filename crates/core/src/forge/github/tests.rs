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
