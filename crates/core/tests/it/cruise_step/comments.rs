//! Tests how comments are handled.

use crate::common::{agent_ended, agent_said, at, comment, cruise::terms};
use crate::cruise_step::scene::{OBJECTS, Scene, failed, head, short};
use drive_core::agent::{Failure, Role};
use drive_core::forge::trust::Reason;
use drive_core::forge::{Comment, CommentVersion, LineOrigin, Surface};
use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{
    Ask, Effect, EffectResult, ForgeAct, IgnoredComment, Life, PollResult, Timer, reply_key,
};

pub(super) fn seen(comments: &[Comment]) -> PollResult {
    PollResult {
        comments: comments.to_vec(),
        ..PollResult::default()
    }
}

fn edited(mut comment: Comment, second: i64, body: &str) -> Comment {
    comment.key.updated_at = at(second);
    comment.body = body.to_owned();
    comment
}

fn lives(scene: &Scene) -> Vec<(&str, &'static str)> {
    let entries = scene.cruise().ledger.entries();
    let mut lives: Vec<_> = entries
        .map(|entry| {
            let life = match entry.life {
                Life::Seen => "seen",
                Life::Replied { .. } => "replied",
                Life::Superseded => "superseded",
                _ => "other",
            };
            (entry.body.as_str(), life)
        })
        .collect();
    lives.sort_unstable();
    lives
}

/// The key of the reply to this comment.
fn reply_name(id: u64, body: &str) -> String {
    reply_key(&CommentVersion::new(comment(id, body).key.comment(), body))
}

