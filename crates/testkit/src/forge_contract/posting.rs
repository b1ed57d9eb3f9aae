//! Contract of posting: each post of drive appears once, in the right thread.

use super::ForgeFixture;
use super::fixture::{all_comments, containing, open, post};
use drive_core::forge::text::BODY_CHARS;
use drive_core::forge::{Comment, CommentRef, Permission, ReviewState, Surface};
use drive_core::problem::Kind;
use drive_engine::ports::Reaction;

const MARKER: &str = "<!-- drive:test:1 -->";
const OTHER: &str = "<!-- drive:test:2 -->";

/// A post that is repeated after a restart is found, not made again.
pub fn the_same_marker_posts_once(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/once").number;
    let first = fixture.forge().post(pr, post("hello", MARKER)).unwrap();
    let second = fixture.forge().post(pr, post("hello", MARKER)).unwrap();
    assert_eq!(first, second);
    let standing = all_comments(fixture, pr);
    assert_eq!(containing(&standing, MARKER), [first.comment]);
    assert!(standing[0].body.starts_with("hello"));
}

/// The forge accepted it, and the network lost the answer.
pub fn a_lost_answer_does_not_post_twice(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/lost").number;
    fixture.lose_next_answer();
    let posted = fixture.forge().post(pr, post("hello", MARKER)).unwrap();
    assert_eq!(
        containing(&all_comments(fixture, pr), MARKER),
        [posted.comment]
    );
}

/// Posts with equal texts are different posts.
pub fn two_markers_are_two_posts_even_with_the_same_text(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/two").number;
    let first = fixture.forge().post(pr, post("hello", MARKER)).unwrap();
    let second = fixture.forge().post(pr, post("hello", OTHER)).unwrap();
    assert_ne!(first.comment, second.comment);
    assert_eq!(containing(&all_comments(fixture, pr), "hello").len(), 2);
}

/// A reply to an inline comment belongs to its thread.
pub fn a_reply_stands_in_the_thread_of_the_first_comment(fixture: &dyn ForgeFixture) {
    fixture.add_person("wim", Permission::Write);
    let pr = open(fixture, "feat/reply").number;
    let remark = fixture.comment_on_line("wim", pr, "src/lib.rs", 2, "why?");
    let posted = fixture
        .forge()
        .reply(pr, remark, post("because", MARKER))
        .unwrap();
    let reply = find(&all_comments(fixture, pr), posted.comment);
    assert_eq!(
        (reply.key.surface, reply.in_reply_to, reply.path.as_deref()),
        (Surface::Inline, Some(remark.id), Some("src/lib.rs"))
    );
}

/// A thread has one first comment, however deep the replies.
pub fn a_reply_to_a_reply_stands_in_the_same_thread(fixture: &dyn ForgeFixture) {
    fixture.add_person("wim", Permission::Write);
    let pr = open(fixture, "feat/deep").number;
    let remark = fixture.comment_on_line("wim", pr, "src/lib.rs", 2, "why?");
    let first = fixture
        .forge()
        .reply(pr, remark, post("because", MARKER))
        .unwrap();
    let second = fixture
        .forge()
        .reply(pr, first.comment, post("and also", OTHER))
        .unwrap();
    let reply = find(&all_comments(fixture, pr), second.comment);
    assert_eq!(reply.in_reply_to, Some(remark.id));
}

/// Replies are posts, so each appears once.
pub fn a_reply_with_the_same_marker_stands_once(fixture: &dyn ForgeFixture) {
    fixture.add_person("wim", Permission::Write);
    let pr = open(fixture, "feat/replyonce").number;
    let remark = fixture.comment_on_line("wim", pr, "src/lib.rs", 2, "why?");
    fixture.lose_next_answer();
    let say = || {
        fixture
            .forge()
            .reply(pr, remark, post("because", MARKER))
            .unwrap()
    };
    let (first, second) = (say(), say());
    assert_eq!(first, second);
    assert_eq!(
        containing(&all_comments(fixture, pr), MARKER),
        [first.comment]
    );
}

