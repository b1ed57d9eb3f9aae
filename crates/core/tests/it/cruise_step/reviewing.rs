//! Tests the reviewers, and an invalid plan.

use crate::common::{agent_ended, comment, cruise::terms, identity, integrated};
use crate::cruise_step::scene::Scene;
use drive_core::agent::{Failure, Role};
use drive_core::ids::{CommitSha, EffectKey};
use drive_core::process::TimeBound;
use drive_core::run::{Ask, Effect, EffectResult, Event, PollResult, Timer, waits_for_person};

#[test]
fn a_reviewer_that_crashes_or_hangs_counts_as_complete_with_a_warning() {
    let mut scene = Scene::begin(terms());
    scene.agent(
        Role::Reviewer,
        agent_ended(Some(Failure::NoVerdict {
            exit_code: None,
            signal: Some(9),
        })),
    );
    scene.agent(
        Role::Reviewer,
        agent_ended(Some(Failure::TimedOut {
            bound: TimeBound::Idle,
        })),
    );
    scene.settle();
    let reviews = scene.jobs.iter().filter(|job| job.role == Role::Reviewer);
    assert_eq!(reviews.count(), 5);
    let complete =
        |domain: &str, why: &str| format!("{domain} review inconclusive: agent `gemini-cli` {why}");
    assert_eq!(
        scene.run.warnings,
        [
            complete("Security", "was killed by signal 9: it said so"),
            complete(
                "TechnicalFeasibility",
                "produced no output for too long (idle_timeout): it said so"
            ),
        ]
    );
}

#[test]
fn an_invalid_plan_becomes_a_fixer_round_that_quotes_the_error() {
    let mut scene = Scene::begin(terms());
    scene.answer("readFile", EffectResult::FileRead { text: None });
    scene.settle();
    let job = scene
        .jobs
        .iter()
        .find(|job| job.role == Role::Fixer)
        .unwrap();
    assert!(job.prompt.contains("no `plan.md` on the branch"));
    assert_eq!(scene.jobs[2].role, Role::Fixer, "before any review");
    assert_eq!(scene.cruise().rounds, 1);
}

const EMPTY: &str = "The plan.\n\n```json tasks\n[]\n```\n";
const NAMELESS: &str = "The plan.\n\n```json tasks\n[{\"id\": \"a\"}]\n```\n";

fn plan(text: &str) -> EffectResult {
    EffectResult::FileRead {
        text: Some(text.to_owned()),
    }
}

fn fixers(scene: &Scene) -> usize {
    let fixers = scene.jobs.iter().filter(|job| job.role == Role::Fixer);
    fixers.count()
}

/// A plan that two fixers did not change.
fn stuck() -> Scene {
    let mut scene = Scene::begin(terms());
    // The same error on another line is no progress.
    let moved = format!("More words.\n\n{EMPTY}");
    for text in [EMPTY, &moved, EMPTY] {
        scene.answer("readFile", plan(text));
    }
    scene.settle();
    scene
}

#[test]
fn a_plan_that_stays_unsound_waits_for_a_person_after_two_rounds_without_progress() {
    let scene = stuck();
    assert_eq!((fixers(&scene), scene.cruise().rounds), (2, 2));
    let told = scene.told();
    let (body, key) = told.last().unwrap();
    assert_eq!(key.as_deref(), Some("said/unsound/2"));
    let id = &scene.run.id;
    for part in [
        "The plan has the same errors after 2 fixer rounds, so no fixer tries again:",
        "correct `plan.md` on branch `drive/fix-the-login`",
        &format!("`drive cruise fix {id}` starts one more fixer"),
        &format!("`drive cruise cleanup {id}` ends the cruise"),
    ] {
        assert!(body.contains(part), "{body}");
    }
    let waits = waits_for_person(&scene.run).unwrap();
    assert!(
        waits.contains(&format!("drive cruise fix {id} --comment TEXT")),
        "{waits}"
    );
    assert!(!waits.contains("runs extend"), "{waits}");
}

#[test]
fn a_fixer_that_gets_further_with_an_unsound_plan_is_followed_by_another() {
    let mut scene = Scene::begin(terms());
    for text in [EMPTY, EMPTY, NAMELESS, NAMELESS] {
        scene.answer("readFile", plan(text));
    }
    scene.settle();
    assert_eq!(fixers(&scene), 4);
    assert_eq!(scene.cruise().limit(), None);
}

