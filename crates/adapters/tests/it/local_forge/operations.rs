//! Tests operations of people: comment, reply, review, close, reopen.

use crate::local_forge::world::World;
use drive_adapters::forge::local::{CommentTarget, PersonalComment};
use drive_core::forge::{Permission, PrState, ReviewState, Surface};
use drive_core::ids::{CommentId, PrNumber};
use drive_core::problem::Kind;
use drive_engine::forge::Permissions;
use drive_engine::ports::{Forge, Post};
use std::sync::Arc;

fn kind_of(
    world: &World,
    pr: PrNumber,
    author: Option<&str>,
    body: &str,
    target: CommentTarget<'_>,
) -> Kind {
    let said = PersonalComment {
        author,
        body,
        target,
    };
    world.forge.comment(pr, &said).unwrap_err().kind
}

#[test]
fn the_user_of_the_machine_may_do_everything_and_any_other_name_nothing() {
    let world = World::bare();
    let pr = world.open("feat/people").number;
    assert_eq!(world.forge.permission("Ann").unwrap(), Permission::Admin);
    world.say(pr, "hello", CommentTarget::Conversation);
    assert_eq!(world.forge.permission("WIM").unwrap(), Permission::None);
    let approved = ReviewState::Approved;
    let review = world.forge.personal_review(pr, Some("wim"), approved, "");
    review.unwrap();
    assert_eq!(world.forge.permission("wim").unwrap(), Permission::None);
    assert_eq!(world.forge.permission("drive").unwrap(), Permission::None);
}

#[test]
fn letters_beyond_ascii_make_nobody_a_stranger_on_their_own_machine() {
    let world = World::bare();
    let pr = world.open("feat/letters").number;
    world.git(["config", "user.name", "Émile Zola"]);
    let forge = world.another();
    let said = PersonalComment {
        author: None,
        body: "hello",
        target: CommentTarget::Conversation,
    };
    forge.comment(pr, &said).unwrap();
    forge.set_permission("Øyvind", Permission::Read).unwrap();
    world.git(["config", "user.name", "Ünal"]);
    let forge = world.another();
    let permissions = Permissions::new(Arc::new(forge), world.clock.clone());
    let known = [
        "Émile Zola",
        "émile zola",
        "Ünal",
        "ÜNAL",
        "øyvind",
        "Emile",
    ];
    assert_eq!(
        known.map(|login| permissions.of(login).unwrap()),
        [
            Permission::Admin,
            Permission::Admin,
            Permission::Admin,
            Permission::Admin,
            Permission::Read,
            Permission::None,
        ]
    );
}

#[test]
fn the_local_user_is_the_author_unless_a_name_is_given() {
    let world = World::bare();
    let pr = world.open("feat/author").number;
    let said = PersonalComment {
        author: None,
        body: "mine",
        target: CommentTarget::Conversation,
    };
    world.forge.comment(pr, &said).unwrap();
    let post = Post {
        body: "drive's",
        marker: "<!-- drive:test -->",
    };
    world.forge.post(pr, post).unwrap();
    let authors: Vec<_> = world
        .forge
        .comments(pr)
        .unwrap()
        .into_iter()
        .map(|comment| (comment.author.login.unwrap(), comment.author.is_bot))
        .collect();
    assert_eq!(
        authors,
        [("Ann".to_owned(), false), ("drive".to_owned(), true)]
    );
}

