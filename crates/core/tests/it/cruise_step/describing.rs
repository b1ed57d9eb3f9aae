//! Tests the description of the pull request, and the closing posts.

use crate::common::{comment, cruise::terms, problem};
use crate::cruise_step::scene::{Scene, failed, head, short};
use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Approved, EffectResult, ForgeAct, OutcomeStatus, PollResult, Timer};

const BROKEN: &str = "a plan without tasks";

fn says(id: u64, body: &str) -> PollResult {
    PollResult {
        comments: vec![comment(id, body)],
        ..PollResult::default()
    }
}

/// A round after which the description must change.
fn with_a_new_description(tries: usize, why: &EffectResult) -> Scene {
    let mut scene = Scene::watching(terms());
    for _ in 0..tries {
        scene.answer("updateBody", why.clone());
    }
    let plan = crate::common::PLAN.replace("\"title\": \"A\"", "\"title\": \"do it\"");
    scene.answer("readFile", EffectResult::FileRead { text: Some(plan) });
    scene.sees(says(5, "rather it"));
    scene
}

fn bodies(scene: &Scene) -> Vec<&str> {
    let acts = scene.acts("updateBody").into_iter();
    let bodies = acts.filter_map(|act| match act {
        ForgeAct::UpdateBody { body } => Some(body.as_str()),
        _ => None,
    });
    bodies.collect()
}

#[test]
fn a_description_that_could_not_be_written_is_written_after_the_next_look() {
    let mut scene = with_a_new_description(2, &failed());
    assert_eq!(
        scene.bodies(),
        [format!("Fixed in {}.", short(2))],
        "nobody waits for it"
    );
    for _ in 0..4 {
        scene.wake(Timer::Poll);
    }
    let all = bodies(&scene);
    assert_eq!(all.len(), 3, "one that stands is left alone");
    assert!(all.iter().all(|body| body.contains("do it")));
    assert_eq!(scene.run.warnings, Vec::<String>::new());
}

#[test]
fn a_description_that_cannot_be_written_is_given_up_with_a_warning() {
    let mut scene = with_a_new_description(50, &failed());
    for _ in 0..20 {
        scene.wake(Timer::Poll);
    }
    assert_eq!(bodies(&scene).len(), 10);
    assert_eq!(
        scene.run.warnings,
        [format!(
            "could not update the description of the pull request: {}",
            problem()
        )]
    );
}

#[test]
fn a_description_that_is_refused_is_not_tried_again() {
    let refused = Problem::new(Kind::BodyTooLong, "not allowed");
    let mut scene = with_a_new_description(50, &EffectResult::Failed { problem: refused });
    scene.wake(Timer::Poll);
    assert_eq!(bodies(&scene).len(), 1);
}

#[test]
fn the_last_description_is_not_overtaken_by_an_earlier_one() {
    let mut scene = Scene::watching(terms());
    scene.answer(
        "readFile",
        EffectResult::FileRead {
            text: Some(BROKEN.into()),
        },
    );
    scene.looks.push_back(says(5, "one"));
    scene.now = scene.run.timers[&Timer::Poll];
    scene.tell(drive_core::run::Event::Woken { timer: Timer::Poll });
    // Everything but the description succeeds.
    let mut waiting = 0;
    while scene.run.outcome.is_none() && waiting < 300 {
        waiting += 1;
        if scene.run.pending.is_empty() {
            break;
        }
        let mut others = scene.run.pending.keys();
        let Some(key) = others.find(|key| !key.as_str().starts_with("updateBody")) else {
            break;
        };
        let key = key.clone();
        scene.looks.push_back(PollResult {
            approvals: Some(vec![Approved {
                by: "ann".into(),
                head: CommitSha::new(head(3)),
            }]),
            ..PollResult::default()
        });
        scene.perform_one(&key);
    }
    assert_eq!(scene.run.work.head_sha, Some(CommitSha::new(head(3))));
    assert!(
        scene
            .run
            .pending
            .keys()
            .any(|key| key.as_str() == "updateBody/1")
    );
    assert_eq!(scene.run.outcome, None);
    scene.settle();
    assert_eq!(scene.outcome().status, OutcomeStatus::Succeeded);
    let last = *bodies(&scene).last().unwrap();
    assert!(last.contains("Record of the run"), "{last}");
}

#[test]
fn last_words_that_could_not_be_said_are_said_after_a_pause() {
    let mut scene = Scene::watching(terms());
    scene.answer("postComment", failed());
    scene.answer("postComment", failed());
    scene.wake(Timer::Inactivity);
    assert_eq!(scene.until(Timer::Retry), 5);
    scene.wake(Timer::Retry);
    assert_eq!(scene.until(Timer::Retry), 10);
    scene.wake(Timer::Retry);
    let word = (
        "Cruise-control session timed out after 24h of inactivity".to_owned(),
        Some("timeout".to_owned()),
    );
    assert_eq!(scene.told(), [word.clone(), word.clone(), word]);
    assert_eq!(scene.outcome().status, OutcomeStatus::TimedOut);
}

#[test]
fn last_words_that_cannot_be_said_do_not_keep_a_cruise_alive() {
    let mut scene = Scene::watching(terms());
    for _ in 0..6 {
        scene.answer("postComment", failed());
    }
    scene.wake(Timer::Inactivity);
    for _ in 0..5 {
        scene.wake(Timer::Retry);
    }
    assert_eq!(scene.outcome().status, OutcomeStatus::TimedOut);
    assert_eq!(
        scene.run.warnings,
        [format!("could not update the pull request: {}", problem())]
    );
}
