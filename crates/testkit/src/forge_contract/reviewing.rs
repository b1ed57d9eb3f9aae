//! Contract of drive's own reviews: each inline comment appears once, and threads can be resolved.

use super::ForgeFixture;
use super::fixture::{all_comments, containing, open, post};
use drive_core::forge::{Aside, Comment, Permission, PullRequest, ReviewState, Surface};
use drive_engine::ports::{LineComment, NewReview, PostedReview, Since};

const REVIEW: &str = "<!-- drive:test:review -->";
const FIRST: &str = "<!-- drive:test:line1 -->";
const SECOND: &str = "<!-- drive:test:line2 -->";

fn give(fixture: &dyn ForgeFixture, pr: &PullRequest, second_line: u64) -> PostedReview {
    let lines = [
        LineComment {
            path: "src/lib.rs",
            line: 2,
            start_line: None,
            post: post("too short", FIRST),
        },
        LineComment {
            path: "src/lib.rs",
            line: second_line,
            start_line: None,
            post: post("too long", SECOND),
        },
    ];
    let review = NewReview {
        head: &pr.head_sha,
        post: post("two remarks", REVIEW),
        lines: &lines,
    };
    fixture.forge().review(pr.number, &review).unwrap()
}

/// Each inline comment is on its line; the body is in the review.
pub fn a_review_stands_on_its_lines(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/review");
    let posted = give(fixture, &pr, 4);
    let standing = all_comments(fixture, pr.number);
    assert_eq!(containing(&standing, REVIEW), [posted.review.comment]);
    assert_eq!(posted.review.comment.surface, Surface::Review);
    let mut lines: Vec<_> = standing
        .iter()
        .filter(|c| c.key.surface == Surface::Inline)
        .map(|c| {
            let first_line = c.body.lines().next().unwrap_or_default().to_owned();
            (c.path.clone().unwrap(), c.line, first_line)
        })
        .collect();
    lines.sort();
    assert_eq!(
        lines,
        [
            ("src/lib.rs".to_owned(), Some(2), "too short".to_owned()),
            ("src/lib.rs".to_owned(), Some(4), "too long".to_owned()),
        ]
    );
    let mut ours: Vec<_> = standing
        .iter()
        .filter(|c| c.key.surface == Surface::Inline)
        .map(|c| c.key.comment())
        .collect();
    let mut told = posted.lines;
    ours.sort();
    told.sort();
    assert_eq!(told, ours);
}

/// A review that is repeated after a restart is found with its lines.
pub fn a_review_with_the_same_marker_stands_once(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/reviewonce");
    let first = give(fixture, &pr, 4);
    let second = give(fixture, &pr, 4);
    assert_eq!(first, second);
    assert_eq!(all_comments(fixture, pr.number).len(), 3);
}

/// The forge accepted the review, and the network lost the answer.
pub fn a_lost_answer_does_not_review_twice(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/reviewlost");
    fixture.lose_next_answer();
    let posted = give(fixture, &pr, 4);
    assert_eq!(posted.lines.len(), 2);
    assert_eq!(all_comments(fixture, pr.number).len(), 3);
}

/// A comment on several lines appears on the first or last of them. If the diff does not show all
/// of them together, it still appears somewhere.
pub fn a_remark_on_several_lines_stands_on_one_of_them(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/several");
    let remark = |line, body, marker| LineComment {
        path: "src/lib.rs",
        line,
        start_line: Some(2),
        post: post(body, marker),
    };
    let lines = [
        remark(4, "three lines", FIRST),
        remark(4000, "too many", SECOND),
    ];
    let review = NewReview {
        head: &pr.head_sha,
        post: post("two remarks", REVIEW),
        lines: &lines,
    };
    fixture.forge().review(pr.number, &review).unwrap();
    let standing = all_comments(fixture, pr.number);
    let is_first =
        |one: &&Comment| one.key.surface == Surface::Inline && one.body.starts_with("three lines");
    let first: Vec<_> = standing.iter().filter(is_first).collect();
    assert_eq!(first.len(), 1);
    assert!(matches!(first[0].line, Some(2 | 4)), "{:?}", first[0]);
    assert_eq!(containing(&standing, "too many").len(), 1);
}

/// A comment on a line outside of the diff still appears somewhere.
pub fn a_line_the_diff_does_not_reach_is_not_lost(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/reach");
    give(fixture, &pr, 4000);
    let standing = all_comments(fixture, pr.number);
    assert_eq!(containing(&standing, "too long").len(), 1);
    assert_eq!(containing(&standing, "too short").len(), 1);
    assert_eq!(containing(&standing, REVIEW).len(), 1);
}