#[test]
fn a_comment_a_commit_or_a_request_lets_an_unsound_plan_go_on() {
    let mut scene = stuck();
    scene.sees(PollResult {
        comments: vec![comment(5, "leave out the second task")],
        ..PollResult::default()
    });
    assert_eq!((fixers(&scene), scene.cruise().limit()), (3, None));
    let mut scene = stuck();
    scene.ask(Ask::Poll);
    assert_eq!((fixers(&scene), scene.cruise().limit()), (3, None));
    let mut scene = stuck();
    scene.answer("integrate", integrated('f'));
    scene.sees(PollResult {
        head: Some(CommitSha::new("f".repeat(40))),
        ..PollResult::default()
    });
    assert_eq!((fixers(&scene), scene.cruise().limit()), (2, None));
    let reviews = scene.jobs.iter().filter(|job| job.role == Role::Reviewer);
    assert_eq!(reviews.count(), 5, "what a person corrected is reviewed");
}

#[test]
fn an_unsound_plan_that_a_comment_did_not_help_waits_again() {
    let mut scene = stuck();
    scene.answer("readFile", plan(EMPTY));
    scene.sees(PollResult {
        comments: vec![comment(5, "leave out the second task")],
        ..PollResult::default()
    });
    assert_eq!(fixers(&scene), 3);
    assert!(scene.cruise().limit().is_some());
    let told = scene.told();
    assert_eq!(told.last().unwrap().1.as_deref(), Some("said/unsound/3"));
}

#[test]
fn a_persons_complete_review_goes_to_a_fixer_before_the_reviewers_end() {
    let mut scene = Scene::begin(terms());
    let reviews = |effect: &Effect| matches!(effect, Effect::RunAgent { job, .. } if job.role == Role::Reviewer);
    scene.settle_until(reviews);
    let keys: Vec<EffectKey> = scene
        .run
        .pending
        .iter()
        .filter(|(_, one)| reviews(one))
        .map(|(key, _)| key.clone())
        .collect();
    assert!(!keys.is_empty());
    for (key, pid) in keys.iter().zip(100..) {
        scene.tell(Event::ProcessStarted {
            key: key.clone(),
            identity: identity(pid),
        });
    }
    let looks = |effect: &Effect| effect.name() == "poll";
    scene.now = scene.run.timers[&Timer::Poll].max(scene.now);
    scene.tell(Event::Woken { timer: Timer::Poll });
    let poll = scene
        .run
        .pending
        .iter()
        .find(|(_, one)| looks(one))
        .unwrap()
        .0
        .clone();
    scene.looks.push_back(PollResult {
        comments: vec![
            comment(5, "check the name"),
            comment(6, "[REVIEW COMPLETE]"),
        ],
        ..PollResult::default()
    });
    scene.perform_one(&poll);
    let ended = scene
        .run
        .pending
        .values()
        .filter(|one| matches!(one, Effect::EndProcess { .. }));
    assert!(ended.count() > 0, "{:?}", scene.run.pending);
    let killed = Failure::NoVerdict {
        exit_code: None,
        signal: Some(9),
    };
    for key in keys {
        let result = agent_ended(Some(killed.clone()));
        scene.tell(Event::EffectEnded { key, result });
    }
    scene.settle();
    assert_eq!(scene.run.warnings, Vec::<String>::new());
    let roles: Vec<Role> = scene.jobs.iter().map(|job| job.role).collect();
    let fixer = roles.iter().position(|role| *role == Role::Fixer).unwrap();
    assert!(!roles[..fixer].contains(&Role::Reviewer), "{roles:?}");
    assert_eq!(roles[fixer + 1..], [Role::Reviewer; 5]);
    let mut reviews = scene.cruise().record.reviews.iter();
    assert!(reviews.all(|one| one.head == scene.run.work.head_sha));
}

#[test]
fn a_complete_review_without_comments_ends_no_reviewer() {
    let mut scene = Scene::begin(terms());
    let reviews = |effect: &Effect| matches!(effect, Effect::RunAgent { job, .. } if job.role == Role::Reviewer);
    scene.settle_until(reviews);
    scene.now = scene.run.timers[&Timer::Poll].max(scene.now);
    scene.tell(Event::Woken { timer: Timer::Poll });
    scene.looks.push_back(PollResult {
        comments: vec![comment(6, "[REVIEW COMPLETE]")],
        ..PollResult::default()
    });
    scene.settle();
    assert_eq!(fixers(&scene), 0);
    assert_eq!(scene.cruise().record.reviews.len(), 5);
}