#[test]
fn a_comment_is_seen_fixed_pushed_and_answered_with_the_commit() {
    let mut scene = Scene::watching(terms());
    scene.agent(
        Role::Fixer,
        agent_said(r#"{"comments": [{"id": "inline-5", "action": "fixed", "note": "Done so."}]}"#),
    );
    scene.sees(seen(&[comment(5, "check the name")]));
    assert_eq!(
        scene.told(),
        [(
            format!("Fixed in {}. Done so.", short(2)),
            Some(reply_name(5, "check the name"))
        )]
    );
    let wanted = [
        "react",
        "runAgent",
        "commitWork",
        "push",
        "reply",
        "resolveThread",
    ];
    let names = scene.names();
    let found: Vec<&str> = names
        .into_iter()
        .filter(|name| wanted.contains(name))
        .collect();
    assert_eq!(
        found,
        [
            "react",
            "runAgent",
            "commitWork",
            "push",
            "reply",
            "resolveThread"
        ]
    );
    assert_eq!(lives(&scene), [("check the name", "replied")]);
}

#[test]
fn a_comment_that_the_fixer_does_not_name_is_answered_without_a_claim() {
    let mut scene = Scene::watching(terms());
    scene.agent(
        Role::Fixer,
        agent_said(r#"{"comments": [{"id": "inline-5", "action": "fixed", "note": "Done so."}]}"#),
    );
    let on_line = |id, body: &str| comment(id, body);
    scene.sees(seen(&[
        on_line(5, "check the name"),
        on_line(6, "and the age"),
    ]));
    assert_eq!(
        scene.bodies(),
        [
            format!("Fixed in {}. Done so.", short(2)),
            format!(
                "The fixer did not answer this comment. Its changes of this round are in {}.",
                short(2)
            ),
        ]
    );
    let resolved = comment(5, "").key.comment();
    assert_eq!(
        scene.acts("resolveThread"),
        [&ForgeAct::ResolveThread { comment: resolved }]
    );
    assert_eq!(
        messages(&scene),
        ["Fix round 1: 2 comments\n\nComment: inline-5 by ann\nGiven: inline-6 by ann"]
    );
}

#[test]
fn a_commit_does_not_name_comments_that_were_declined() {
    let mut scene = Scene::watching(terms());
    scene.agent(
        Role::Fixer,
        agent_said(
            r#"{"comments": [{"id": "inline-5", "action": "fixed"}, {"id": "inline-6", "action": "declined"}]}"#,
        ),
    );
    scene.sees(seen(&[comment(5, "one"), comment(6, "two")]));
    assert_eq!(
        messages(&scene),
        ["Fix round 1: 2 comments\n\nComment: inline-5 by ann"]
    );
}

#[test]
fn a_fixer_that_changes_nothing_and_says_nothing_is_told_as_that() {
    let mut scene = Scene::watching(terms());
    scene.agent(Role::Fixer, agent_said("I am done, I think."));
    let commits = scene.run.work.commits.clone();
    scene.answer(
        "commitWork",
        EffectResult::WorkCommitted {
            head_sha: CommitSha::new(head(1)),
            commits,
            warnings: Vec::new(),
            changed: Vec::new(),
        },
    );
    scene.sees(seen(&[comment(5, "check the name")]));
    assert_eq!(
        scene.bodies(),
        ["The fixer changed nothing and did not say why."]
    );
}

fn messages(scene: &Scene) -> Vec<&str> {
    let messages = scene.performed.iter().filter_map(|effect| match effect {
        Effect::CommitWork { message, .. } => Some(message.as_str()),
        _ => None,
    });
    messages.collect()
}

#[test]
fn the_marker_is_detected_and_is_not_itself_actionable() {
    let mut scene = Scene::watching(terms());
    scene.sees(seen(&[comment(5, "[REVIEW COMPLETE]"), comment(6, "  \n")]));
    assert_eq!((lives(&scene), scene.jobs.len()), (vec![], 0));
    scene.sees(seen(&[comment(7, "check it\n[REVIEW COMPLETE]")]));
    assert_eq!(scene.jobs.len(), 1);
}

#[test]
fn a_comment_edited_after_it_was_answered_comes_again() {
    let mut scene = Scene::watching(terms());
    scene.sees(seen(&[comment(5, "one")]));
    scene.sees(seen(&[edited(comment(5, ""), 60, "two")]));
    assert_eq!(lives(&scene), [("one", "replied"), ("two", "replied")]);
    let given: Vec<&str> = scene
        .jobs
        .iter()
        .map(|job| job.input.comments[0].body.as_str())
        .collect();
    assert_eq!(given, ["one", "two"]);
}

#[test]
fn a_comment_edited_while_its_fixer_failed_is_given_once_in_its_new_words() {
    let mut scene = Scene::watching(terms());
    scene.agent(Role::Fixer, agent_ended(Some(Failure::Reported)));
    scene.sees(seen(&[comment(5, "one")]));
    scene.sees(seen(&[edited(comment(5, ""), 60, "two")]));
    scene.wake(Timer::Hold);
    assert_eq!(lives(&scene), [("one", "superseded"), ("two", "replied")]);
    let given: Vec<Vec<&str>> = scene
        .jobs
        .iter()
        .map(|job| {
            job.input
                .comments
                .iter()
                .map(|one| one.body.as_str())
                .collect()
        })
        .collect();
    assert_eq!(given, [["one"], ["two"]]);
}

#[test]
fn an_answer_in_the_conversation_says_what_it_answers_and_calls_nobody() {
    let mut scene = Scene::watching(terms());
    let talk = |id, surface, body: &str| {
        let mut comment = comment(id, body);
        comment.key.surface = surface;
        comment
    };
    let mut linked = talk(
        6,
        Surface::Review,
        "**Two**, @bob <!-- x -->\nfor a@b.example",
    );
    linked.url = Some("https://example.org/pull/7#6".into());
    scene.sees(seen(&[
        talk(5, Surface::Conversation, "\nOne\n> and more"),
        linked,
    ]));
    assert_eq!(
        scene.bodies(),
        [
            format!("> ann: One\n\nFixed in {}.", short(2)),
            format!(
                "> [ann](https://example.org/pull/7#6): Two, bob !-- x --\n\nFixed in {}.",
                short(2)
            ),
        ]
    );
}

#[test]
fn a_comment_that_could_be_judged_at_last_is_not_listed_as_ignored() {
    let mut scene = Scene::watching(terms());
    let ignored = |id, reason| IgnoredComment {
        comment: comment(id, "").key.comment(),
        author: Some("ann".into()),
        reason,
    };
    let unknown = || {
        vec![
            ignored(5, Reason::PermissionUnknown),
            ignored(6, Reason::PermissionUnknown),
            ignored(7, Reason::PermissionUnknown),
        ]
    };
    for _ in 0..2 {
        scene.sees(PollResult {
            ignored: unknown(),
            ..PollResult::default()
        });
    }
    assert_eq!(scene.cruise().record.ignored, unknown());
    scene.sees(PollResult {
        ignored: vec![ignored(6, Reason::NoWritePermission)],
        ..seen(&[comment(5, "check the name")])
    });
    assert_eq!(
        scene.cruise().record.ignored,
        [
            ignored(7, Reason::PermissionUnknown),
            ignored(6, Reason::NoWritePermission),
        ]
    );
}

#[test]
fn a_comment_deleted_while_its_fixer_worked_keeps_nobody_else_waiting() {
    let mut scene = Scene::watching(terms());
    let problem = Problem::new(Kind::CommentNotFound, "comment `5` is not there");
    scene.answer("reply", EffectResult::Failed { problem });
    scene.sees(seen(&[comment(5, "one"), comment(6, "two")]));
    let lives: Vec<Life> = scene
        .cruise()
        .ledger
        .entries()
        .map(|entry| entry.life.clone())
        .collect();
    let why = "comment `5` is not there".to_owned();
    assert_eq!(lives[0], Life::Unanswerable { why });
    assert!(matches!(lives[1], Life::Replied { .. }), "{lives:?}");
    assert_eq!(scene.run.timers.get(&Timer::Retry), None);
    scene.sees(seen(&[comment(7, "three")]));
    assert_eq!((scene.jobs.len(), scene.acts("reply").len()), (2, 3));
}

#[test]
fn a_forge_that_knows_nothing_for_a_while_costs_no_reply() {
    let mut scene = Scene::watching(terms());
    let problem = Problem::new(Kind::ForgeNotFound, "the forge knows no such thing");
    scene.answer("reply", EffectResult::Failed { problem });
    scene.sees(seen(&[comment(5, "one")]));
    assert_eq!(lives(&scene), [("one", "other")]);
    scene.wake(Timer::Retry);
    assert_eq!(lives(&scene), [("one", "replied")]);
}

#[test]
fn feedback_on_an_older_commit_is_handed_over_with_that_fact() {
    let mut scene = Scene::watching(terms());
    let on = |id, commit: String| Comment {
        commit: Some(CommitSha::new(commit)),
        ..comment(id, "x")
    };
    scene.sees(seen(&[on(5, head(1)), on(6, head(9))]));
    let given: Vec<(&str, bool)> = scene.jobs[0]
        .input
        .comments
        .iter()
        .map(|one| (one.id.as_str(), one.is_older))
        .collect();
    assert_eq!(given, [("inline-5", false), ("inline-6", true)]);
}

#[test]
fn a_comment_whose_line_is_gone_is_handed_over_with_its_lines_and_hunk() {
    let mut scene = Scene::watching(terms());
    let origin = LineOrigin::new(Some(2), 3, Some("@@ -1 +1,3 @@\n one\n+two\n+three"));
    let outdated = Comment {
        line: None,
        origin: Some(origin.clone()),
        ..comment(5, "x")
    };
    let current = Comment {
        commit: Some(CommitSha::new(head(1))),
        origin: Some(origin.clone()),
        ..comment(6, "y")
    };
    let one_line = Comment {
        commit: Some(CommitSha::new(head(1))),
        origin: Some(LineOrigin::new(None, 3, None)),
        ..comment(7, "z")
    };
    scene.sees(seen(&[outdated, current, one_line]));
    let job = &scene.jobs[0];
    let given: Vec<Option<LineOrigin>> = job
        .input
        .comments
        .iter()
        .map(|one| one.origin.clone())
        .collect();
    // A range is always given completely, even if it still exists.
    assert_eq!(given, [Some(origin.clone()), Some(origin), None]);
    assert!(job.prompt.contains("lines 2 to 3"), "{}", job.prompt);
    assert!(job.prompt.contains("+three"), "{}", job.prompt);
}

#[test]
fn a_comment_from_the_command_line_is_posted_once_and_answered() {
    let mut scene = Scene::watching(terms());
    let ask = || Ask::Comment {
        id: "c1".into(),
        author: "ann".into(),
        text: "mention the tests".into(),
    };
    scene.answer("postComment", failed());
    scene.ask(ask());
    scene.ask(ask());
    scene.wake(Timer::Poll);
    scene.ask(ask());
    assert_eq!(
        scene.told(),
        [
            (
                "From the command line, by ann:\n\nmention the tests".to_owned(),
                Some("injected/c1".to_owned())
            ),
            (
                "From the command line, by ann:\n\nmention the tests".to_owned(),
                Some("injected/c1".to_owned())
            ),
            (
                format!("> ann: mention the tests\n\nFixed in {}.", short(2)),
                scene.told()[2].1.clone()
            ),
        ]
    );
    assert_eq!(lives(&scene), [("mention the tests", "replied")]);
}

#[test]
fn a_reply_that_failed_is_tried_again_under_the_same_name() {
    let mut scene = Scene::watching(terms());
    scene.answer("reply", failed());
    scene.answer("reply", failed());
    scene.sees(seen(&[comment(5, "check the name")]));
    assert_eq!(scene.until(Timer::Retry), 5);
    scene.wake(Timer::Retry);
    assert_eq!(scene.until(Timer::Retry), 10);
    scene.wake(Timer::Retry);
    let proof = Some(reply_name(5, "check the name"));
    let told = (format!("Fixed in {}.", short(2)), proof);
    assert_eq!(scene.told(), [told.clone(), told.clone(), told]);
}

#[test]
fn a_review_that_failed_to_be_posted_is_tried_again_under_the_name_of_its_first_try() {
    let mut scene = Scene::begin(terms());
    scene.agent(Role::Reviewer, agent_said(OBJECTS));
    let other = OBJECTS.replace("the name is not checked", "Something else");
    scene.agent(Role::Reviewer, agent_said(&other));
    scene.answer("postReview", failed());
    scene.settle();
    scene.wake(Timer::Retry);
    let reviews: Vec<Option<String>> = scene
        .performed
        .iter()
        .filter_map(|effect| match effect {
            Effect::OnForge {
                act,
                idempotency_key,
                ..
            } if act.name() == "postReview" => {
                Some(idempotency_key.as_ref().map(ToString::to_string))
            }
            _ => None,
        })
        .collect();
    assert_eq!(reviews[0], reviews[1]);
    assert_ne!(reviews[1], reviews[2]);
    assert!(
        reviews[0]
            .as_ref()
            .is_some_and(|name| name.starts_with("review/Security/1/")),
        "{reviews:?}"
    );
}

#[test]
fn a_suggestion_is_applied_as_it_stands_without_an_agent() {
    let mut scene = Scene::watching(terms());
    scene.answer(
        "readFile",
        EffectResult::FileRead {
            text: Some("a\nb\nc\n".into()),
        },
    );
    let mut suggests = comment(5, "Shorter:\n```suggestion\nB\n```");
    suggests.commit = Some(CommitSha::new(head(1)));
    scene.sees(seen(std::slice::from_ref(&suggests)));
    assert_eq!(scene.jobs.len(), 0);
    let written = scene.performed.iter().find_map(|effect| match effect {
        Effect::WriteFile { path, text, .. } => Some((path.as_str(), text.as_deref()?)),
        _ => None,
    });
    assert_eq!(written, Some(("src/login.rs", "a\nB\nc\n")));
    let said = format!("Fixed in {}. Applied the suggestion unchanged.", short(2));
    assert_eq!(scene.bodies(), [said]);
}

#[test]
fn a_suggestion_that_does_not_fit_its_file_goes_to_a_fixer() {
    let mut scene = Scene::watching(terms());
    scene.answer("readFile", EffectResult::FileRead { text: None });
    let mut suggests = comment(5, "```suggestion\nB\n```");
    suggests.commit = Some(CommitSha::new(head(1)));
    scene.sees(seen(&[suggests]));
    assert_eq!(scene.jobs.len(), 1);
    assert_eq!(scene.bodies(), [format!("Fixed in {}.", short(2))]);
}