#[test]
fn a_comment_that_says_nothing_too_much_or_as_drive_is_refused() {
    let world = World::bare();
    let pr = world.open("feat/refused").number;
    let long = "x".repeat(70_000);
    let talk = CommentTarget::Conversation;
    assert_eq!(kind_of(&world, pr, None, " \n", talk), Kind::BodyEmpty);
    assert_eq!(kind_of(&world, pr, None, &long, talk), Kind::BodyTooLong);
    let review = world
        .forge
        .personal_review(pr, None, ReviewState::Approved, &long);
    assert_eq!(review.unwrap_err().kind, Kind::BodyTooLong);
    assert_eq!(
        kind_of(&world, pr, Some("Drive"), "hi", talk),
        Kind::NameTaken
    );
    assert_eq!(
        kind_of(&world, pr, Some(" "), "hi", talk),
        Kind::NameUnusable
    );
    assert_eq!(
        kind_of(&world, PrNumber::new(9), None, "hi", talk),
        Kind::PullRequestNotFound
    );
    let nobody = CommentTarget::Reply {
        to: CommentId::new(9),
    };
    assert_eq!(
        kind_of(&world, pr, None, "hi", nobody),
        Kind::CommentNotFound
    );
}

#[test]
fn an_answer_stands_in_the_thread_or_in_the_conversation() {
    let world = World::bare();
    let pr = world.open("feat/answers").number;
    let path = "src/lib.rs";
    let inline = world.say(pr, "why?", CommentTarget::Line { path, line: 2 });
    let talk = world.say(pr, "in general", CommentTarget::Conversation);
    let answers = [inline.id, talk.id].map(|to| world.say(pr, "yes", CommentTarget::Reply { to }));
    let comments = world.forge.comments(pr).unwrap();
    let placed: Vec<_> = answers
        .iter()
        .map(|answer| {
            let found = comments
                .iter()
                .find(|c| c.key.comment() == *answer)
                .unwrap();
            (found.key.surface, found.in_reply_to, found.line)
        })
        .collect();
    assert_eq!(
        placed,
        [
            (Surface::Inline, Some(inline.id), Some(2)),
            (Surface::Conversation, Some(talk.id), None),
        ]
    );
}

#[test]
fn a_number_names_one_comment_whatever_its_surface() {
    let world = World::bare();
    let pr = world.open("feat/numbers").number;
    let path = "src/lib.rs";
    let ids = [
        world.say(pr, "a", CommentTarget::Conversation).id,
        world.say(pr, "b", CommentTarget::Line { path, line: 1 }).id,
        world
            .forge
            .personal_review(pr, None, ReviewState::Approved, "")
            .unwrap()
            .id,
    ];
    assert_eq!(ids, [1, 2, 3].map(CommentId::new));
}

#[test]
fn a_person_who_edits_a_post_of_drives_does_not_make_it_post_again() {
    let world = World::bare();
    let pr = world.open("feat/marker").number;
    let post = Post {
        body: "done",
        marker: "<!-- drive:test -->",
    };
    let first = world.forge.post(pr, post).unwrap();
    world.forge.rewrite(pr, first.comment, "not done").unwrap();
    assert_eq!(world.forge.post(pr, post).unwrap(), first);
    assert_eq!(world.forge.comments(pr).unwrap().len(), 1);
}

#[test]
fn a_closed_pull_request_opens_again_and_a_merged_one_does_not() {
    let world = World::bare();
    let closed = world.open("feat/closed");
    world.forge.close(closed.number).unwrap();
    let review = world
        .forge
        .personal_review(closed.number, None, ReviewState::Approved, "");
    assert_eq!(review.unwrap_err().kind, Kind::PullRequestNotOpen);
    world.forge.reopen(closed.number).unwrap();
    world.forge.reopen(closed.number).unwrap();
    assert_eq!(
        world.forge.fetch(closed.number).unwrap().state,
        PrState::Open
    );

    let merged = world.open("feat/merged");
    world
        .forge
        .merge(merged.number, &merged.head_sha, None)
        .unwrap();
    assert_eq!(
        world.forge.reopen(merged.number).unwrap_err().kind,
        Kind::PullRequestMerged
    );
}

#[test]
fn a_branch_has_one_open_pull_request() {
    let world = World::bare();
    let first = world.open("feat/one");
    world.forge.close(first.number).unwrap();
    let second = world.open_as_is("feat/one");
    assert_eq!(
        world.forge.reopen(first.number).unwrap_err().kind,
        Kind::BranchHasPullRequest
    );
    assert_eq!(second.number.get(), first.number.get() + 1);
}