/// Comments in the conversation and review bodies have no threads.
pub fn a_reply_outside_a_thread_stands_in_the_conversation(fixture: &dyn ForgeFixture) {
    fixture.add_person("wim", Permission::Write);
    let pr = open(fixture, "feat/outside").number;
    let remark = fixture.comment("wim", pr, "in general?");
    let review = fixture.review("wim", pr, ReviewState::Commented, "all in all?");
    let first = fixture
        .forge()
        .reply(pr, remark, post("yes", MARKER))
        .unwrap();
    let second = fixture
        .forge()
        .reply(pr, review, post("yes", OTHER))
        .unwrap();
    assert_eq!(
        [first.comment.surface, second.comment.surface],
        [Surface::Conversation, Surface::Conversation]
    );
    assert_ne!(first.comment, second.comment);
}

/// A reply that can never be posted must not be retried forever, so its problem has its own kind.
pub fn a_reply_to_a_deleted_comment_on_a_line_says_that_it_is_gone(fixture: &dyn ForgeFixture) {
    fixture.add_person("wim", Permission::Write);
    let pr = open(fixture, "feat/gone").number;
    let remark = fixture.comment_on_line("wim", pr, "src/lib.rs", 2, "why?");
    let thread = fixture.comment_on_line("wim", pr, "src/lib.rs", 3, "and why?");
    let answer = fixture
        .forge()
        .reply(pr, thread, post("because", OTHER))
        .unwrap();
    let kinds = [(remark, remark), (thread, answer.comment)].map(|(deleted, to)| {
        fixture.delete(pr, deleted);
        let refused = fixture.forge().reply(pr, to, post("because", MARKER));
        refused.unwrap_err().kind
    });
    assert_eq!(kinds, [Kind::CommentNotFound, Kind::CommentNotFound]);
}

/// Drive's own comment is edited in place. If it was deleted, the problem says so.
pub fn an_edit_replaces_the_text_and_keeps_the_marker(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/own").number;
    let posted = fixture.forge().post(pr, post("working", MARKER)).unwrap();
    fixture.pass_time();
    fixture
        .forge()
        .edit(pr, posted.comment, post("done", MARKER))
        .unwrap();
    let standing = all_comments(fixture, pr);
    assert_eq!(containing(&standing, MARKER), [posted.comment]);
    assert!(standing[0].body.starts_with("done"), "{}", standing[0].body);
    fixture.delete(pr, posted.comment);
    let gone = fixture
        .forge()
        .edit(pr, posted.comment, post("again", MARKER));
    assert_eq!(gone.unwrap_err().kind, Kind::CommentNotFound);
}

/// A repeated reaction has no further effect.
pub fn a_reaction_given_twice_stands_once(fixture: &dyn ForgeFixture) {
    fixture.add_person("wim", Permission::Write);
    let pr = open(fixture, "feat/eyes").number;
    let comments = [
        fixture.comment("wim", pr, "in general"),
        fixture.comment_on_line("wim", pr, "src/lib.rs", 2, "this line"),
        fixture.review("wim", pr, ReviewState::Commented, "all in all"),
    ];
    for comment in comments {
        fixture.forge().react(pr, comment, Reaction::Eyes).unwrap();
        fixture.forge().react(pr, comment, Reaction::Eyes).unwrap();
        assert_eq!(fixture.reactions(pr, comment), [Reaction::Eyes]);
    }
}

/// A forge limits the length of a comment.
pub fn a_body_too_long_is_cut_and_keeps_its_marker(fixture: &dyn ForgeFixture) {
    let pr = open(fixture, "feat/long").number;
    let text = "long ".repeat(20_000);
    let posted = fixture.forge().post(pr, post(&text, MARKER)).unwrap();
    let standing = find(&all_comments(fixture, pr), posted.comment);
    assert!(standing.body.chars().count() <= BODY_CHARS);
    assert!(standing.body.ends_with(MARKER));
}

fn find(comments: &[Comment], wanted: CommentRef) -> Comment {
    comments
        .iter()
        .find(|c| c.key.comment() == wanted)
        .unwrap()
        .clone()
}
