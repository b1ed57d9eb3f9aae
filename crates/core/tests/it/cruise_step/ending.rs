//! Tests how a phase ends.

use crate::common::{at, comment, cruise::terms, identity, run_id};
use crate::cruise_step::scene::{Scene, failed, head};
use drive_core::agent::Role;
use drive_core::forge::PrState;
use drive_core::ids::CommitSha;
use drive_core::problem::Kind;
use drive_core::run::{
    Approved, Ask, Effect, Event, ForgeAct, OutcomeStatus, PollResult, Timer, fold,
};

const TIMED_OUT: &str = "Cruise-control session timed out after 24h of inactivity";
const DAY: i64 = 24 * 3600;

fn becomes(state: PrState) -> PollResult {
    PollResult {
        state: Some(state),
        ..PollResult::default()
    }
}

fn is_agent(effect: &Effect) -> bool {
    matches!(effect, Effect::RunAgent { .. })
}

#[test]
fn a_timeout_of_24_h_comes_after_a_restart() {
    let mut scene = Scene::watching(terms());
    assert_eq!(
        scene.until(Timer::Inactivity),
        DAY - 2,
        "two seconds went into the last looks"
    );
    scene.run = fold(run_id(), scene.journal.clone()).unwrap();
    scene.wake(Timer::Inactivity);
    assert_eq!(scene.bodies(), [TIMED_OUT]);
    assert_eq!(
        scene.names(),
        [
            "poll",
            "updateBody",
            "summarize",
            "postComment",
            "poll",
            "removeSandbox"
        ],
        "the pull request stays open"
    );
    let (outcome, now) = (scene.outcome(), scene.now);
    assert_eq!(
        (outcome.status, outcome.ended_at),
        (OutcomeStatus::TimedOut, now)
    );
    assert!(scene.run.sandboxes.is_empty());
}

#[test]
fn somebody_who_spoke_while_nobody_looked_is_heard_before_silence_ends_it() {
    let mut scene = Scene::watching(terms());
    scene.looks.push_back(PollResult {
        comments: vec![comment(5, "check the name")],
        ..PollResult::default()
    });
    scene.wake(Timer::Inactivity);
    assert_eq!(scene.run.outcome, None);
    assert_eq!(scene.jobs.len(), 1);
    assert!(scene.until(Timer::Inactivity) > DAY - 100);
}

#[test]
fn a_forge_that_is_down_when_silence_would_end_it_is_asked_for_some_hours() {
    let mut scene = Scene::watching(terms());
    for _ in 0..50 {
        scene.answer("poll", failed());
    }
    scene.wake(Timer::Inactivity);
    let mut looks = 1;
    while scene.run.outcome.is_none() {
        scene.wake(Timer::Poll);
        looks += 1;
    }
    assert_eq!(
        (looks, scene.outcome().status),
        (50, OutcomeStatus::TimedOut)
    );
}

#[test]
fn an_agent_at_work_is_not_silence() {
    let mut scene = Scene::begin(terms());
    scene.settle_until(
        |effect| matches!(effect, Effect::RunAgent { job, .. } if job.role == Role::Reviewer),
    );
    scene.now = scene.run.timers[&Timer::Inactivity];
    scene.tell(Event::Woken {
        timer: Timer::Inactivity,
    });
    assert_eq!(
        (scene.run.pending.len(), scene.until(Timer::Inactivity)),
        (1, DAY)
    );
}

#[test]
fn a_clock_set_back_by_an_hour_only_makes_the_silence_longer() {
    let mut scene = Scene::watching(terms());
    let before = scene.cruise().watch.last_activity;
    scene.pass(-3600);
    scene.ask(Ask::Poll);
    assert_eq!(scene.cruise().watch.last_activity, before);
    assert!((DAY - 2..=DAY).contains(&scene.until(Timer::Inactivity)));
    assert_eq!(scene.until(Timer::Poll), 5);
}

