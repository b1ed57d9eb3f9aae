//! Tests how often the pull request is polled.

use crate::common::{comment, cruise::terms};
use crate::cruise_step::scene::{Scene, failed};
use drive_core::run::{Ask, Event, Note, PollResult, Timer, cruise_status, paused_for};
use drive_core::time::after;
use std::time::Duration;

fn pauses(scene: &mut Scene, count: usize) -> Vec<i64> {
    let mut pauses = Vec::new();
    for _ in 0..count {
        pauses.push(scene.until(Timer::Poll));
        scene.wake(Timer::Poll);
    }
    pauses
}

#[test]
fn backoff_starts_at_5_s_doubles_and_caps_at_300_s() {
    let mut scene = Scene::watching(terms());
    assert_eq!(
        pauses(&mut scene, 9),
        [5, 10, 20, 40, 80, 160, 300, 300, 300]
    );
}

#[test]
fn backoff_resets_with_a_new_comment_and_when_somebody_asks() {
    let mut scene = Scene::watching(terms());
    pauses(&mut scene, 4);
    scene.sees(PollResult {
        comments: vec![comment(5, "check the name")],
        ..PollResult::default()
    });
    assert_eq!(pauses(&mut scene, 3), [5, 10, 20]);
    scene.ask(Ask::Poll);
    assert_eq!(pauses(&mut scene, 3), [5, 10, 20]);
}

#[test]
fn a_comment_that_was_seen_before_does_not_reset_it() {
    let mut scene = Scene::watching(terms());
    let seen = || PollResult {
        comments: vec![comment(5, "check the name")],
        ..PollResult::default()
    };
    scene.sees(seen());
    pauses(&mut scene, 2);
    scene.sees(seen());
    assert_eq!(scene.until(Timer::Poll), 40);
}

#[test]
fn a_forge_that_cannot_be_asked_is_asked_again_and_named() {
    let mut scene = Scene::watching(terms());
    scene.answer("poll", failed());
    scene.wake(Timer::Poll);
    let status = cruise_status(&scene.run).unwrap();
    assert_eq!(
        status.waiting_for.as_deref(),
        Some("the forge: no space left on `/state`: ENOSPC")
    );
    assert_eq!(scene.until(Timer::Poll), 10);
    scene.wake(Timer::Poll);
    assert_eq!(scene.cruise().watch.trouble, None);
}

#[test]
fn a_post_that_waits_for_the_forges_write_limit_is_shown_until_it_is_posted() {
    let mut scene = Scene::watching(terms());
    scene.tell(Event::Asked {
        ask: Ask::Comment {
            id: "1".to_owned(),
            author: "me".to_owned(),
            text: "check the name".to_owned(),
        },
    });
    let key = scene.run.pending.keys().next().unwrap().clone();
    let until = after(scene.now, Duration::from_secs(30));
    scene.tell(Event::Noted {
        key,
        note: Note::ForgeLimit { until },
    });
    let time = until.strftime("%H:%M:%S UTC");
    let words = Some(format!("the forge's write limit until {time}"));
    assert_eq!(cruise_status(&scene.run).unwrap().waiting_for, words);
    assert_eq!(paused_for(&scene.run), words);
    scene.settle();
    assert_eq!(scene.run.forge_waits.len(), 0);
    assert_ne!(cruise_status(&scene.run).unwrap().waiting_for, words);
}