/// A reply identifies the thread as well as its first comment does.
pub fn a_thread_is_resolved_by_any_of_its_comments(fixture: &dyn ForgeFixture) {
    fixture.add_person("wim", Permission::Write);
    let pr = open(fixture, "feat/resolve").number;
    let one = fixture.comment_on_line("wim", pr, "src/lib.rs", 1, "one");
    let two = fixture.comment_on_line("wim", pr, "src/lib.rs", 2, "two");
    let three = fixture.comment_on_line("wim", pr, "src/lib.rs", 3, "three");
    let reply = fixture.forge().reply(pr, two, post("done", FIRST)).unwrap();
    fixture.forge().resolve(pr, one).unwrap();
    fixture.forge().resolve(pr, reply.comment).unwrap();
    fixture.forge().resolve(pr, reply.comment).unwrap();
    assert_eq!(
        [one, two, three].map(|c| fixture.is_resolved(pr, c)),
        [true, true, false]
    );
    let remark = fixture.comment("wim", pr, "in general");
    fixture.forge().resolve(pr, remark).unwrap();
}

/// An approval does not cover later pushes, and a comment does not withdraw it.
pub fn an_approval_stands_for_the_head_it_was_given_for(fixture: &dyn ForgeFixture) {
    fixture.add_person("wim", Permission::Write);
    fixture.add_person("ada", Permission::Admin);
    let pr = open(fixture, "feat/approve");
    give(fixture, &pr, 4);
    assert_eq!(approved(fixture, &pr), []);
    fixture.review("wim", pr.number, ReviewState::Approved, "");
    fixture.pass_time();
    let pushed = fixture.push("feat/approve", "late.txt", "late\n");
    fixture.review(
        "wim",
        pr.number,
        ReviewState::Commented,
        "looks good so far",
    );
    fixture.review("ada", pr.number, ReviewState::Approved, "fine");
    assert_ne!(pr.head_sha.as_str(), pushed);
    assert_eq!(
        approved(fixture, &pr),
        [
            ("wim".to_owned(), pr.head_sha.to_string()),
            ("ada".to_owned(), pushed),
        ]
    );
}

/// The newest verdict counts, and a new approval is for the newest head.
pub fn a_later_verdict_of_the_same_person_takes_an_approval_back(fixture: &dyn ForgeFixture) {
    fixture.add_person("wim", Permission::Write);
    let pr = open(fixture, "feat/unapprove");
    fixture.review("wim", pr.number, ReviewState::Approved, "fine");
    fixture.pass_time();
    fixture.review(
        "wim",
        pr.number,
        ReviewState::ChangesRequested,
        "on second thought",
    );
    assert_eq!(approved(fixture, &pr), []);
    fixture.pass_time();
    let pushed = fixture.push("feat/unapprove", "fixed.txt", "fixed\n");
    fixture.review("wim", pr.number, ReviewState::Approved, "now it is");
    assert_eq!(approved(fixture, &pr), [("wim".to_owned(), pushed)]);
}

/// A request for changes remains, whatever is pushed, until its author approves.
pub fn a_request_for_changes_stands_until_its_author_approves(fixture: &dyn ForgeFixture) {
    fixture.add_person("wim", Permission::Write);
    let pr = open(fixture, "feat/objected");
    let objected = || {
        let standing = fixture.forge().opinions(pr.number).unwrap().objections;
        standing
            .into_iter()
            .filter_map(|one| one.author.login)
            .collect::<Vec<_>>()
    };
    assert_eq!(objected(), Vec::<String>::new());
    fixture.review("wim", pr.number, ReviewState::ChangesRequested, "not yet");
    fixture.pass_time();
    fixture.push("feat/objected", "fixed.txt", "fixed\n");
    fixture.review("wim", pr.number, ReviewState::Commented, "thanks");
    assert_eq!(objected(), ["wim"]);
    fixture.pass_time();
    fixture.review("wim", pr.number, ReviewState::Approved, "");
    assert_eq!(objected(), Vec::<String>::new());
}

/// A complete reading reports resolved threads.
pub fn a_resolved_thread_is_told_with_its_comments(fixture: &dyn ForgeFixture) {
    fixture.add_person("wim", Permission::Write);
    let pr = open(fixture, "feat/settled");
    let said = fixture.comment_on_line("wim", pr.number, "src/lib.rs", 2, "rename it");
    let aside = || {
        let polled = fixture.forge().poll(&[pr.number], Since(None)).unwrap();
        assert_eq!(polled.missing, None);
        let mut comments = polled.comments.into_iter();
        comments
            .find(|one| one.key.comment() == said)
            .unwrap()
            .aside
    };
    assert_eq!(aside(), None);
    fixture.forge().resolve(pr.number, said).unwrap();
    assert_eq!(aside(), Some(Aside::Resolved));
}

/// Who approves which commit.
fn approved(fixture: &dyn ForgeFixture, pr: &PullRequest) -> Vec<(String, String)> {
    let standing = fixture
        .forge()
        .opinions(pr.number)
        .unwrap()
        .approvals
        .into_iter();
    standing
        .map(|approval| (approval.author.login.unwrap(), approval.head.to_string()))
        .collect()
}
