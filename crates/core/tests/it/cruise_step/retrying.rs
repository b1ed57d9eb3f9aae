//! Tests that failed effects are retried, and that people who wait learn when that is over.

use crate::common::{agent_ended, comment, cruise::terms};
use crate::cruise_step::scene::{Scene, failed, short};
use drive_core::agent::answer::Verdict;
use drive_core::agent::{Failure, Role};
use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{
    AgentJob, Ask, Effect, EffectResult, Event, OutcomeStatus, PollResult, Timer, cruise_status,
};

const DAY: i64 = 24 * 3600;

fn says(id: u64, body: &str) -> PollResult {
    PollResult {
        comments: vec![comment(id, body)],
        ..PollResult::default()
    }
}

fn fails(scene: &mut Scene, name: &'static str, times: usize) {
    for _ in 0..times {
        scene.answer(name, failed());
    }
}

/// Wakes the next timer until the cruise has ended.
fn fly_on(scene: &mut Scene) {
    for _ in 0..5_000 {
        let next = scene.run.timers.iter().min_by_key(|(_, at)| **at);
        let Some((timer, _)) = next else { return };
        let timer = *timer;
        scene.wake(timer);
    }
    panic!("no end");
}

#[test]
fn a_remote_that_is_away_for_hours_costs_no_comment_its_answer() {
    let mut scene = Scene::watching(terms());
    fails(&mut scene, "push", 40);
    scene.sees(says(5, "check the name"));
    for n in 1..=40 {
        assert_eq!(scene.run.outcome, None, "after {n} tries");
        let status = cruise_status(&scene.run).unwrap();
        assert_eq!(
            status.waiting_for.as_deref(),
            Some("a retry: no space left on `/state`: ENOSPC")
        );
        assert!(scene.until(Timer::Retry) <= 300);
        scene.wake(Timer::Retry);
    }
    assert_eq!(scene.bodies(), [format!("Fixed in {}.", short(2))]);
    assert_eq!(scene.run.outcome, None);
}

#[test]
fn others_commits_that_cannot_be_fetched_for_hours_end_nothing() {
    let mut scene = Scene::watching(terms());
    fails(&mut scene, "integrate", 40);
    scene.sees(PollResult {
        head: Some(CommitSha::new("f".repeat(40))),
        ..PollResult::default()
    });
    for _ in 0..40 {
        scene.wake(Timer::Retry);
    }
    assert_eq!(
        (scene.run.outcome.as_ref(), scene.bodies().len()),
        (None, 0)
    );
}

#[test]
fn a_day_of_trying_in_vain_ends_like_a_day_of_silence() {
    let mut scene = Scene::watching(terms());
    fails(&mut scene, "push", 5_000);
    scene.sees(says(5, "check the name"));
    let start = scene.now;
    fly_on(&mut scene);
    let took = scene.now.as_second() - start.as_second();
    assert_eq!(scene.outcome().status, OutcomeStatus::TimedOut);
    assert!((DAY..DAY + 3600).contains(&took), "{took} s");
}

#[test]
fn a_try_at_the_very_moment_is_no_reason_to_wait_for_another_day() {
    let mut scene = Scene::watching(terms());
    fails(&mut scene, "push", 1);
    scene.sees(says(5, "check the name"));
    scene.now = scene.run.timers[&Timer::Inactivity];
    scene.tell(Event::Woken {
        timer: Timer::Retry,
    });
    scene.tell(Event::Woken {
        timer: Timer::Inactivity,
    });
    let looks = |effect: &Effect| effect.name() == "poll";
    assert!(
        scene.run.pending.values().any(looks),
        "{:?}",
        scene.run.pending
    );
}

#[test]
fn somebody_who_asks_gets_the_next_try_at_once() {
    let mut scene = Scene::watching(terms());
    fails(&mut scene, "push", 9);
    scene.sees(says(5, "check the name"));
    for _ in 0..8 {
        scene.wake(Timer::Retry);
    }
    assert!(scene.until(Timer::Retry) > 60);
    scene.ask(Ask::Poll);
    assert_eq!(scene.bodies(), [format!("Fixed in {}.", short(2))]);
    assert_eq!(scene.run.timers.get(&Timer::Retry), None);
}

#[test]
fn before_there_is_a_pull_request_a_remote_that_is_away_fails_the_cruise() {
    let mut scene = Scene::begin(terms());
    fails(&mut scene, "push", 100);
    scene.settle();
    fly_on(&mut scene);
    let names = scene.names();
    let pushes = names.iter().filter(|name| **name == "push").count();
    assert_eq!(
        (pushes, scene.outcome().status),
        (11, OutcomeStatus::Failed)
    );
}

#[test]
fn an_end_that_nobody_asked_for_is_told_with_what_is_open() {
    let mut scene = Scene::watching(terms());
    let problem = Problem::new(Kind::SandboxGone, "the sandbox is gone, @ann").hint("poll");
    scene.answer(
        "commitWork",
        EffectResult::Failed {
            problem: problem.clone(),
        },
    );
    scene.sees(says(5, "check the name"));
    assert_eq!(
        scene.told(),
        [(
            "Stopped before the work was done: the sandbox is gone, ann. Drive reads no further comments on this pull request.\n\nStill open:\n\n- \
             inline-5 by ann: check the name"
                .to_owned(),
            Some("stopped".to_owned())
        )]
    );
    let outcome = scene.outcome();
    assert_eq!(
        (outcome.status, outcome.failure.as_ref()),
        (OutcomeStatus::Failed, Some(&problem))
    );
}