#[test]
fn a_merge_ends_it_at_once_also_while_an_agent_works() {
    let mut scene = Scene::watching(terms());
    scene.looks.push_back(PollResult {
        comments: vec![comment(5, "check the name")],
        ..PollResult::default()
    });
    scene.now = scene.run.timers[&Timer::Poll];
    scene.tell(Event::Woken { timer: Timer::Poll });
    scene.settle_until(is_agent);
    let key = scene
        .run
        .pending
        .keys()
        .find(|key| key.as_str().starts_with("runAgent"));
    let key = key.unwrap().clone();
    scene.tell(Event::ProcessStarted {
        key,
        identity: identity(42),
    });
    scene.performed.clear();
    scene.looks.push_back(becomes(PrState::Merged));
    scene.tell(Event::Asked { ask: Ask::Poll });
    let look = scene
        .run
        .pending
        .keys()
        .find(|key| key.as_str().starts_with("poll"));
    let look = look.unwrap().clone();
    scene.tell(Event::EffectEnded {
        key: look,
        result: crate::common::cruise::looked(becomes(PrState::Merged)),
    });
    scene.settle();
    assert_eq!(
        scene.names(),
        ["endProcess", "removeSandbox", "summarize", "updateBody"]
    );
    assert_eq!(scene.outcome().status, OutcomeStatus::Succeeded);
}

#[test]
fn a_close_ends_it_without_success() {
    let mut scene = Scene::watching(terms());
    scene.sees(becomes(PrState::Closed));
    let failure = scene.outcome().failure.as_ref().unwrap();
    assert_eq!(
        (scene.outcome().status, failure.kind),
        (OutcomeStatus::Cancelled, Kind::PullRequestClosed)
    );
    assert_eq!(
        scene.names(),
        ["poll", "removeSandbox", "summarize", "updateBody"]
    );
}

/// The first lines of the description and the summary.
fn last_lines(scene: &Scene) -> [String; 2] {
    let texts = ["updateBody", "summarize"].map(|name| scene.acts(name));
    texts.map(|acts| match acts.last() {
        Some(ForgeAct::UpdateBody { body }) => body.lines().nth(1).unwrap().to_owned(),
        Some(ForgeAct::Summarize { body, comment }) => {
            assert!(comment.is_some(), "the one that was posted");
            body.lines().next().unwrap().to_owned()
        }
        other => panic!("{other:?}"),
    })
}

#[test]
fn the_description_and_the_summary_say_how_a_cruise_ended() {
    let both = |line: &str| [line.to_owned(), line.to_owned()];
    let reviews = "5 of 5 domains approved";
    for (state, line) in [
        (PrState::Merged, "**Merged** at `0000000000`: "),
        (
            PrState::Closed,
            "**Closed** without a merge at `0000000000`: ",
        ),
    ] {
        let mut scene = Scene::watching(terms());
        scene.sees(becomes(state));
        assert_eq!(last_lines(&scene), both(&format!("{line}{reviews}.")));
    }
    let mut scene = Scene::watching(terms());
    scene.wake(Timer::Inactivity);
    let line = format!("**Timed out** without an approval of `0000000000`: {reviews}.");
    assert_eq!(last_lines(&scene), both(&line));
    let mut scene = Scene::watching(terms());
    scene.sees(PollResult {
        approvals: Some(vec![Approved {
            by: "ann".into(),
            head: CommitSha::new(head(1)),
        }]),
        ..PollResult::default()
    });
    let line = format!("**Approved** at `0000000000` by ann: {reviews}.");
    assert_eq!(last_lines(&scene), both(&line));
    for (asks, why) in [
        (Event::Asked { ask: Ask::Cleanup }, "cleaned up on request"),
        (Event::CancelAsked, "stopped on request"),
    ] {
        let mut scene = Scene::watching(terms());
        scene.tell(asks);
        scene.settle();
        let line = format!("**Stopped** at `0000000000`: {why}.");
        assert_eq!(last_lines(&scene), both(&line));
        assert_eq!(scene.outcome().status, OutcomeStatus::Cancelled);
    }
}

#[test]
fn a_sandbox_survives_every_agent_and_is_removed_by_cleanup() {
    let mut scene = Scene::watching(terms());
    assert_eq!(scene.run.sandboxes.len(), 1);
    scene.ask(Ask::Cleanup);
    assert_eq!(scene.names(), ["removeSandbox", "summarize", "updateBody"]);
    assert_eq!(scene.outcome().status, OutcomeStatus::Cancelled);
    assert!(scene.run.sandboxes.is_empty() && scene.run.timers.is_empty());
}

#[test]
fn whoever_asks_while_the_last_words_are_said_asks_too_late() {
    let mut scene = Scene::watching(terms());
    scene.now = at(10 * DAY);
    scene.tell(Event::Woken {
        timer: Timer::Inactivity,
    });
    scene.settle_until(|effect| effect.name() == "postComment");
    let before = scene.run.clone();
    scene.tell(Event::Asked {
        ask: Ask::Comment {
            id: "c1".into(),
            author: "ann".into(),
            text: "wait".into(),
        },
    });
    assert_eq!(scene.run, before);
}
