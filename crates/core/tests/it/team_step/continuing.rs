//! Tests giving an ended team a new task.

use crate::common::team_request;
use crate::team_step::resuming::{begin, tell, to_the_end};
use crate::team_step::scene::{APPROVED, Scene, team};
use drive_core::agent::Role;
use drive_core::review::LastWord;
use drive_core::run::{Effect, Event, NotContinuable, OutcomeStatus, Run, require_continuable};
use drive_core::settings::TeamMode;

fn more() -> Event {
    Event::Continued {
        task: "Mention the tests".into(),
    }
}

fn roles(scene: &Scene, from: usize) -> Vec<Role> {
    let agents = scene.performed[from..]
        .iter()
        .filter_map(|effect| match effect {
            Effect::RunAgent { job, .. } => Some(job.role),
            _ => None,
        });
    agents.collect()
}

fn status(run: &Run) -> OutcomeStatus {
    run.outcome.as_ref().unwrap().status
}

#[test]
fn what_a_team_adds_is_reviewed_again_on_the_same_pull_request() {
    let mut scene = Scene::reviews(&[APPROVED, APPROVED]);
    let run = to_the_end(&mut scene, begin(team_request(TeamMode::Pingpong)));
    assert_eq!(status(&run), OutcomeStatus::Succeeded);
    let (head, pr) = (run.work.head_sha.clone(), run.work.pull_request.clone());
    let before = scene.performed.len();
    let run = to_the_end(&mut scene, tell(run, more()));
    assert_eq!(status(&run), OutcomeStatus::Succeeded, "{:?}", run.outcome);
    assert_eq!(roles(&scene, before), [Role::Coder, Role::Reviewer]);
    assert_eq!(team(&run).verdict, Some(LastWord::Approved));
    assert_ne!(run.work.head_sha, head);
    assert_eq!(run.work.pull_request, pr);
    let reviewed = team(&run).record.reviews.last().unwrap();
    assert_eq!(reviewed.head, run.work.head_sha);
    let task = &run.request.as_ref().unwrap().task;
    assert!(task.starts_with("Mention the tests\n\n"), "{task}");
}

#[test]
fn only_a_run_that_ended_and_left_a_commit_is_given_more_to_do() {
    let run = begin(team_request(TeamMode::Pingpong));
    assert_eq!(require_continuable(&run), Err(NotContinuable::Active));
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut ended = to_the_end(&mut scene, run);
    assert_eq!(require_continuable(&ended), Ok(()));
    ended.work.commits.clear();
    assert_eq!(require_continuable(&ended), Err(NotContinuable::NoWork));
}
