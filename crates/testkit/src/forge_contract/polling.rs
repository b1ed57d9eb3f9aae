//! Contract of polling: every comment of people is delivered, and nothing else.

use super::ForgeFixture;
use super::fixture::{all_comments, open, poll};
use drive_core::forge::{CommentRef, Permission, PrState, ReviewState, Surface};
use drive_engine::ports::Since;
use std::collections::BTreeSet;

/// Comments of the conversation, of lines and of review bodies are delivered in the order of their
/// last change, with all their data.
pub fn three_surfaces_are_one_stream(fixture: &dyn ForgeFixture) {
    fixture.add_person("wim", Permission::Write);
    let pr = open(fixture, "feat/three");
    let conversation = fixture.comment("wim", pr.number, "in general");
    fixture.pass_time();
    let inline = fixture.comment_on_line("wim", pr.number, "src/lib.rs", 3, "this line");
    fixture.pass_time();
    let review = fixture.review(
        "wim",
        pr.number,
        ReviewState::ChangesRequested,
        "all in all",
    );

    let seen: Vec<_> = all_comments(fixture, pr.number)
        .into_iter()
        .map(|c| {
            let place = (c.path, c.line, c.in_reply_to, c.review);
            (c.key.comment(), c.pr, c.author.login, c.body, place)
        })
        .collect();
    let wim = || Some("wim".to_owned());
    let text = str::to_owned;
    assert_eq!(
        seen,
        [
            (
                conversation,
                pr.number,
                wim(),
                text("in general"),
                (None, None, None, None)
            ),
            (
                inline,
                pr.number,
                wim(),
                text("this line"),
                (Some(text("src/lib.rs")), Some(3), None, None)
            ),
            (
                review,
                pr.number,
                wim(),
                text("all in all"),
                (None, None, None, Some(ReviewState::ChangesRequested))
            ),
        ]
    );
    assert_eq!(
        [conversation.surface, inline.surface, review.surface],
        [Surface::Conversation, Surface::Inline, Surface::Review]
    );
}

/// The cursor advances: old comments are not delivered forever.
pub fn a_later_poll_brings_nothing_old_beyond_the_overlap(fixture: &dyn ForgeFixture) {
    fixture.add_person("wim", Permission::Write);
    let pr = open(fixture, "feat/cursor");
    fixture.comment("wim", pr.number, "old");
    fixture.pass_time();
    let new = fixture.comment("wim", pr.number, "new");
    let first = poll(fixture, &[pr.number], Since(None));
    assert_eq!(first.comments.len(), 2);

    let again = poll(fixture, &[pr.number], first.next);
    let refs: Vec<CommentRef> = again.comments.iter().map(|c| c.key.comment()).collect();
    assert!(refs.iter().all(|comment| *comment == new), "{refs:?}");

    fixture.pass_time();
    let late = fixture.comment("wim", pr.number, "late");
    let third = poll(fixture, &[pr.number], again.next);
    assert!(third.comments.iter().any(|c| c.key.comment() == late));
    assert!(third.next.0 > first.next.0);
}

/// An edited comment is delivered as a new version of the same comment, wherever it was written.
pub fn an_edit_comes_again_as_a_new_version(fixture: &dyn ForgeFixture) {
    fixture.add_person("wim", Permission::Write);
    let pr = open(fixture, "feat/edit");
    let written = [
        fixture.comment("wim", pr.number, "first"),
        fixture.comment_on_line("wim", pr.number, "src/lib.rs", 1, "first"),
        fixture.review("wim", pr.number, ReviewState::Commented, "first"),
    ];
    let before = poll(fixture, &[pr.number], Since(None));
    fixture.pass_time();
    for comment in written {
        fixture.edit(pr.number, comment, "second");
    }
    let after = poll(fixture, &[pr.number], before.next);
    for comment in written {
        let version = |polled: &[drive_core::forge::Comment]| {
            let found = polled.iter().find(|c| c.key.comment() == comment).unwrap();
            (found.key.updated_at, found.body.clone())
        };
        let (old, new) = (version(&before.comments), version(&after.comments));
        assert!(new.0 > old.0, "{comment:?}");
        assert_eq!((old.1.as_str(), new.1.as_str()), ("first", "second"));
    }
}

/// A pull request that is not watched is not delivered.
pub fn only_watched_pull_requests_are_delivered(fixture: &dyn ForgeFixture) {
    fixture.add_person("wim", Permission::Write);
    let watched = open(fixture, "feat/watched");
    let other = open(fixture, "feat/other");
    let expected = fixture.comment("wim", watched.number, "for you");
    fixture.comment("wim", other.number, "not for you");
    fixture.comment_on_line("wim", other.number, "src/lib.rs", 1, "not for you");
    fixture.review("wim", other.number, ReviewState::Approved, "not for you");
    let polled = poll(fixture, &[watched.number], Since(None));
    let refs: Vec<CommentRef> = polled.comments.iter().map(|c| c.key.comment()).collect();
    assert_eq!(refs, [expected]);
    assert!(
        polled
            .pull_requests
            .iter()
            .all(|pr| pr.number == watched.number)
    );
}

/// Closing and merging by others is detected without one request per pull request.
pub fn a_poll_tells_which_pull_requests_changed(fixture: &dyn ForgeFixture) {
    let stays = open(fixture, "feat/stays");
    let goes = open(fixture, "feat/goes");
    let watched = [stays.number, goes.number];
    let start = poll(fixture, &watched, Since(None));
    fixture.pass_time();
    fixture.forge().close(goes.number).unwrap();
    let polled = poll(fixture, &watched, start.next);
    let seen: Vec<_> = polled
        .pull_requests
        .iter()
        .filter(|pr| pr.number == goes.number)
        .map(|pr| (pr.state, pr.head_sha.clone()))
        .collect();
    assert_eq!(seen, [(PrState::Closed, goes.head_sha)]);
}

/// More comments than fit on any page.
pub fn many_comments_all_arrive(fixture: &dyn ForgeFixture) {
    fixture.add_person("wim", Permission::Write);
    let pr = open(fixture, "feat/many");
    let expected: BTreeSet<CommentRef> = (0..250)
        .map(|i| fixture.comment("wim", pr.number, &format!("remark {i}")))
        .collect();
    let mut seen = BTreeSet::new();
    let mut since = Since(None);
    for _ in 0..4 {
        let polled = poll(fixture, &[pr.number], since);
        seen.extend(polled.comments.iter().map(|c| c.key.comment()));
        since = polled.next;
    }
    assert_eq!(seen, expected);
}
