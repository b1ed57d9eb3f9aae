//! Tests the three modes and their results.

use crate::common::{agent_ended, agent_said, at, problem, run_id, team_request};
use crate::team_step::scene::{APPROVED, OBJECTS, Scene, end, team};
use drive_core::agent::Failure;
use drive_core::ids::{BranchName, RemoteName};
use drive_core::problem::Kind;
use drive_core::review::LastWord;
use drive_core::run::{Effect, EffectResult, Event, OutcomeStatus, Publish, Request, fold, step};
use drive_core::settings::TeamMode;

#[test]
fn approval_at_once_ends_each_mode_with_success() {
    for (mode, reviews) in [
        (TeamMode::Sequential, 1),
        (TeamMode::Pingpong, 1),
        (TeamMode::Github, 5),
    ] {
        let mut scene = Scene::reviews(&[APPROVED]);
        let run = scene.fly(team_request(mode));
        assert_eq!(
            end(&run),
            (OutcomeStatus::Succeeded, None, Some(LastWord::Approved)),
            "{mode:?}"
        );
        assert_eq!(scene.commits.len(), 1);
        assert_eq!(team(&run).record.reviews.len(), reviews);
    }
}

#[test]
fn the_names_come_first_and_everything_is_called_by_them() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let run = scene.fly(team_request(TeamMode::Sequential));
    assert_eq!(scene.roles(), ["namer", "coder", "reviewer"]);
    assert_eq!(scene.jobs[0].model.as_deref(), Some("small"));
    assert_eq!(team(&run).title, "Check names");
    assert_eq!(scene.commits[0].subject, "Check names");
}

#[test]
fn a_namer_that_fails_never_blocks() {
    let requested = Event::Requested {
        request: Box::new(team_request(TeamMode::Pingpong)),
    };
    for result in [
        EffectResult::Failed { problem: problem() },
        agent_ended(Some(Failure::Garbage)),
        agent_said("no idea"),
    ] {
        let run = fold(run_id(), [(requested.clone(), at(0))]).unwrap();
        let key = run.pending.keys().next().unwrap().clone();
        let run = step(run, Event::EffectEnded { key, result }, at(1))
            .unwrap()
            .0;
        let chosen = Effect::ChooseBranch {
            wanted: BranchName::parse("fix-the-login-it-fails-for-names-with-a-dot").unwrap(),
            exact: false,
            remote: Some(RemoteName::parse("origin").unwrap()),
        };
        assert_eq!(run.pending.values().collect::<Vec<_>>(), [&chosen]);
        assert_eq!(team(&run).title, "Fix the login");
    }
}

#[test]
fn a_namer_whose_model_is_away_is_a_warning() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let away = Failure::Model { status: Some(529) };
    scene.answers("runAgent", [agent_ended(Some(away))]);
    let run = scene.fly(team_request(TeamMode::Pingpong));
    assert_eq!(
        run.warnings,
        [
            "the namer failed: agent `claude-code` could not use its model (HTTP 529): it said \
             so; the branch is named after the task"
        ]
    );
}

#[test]
fn approval_on_round_two_is_approval() {
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
    let run = scene.fly(team_request(TeamMode::Pingpong));
    assert_eq!(
        end(&run),
        (OutcomeStatus::Succeeded, None, Some(LastWord::Approved))
    );
    assert_eq!(
        scene.roles(),
        ["namer", "coder", "reviewer", "fixer", "reviewer"]
    );
    assert_eq!(scene.jobs[4].round, 2);
}

#[test]
fn sequential_ends_after_one_fix_whatever_the_reviewer_would_say() {
    let mut scene = Scene::reviews(&[OBJECTS]);
    let run = scene.fly(team_request(TeamMode::Sequential));
    assert_eq!(scene.roles(), ["namer", "coder", "reviewer", "fixer"]);
    assert_eq!(
        end(&run),
        (OutcomeStatus::Succeeded, None, Some(LastWord::NeedsChanges))
    );
}

#[test]
fn never_approved_is_a_failure_that_names_what_is_open() {
    let mut scene = Scene::reviews(&[OBJECTS]);
    let run = scene.fly(team_request(TeamMode::Pingpong));
    assert_eq!(
        end(&run),
        (
            OutcomeStatus::Failed,
            Some(Kind::NotApproved),
            Some(LastWord::NeedsChanges)
        )
    );
    let panel = [OBJECTS, APPROVED, APPROVED, APPROVED, APPROVED];
    let answers = [panel, panel].concat();
    let run = Scene::reviews(&answers).fly(team_request(TeamMode::Github));
    let failure = run.outcome.unwrap().failure.unwrap();
    assert_eq!(
        failure.message,
        "reviewer `gemini-cli` still requests changes (Security)"
    );
}

#[test]
fn without_a_pull_request_the_loop_is_the_same() {
    let request = Request {
        publish: Publish::BranchOnly,
        ..team_request(TeamMode::Pingpong)
    };
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
    let run = scene.fly(request);
    assert_eq!(end(&run).2, Some(LastWord::Approved));
    assert!(scene.told.is_empty() && !run.decided.contains_key("push"));
}
