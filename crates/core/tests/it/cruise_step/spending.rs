//! Tests that the usage of agents counts even if no owner saw them end.

use crate::common::{comment, cruise::request_with, cruise::terms, identity, used};
use crate::cruise_step::scene::Scene;
use drive_core::agent::{Budget, Cost, Usage};
use drive_core::ids::EffectKey;
use drive_core::run::{Ask, Event, Note, PollResult, Spent, Timer};

/// A cruise with a working fixer, after 7 other agents.
fn with_a_fixer_at_work() -> (Scene, EffectKey) {
    let mut request = request_with(terms());
    request.budget = Budget {
        tokens: Some(20_000),
        cost: None,
    };
    let mut scene = Scene::with(request);
    scene.settle();
    scene.looks.push_back(PollResult {
        comments: vec![comment(5, "one")],
        ..PollResult::default()
    });
    scene.now = scene.run.timers[&Timer::Poll];
    scene.tell(Event::Woken { timer: Timer::Poll });
    scene.settle_until(|effect| effect.name() == "runAgent");
    let mut keys = scene.run.pending.keys();
    let key = keys.find(|key| key.as_str().starts_with("runAgent"));
    let key = key.unwrap().clone();
    (scene, key)
}

fn starts(scene: &mut Scene, key: &EffectKey, pid: i32) {
    scene.tell(Event::ProcessStarted {
        key: key.clone(),
        identity: identity(pid),
    });
}

fn uses(scene: &mut Scene, key: &EffectKey, tokens: u64) {
    scene.tell(Event::Noted {
        key: key.clone(),
        note: Note::Used {
            spent: used(tokens),
        },
    });
}

fn tokens(scene: &Scene) -> u64 {
    scene.run.spent.usage.counted()
}

const BEFORE: u64 = 7 * 1_200;

#[test]
fn what_an_agent_used_before_its_owner_died_is_in_the_budget() {
    let (mut scene, key) = with_a_fixer_at_work();
    assert_eq!(scene.run.budget_for(&key).tokens, Some(20_000 - BEFORE));
    starts(&mut scene, &key, 42);
    uses(&mut scene, &key, 1_000);
    uses(&mut scene, &key, 3_000);
    assert_eq!(tokens(&scene), BEFORE, "it may still end and say itself");
    assert_eq!(
        scene.run.budget_for(&key).tokens,
        Some(20_000 - BEFORE - 3_000),
        "for the next one"
    );
    // Its owner died, and the next one starts it anew, twice.
    starts(&mut scene, &key, 52);
    uses(&mut scene, &key, 500);
    starts(&mut scene, &key, 62);
    assert_eq!(tokens(&scene), BEFORE + 3_500);
    uses(&mut scene, &key, 700);
    scene.settle();
    assert_eq!(
        (tokens(&scene), scene.run.using.len()),
        (BEFORE + 3_500 + 1_200, 0),
        "what it says in the end is all that the last one used"
    );
    let job = scene.cruise().record.jobs.last().unwrap();
    assert_eq!(
        (job.usage.counted(), job.cost),
        (3_500 + 1_200, Some(Cost::from_micro_usd(350_000 + 250_000)))
    );
}

#[test]
fn what_an_agent_used_that_nobody_waits_for_any_more_counts() {
    let (mut scene, key) = with_a_fixer_at_work();
    starts(&mut scene, &key, 42);
    uses(&mut scene, &key, 900);
    scene.ask(Ask::Cleanup);
    assert_eq!((tokens(&scene), scene.run.using.len()), (BEFORE + 900, 0));
}

#[test]
fn a_word_about_what_was_used_is_worth_it_when_a_tenth_came_on_top() {
    let spent = |tokens, micros: Option<u64>| Spent {
        usage: Usage {
            input: tokens,
            ..Usage::default()
        },
        cost: micros.map(Cost::from_micro_usd),
    };
    let table = [
        (spent(0, None), spent(0, None), false),
        (spent(0, None), spent(1, None), true),
        (spent(100, None), spent(100, None), false),
        (spent(100, None), spent(109, None), false),
        (spent(100, None), spent(110, None), true),
        (spent(100, None), spent(100, Some(1)), true),
        (spent(100, Some(50)), spent(100, Some(54)), false),
        (spent(100, Some(50)), spent(100, Some(55)), true),
    ];
    for (noted, now, is_news) in table {
        assert_eq!(now.is_news_after(&noted), is_news, "{noted:?} {now:?}");
    }
}