/// A regression test: a killed owner left half a file, which the next fixer committed.
#[test]
fn the_work_of_an_interrupted_fixer_is_saved_and_the_next_one_is_told_where() {
    let mut scene = Scene::watching(terms());
    let interrupted = || EffectResult::Failed {
        problem: Problem::new(Kind::AgentInterrupted, "its owner was killed"),
    };
    for _ in 0..4 {
        scene.agent(Role::Fixer, interrupted());
    }
    scene.sees(says(5, "check the name"));
    let rolled_back = scene
        .names()
        .iter()
        .filter(|name| **name == "rollBack")
        .count();
    assert_eq!(rolled_back, 4);
    let fixers: Vec<&AgentJob> = scene.jobs.iter().collect();
    assert_eq!(fixers.len(), 5, "a death costs no try");
    assert!(!fixers[0].prompt.contains("git show"));
    assert!(fixers[1].prompt.contains("`git show c"));
    assert_eq!(scene.bodies(), [format!("Fixed in {}.", short(2))]);
    assert_eq!(scene.cruise().rounds, 1);
}

#[test]
fn an_interrupted_planner_starts_again_from_the_base() {
    let mut scene = Scene::begin(terms());
    scene.agent(
        Role::Planner,
        EffectResult::Failed {
            problem: Problem::new(Kind::AgentInterrupted, "its owner was killed"),
        },
    );
    scene.settle();
    let planners = scene.jobs.iter().filter(|job| job.role == Role::Planner);
    assert_eq!(planners.count(), 2);
    let back = scene.performed.iter().find_map(|effect| match effect {
        Effect::RollBack { to, .. } => Some(to.clone()),
        _ => None,
    });
    assert_eq!(back, Some(CommitSha::new("a".repeat(40))));
    assert_eq!(scene.run.outcome, None);
}

#[test]
fn a_model_that_is_away_costs_time_and_neither_tries_nor_rounds() {
    let mut scene = Scene::watching(terms());
    for _ in 0..8 {
        let away = Failure::Model { status: Some(529) };
        scene.agent(Role::Fixer, agent_ended(Some(away)));
    }
    scene.sees(says(5, "check the name"));
    for _ in 0..8 {
        let status = cruise_status(&scene.run).unwrap();
        let waits = status.waiting_for.unwrap();
        assert!(waits.contains("could not use its model"), "{waits}");
        scene.wake(Timer::Hold);
    }
    assert_eq!(scene.bodies(), [format!("Fixed in {}.", short(2))]);
    assert_eq!(scene.cruise().rounds, 1);
}

#[test]
fn a_reviewer_whose_model_is_away_is_asked_again_and_gives_its_verdict_later() {
    let mut scene = Scene::begin(terms());
    scene.agent(
        Role::Reviewer,
        agent_ended(Some(Failure::Model { status: None })),
    );
    scene.settle();
    assert_eq!(scene.cruise().record.reviews.len(), 0);
    scene.wake(Timer::Hold);
    let reviews = &scene.cruise().record.reviews;
    assert_eq!(reviews.len(), 5);
    assert!(
        reviews
            .iter()
            .all(|one| one.verdict == Some(Verdict::Approved))
    );
}

fn planners(scene: &Scene) -> usize {
    let planners = scene.jobs.iter().filter(|job| job.role == Role::Planner);
    planners.count()
}

fn crashed() -> EffectResult {
    agent_ended(Some(Failure::NoVerdict {
        exit_code: Some(1),
        signal: None,
    }))
}

#[test]
fn a_planner_that_failed_is_started_again_after_a_pause() {
    let mut scene = Scene::begin(terms());
    scene.agent(Role::Planner, crashed());
    scene.settle();
    assert_eq!((planners(&scene), scene.run.outcome.as_ref()), (1, None));
    let waits = cruise_status(&scene.run).unwrap().waiting_for.unwrap();
    assert!(waits.starts_with("a retry: "), "{waits}");
    scene.wake(Timer::Hold);
    assert_eq!(planners(&scene), 2);
    assert!(scene.run.work.pull_request.is_some());
    let warning = &scene.run.warnings[0];
    assert!(
        warning.starts_with("started the planner again: "),
        "{warning}"
    );
}

#[test]
fn a_planner_that_writes_no_plan_is_started_again() {
    let mut scene = Scene::begin(terms());
    scene.answer(
        "commitWork",
        EffectResult::WorkCommitted {
            head_sha: CommitSha::new("a".repeat(40)),
            commits: Vec::new(),
            warnings: Vec::new(),
            changed: Vec::new(),
        },
    );
    scene.settle();
    scene.wake(Timer::Hold);
    assert_eq!(planners(&scene), 2);
    assert!(scene.run.work.pull_request.is_some());
}

#[test]
fn a_planner_that_fails_three_times_ends_the_cruise() {
    let mut scene = Scene::begin(terms());
    for _ in 0..4 {
        scene.agent(Role::Planner, crashed());
    }
    scene.settle();
    fly_on(&mut scene);
    assert_eq!(planners(&scene), 3);
    assert_eq!(scene.outcome().status, OutcomeStatus::Failed);
}

#[test]
fn a_planner_whose_login_expired_is_not_started_again() {
    let mut scene = Scene::begin(terms());
    scene.agent(Role::Planner, agent_ended(Some(Failure::LoginExpired)));
    scene.settle();
    assert_eq!(
        (planners(&scene), scene.outcome().status),
        (1, OutcomeStatus::NeedsHuman)
    );
}
