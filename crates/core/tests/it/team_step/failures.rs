//! Tests which effects must succeed, and which need not.

use crate::common::{agent_ended, at, good, run_id, team_request};
use crate::team_step::scene::{APPROVED, OBJECTS, Scene, end};
use drive_core::agent::{Failure, Role};
use drive_core::problem::Kind;
use drive_core::review::LastWord;
use drive_core::run::{Effect, Event, OutcomeStatus, fold, step};
use drive_core::settings::TeamMode;

#[test]
fn what_must_work_out_ends_the_run_when_it_does_not() {
    for (fails, kind) in [
        ("chooseBranch", Kind::DiskFull),
        ("createSandbox", Kind::DiskFull),
        ("commitWork", Kind::DiskFull),
        ("push", Kind::DiskFull),
        ("openPullRequest", Kind::DiskFull),
    ] {
        let mut scene = Scene {
            fails: Some(fails),
            ..Scene::reviews(&[APPROVED])
        };
        let run = scene.fly(team_request(TeamMode::Github));
        assert_eq!(
            end(&run),
            (OutcomeStatus::Failed, Some(kind), None),
            "{fails}"
        );
    }
}

#[test]
fn what_need_not_work_out_does_not_stop_a_team() {
    for fails in [
        "poll",
        "postReview",
        "reply",
        "resolveThread",
        "setStatus",
        "updateBody",
        "removeSandbox",
    ] {
        let mut scene = Scene {
            fails: Some(fails),
            ..Scene::reviews(&[OBJECTS, APPROVED])
        };
        let run = scene.fly(team_request(TeamMode::Github));
        assert_eq!(end(&run).2, Some(LastWord::Approved), "{fails}");
        assert!(
            run.warnings
                .iter()
                .any(|text| text.contains("no space left")),
            "{fails}"
        );
    }
}

#[test]
fn a_primary_that_fails_is_a_failure_at_once() {
    let requested = Event::Requested {
        request: Box::new(team_request(TeamMode::Github)),
    };
    let mut run = fold(run_id(), [(requested, at(0))]).unwrap();
    while let Some((key, effect)) = run.pending.first_key_value() {
        let result = match effect {
            Effect::RunAgent { job, .. } if job.role == Role::Coder => {
                agent_ended(Some(Failure::Reported))
            }
            effect => good(effect),
        };
        let ended = Event::EffectEnded {
            key: key.clone(),
            result,
        };
        run = step(run, ended, at(1)).unwrap().0;
    }
    assert_eq!(
        end(&run),
        (OutcomeStatus::Failed, Some(Kind::AgentFailed), None)
    );
    assert!(!run.decided.contains_key("openPullRequest"));
}

#[test]
fn out_of_budget_stops_and_says_what_is_open() {
    let mut request = team_request(TeamMode::Github);
    // The namer, the coder and the first reviewer use 1200 tokens each.
    request.budget.tokens = Some(3_000);
    let mut scene = Scene::reviews(&[OBJECTS]);
    let run = scene.fly(request);
    assert_eq!(
        end(&run),
        (
            OutcomeStatus::NeedsHuman,
            Some(Kind::BudgetExceeded),
            Some(LastWord::NeedsChanges)
        )
    );
    assert_eq!(scene.roles().last().unwrap(), "reviewer Security");
    // It continues after `drive runs extend`, so nobody is asked for a review yet.
    assert!(!scene.told.contains(&"ready".to_owned()));
    assert!(scene.told.contains(&"status false".to_owned()));
}

/// A regression test: a team that waited only for a timer ended without an outcome when it was stopped.
#[test]
fn a_team_that_is_stopped_while_it_waits_for_a_model_ends_as_cancelled() {
    let requested = Event::Requested {
        request: Box::new(team_request(TeamMode::Github)),
    };
    let mut scene = Scene::reviews(&[OBJECTS]);
    scene.agents = [agent_ended(Some(Failure::Model { status: None }))].into();
    let mut run = fold(run_id(), [(requested, at(0))]).unwrap();
    while let Some((key, effect)) = run.pending.first_key_value() {
        let ended = Event::EffectEnded {
            key: key.clone(),
            result: scene.perform(effect),
        };
        run = step(run, ended, at(1)).unwrap().0;
    }
    assert_eq!(run.outcome, None);
    run = step(run, Event::CancelAsked, at(2)).unwrap().0;
    let names: Vec<&str> = run.pending.values().map(Effect::name).collect();
    assert_eq!(names, ["removeSandbox"]);
    assert!(run.timers.is_empty());
    while let Some((key, effect)) = run.pending.first_key_value() {
        let ended = Event::EffectEnded {
            key: key.clone(),
            result: good(effect),
        };
        run = step(run, ended, at(3)).unwrap().0;
    }
    assert_eq!(end(&run).0, OutcomeStatus::Cancelled);
}
