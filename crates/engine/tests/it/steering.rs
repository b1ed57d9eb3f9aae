//! Tests that a change of steering files is flagged, and is not merged before a person approved it.

use crate::support::{FILE, FIXED, Scene, assert_nothing_is_lost, run_id, team_request};
use drive_core::agent::Role;
use drive_core::forge::{Permission, PrState};
use drive_core::problem::Kind;
use drive_core::run::{ChangeDone, Makes, OutcomeStatus, Request, Run, RunKind, waits_for_person};
use drive_engine::fakes::AgentWork;

const WORKFLOW: &str = ".github/workflows/ci.yml";

/// A coder that writes the fixed file and this one.
fn scene(path: &'static str) -> Scene {
    let scene = Scene::new();
    scene.world.agents.script(Role::Coder, move |_| {
        AgentWork::answer("Done.")
            .write(FILE, FIXED)
            .write(path, "on: push\n")
    });
    for login in ["ann", "bob[bot]"] {
        scene.world.forge.set_permission(login, Permission::Write);
    }
    scene
}

fn merging(scene: &Scene) -> Request {
    let mut request = team_request(&scene.world);
    if let RunKind::Team(terms) = &mut request.kind {
        terms.makes = Makes::Change {
            done: ChangeDone::Reviewed { auto_merge: true },
        };
    }
    request
}

fn ended(run: &Run) -> (OutcomeStatus, Option<Kind>) {
    let outcome = run.outcome.as_ref().unwrap();
    (outcome.status, outcome.failure.as_ref().map(|why| why.kind))
}

fn assert_waits(scene: &Scene, run: &Run) {
    let waits = (OutcomeStatus::NeedsHuman, Some(Kind::SteeringUnapproved));
    assert_eq!(ended(run), waits);
    let pull = &scene.world.forge.pull_requests()[0];
    assert_eq!(pull.state, PrState::Open);
    let main = scene.world.repository.remote_branch("origin", "main");
    let files = scene.world.repository.files_of(&main.unwrap()).unwrap();
    assert!(!files.contains_key(FILE), "{files:?}");
}

#[test]
fn a_changed_workflow_is_flagged_and_waits_for_a_person_who_then_gets_it_merged() {
    let scene = scene(WORKFLOW);
    let run = scene.execute(merging(&scene), None).unwrap();
    assert_waits(&scene, &run);
    let pull = scene.world.forge.pull_requests().remove(0);
    let flag = format!("**Steering files changed:** `{WORKFLOW}`.");
    assert!(pull.body.contains(&flag), "{}", pull.body);
    let wait = waits_for_person(&run).unwrap();
    let command = format!("`drive runs resume {}`", run_id());
    assert!(
        wait.contains(&command) && wait.contains("an approval of"),
        "{wait}"
    );
    let comments = scene.world.forge.comments();
    let told = comments.iter().find(|one| one.body.contains("Not merged:"));
    assert!(told.unwrap().body.contains(WORKFLOW));

    scene.world.forge.person_approves("ann", pull.number);
    let run = scene.resume(None).unwrap();
    assert_eq!(ended(&run), (OutcomeStatus::Succeeded, None));
    assert_eq!(scene.world.forge.pull_requests()[0].state, PrState::Merged);
    assert_nothing_is_lost(&scene, "after the approval");
}

#[test]
fn an_approval_of_an_earlier_commit_or_by_a_bot_or_a_stranger_is_none() {
    let scene = scene(WORKFLOW);
    scene.execute(merging(&scene), None).unwrap();
    let pull = scene.world.forge.pull_requests().remove(0);
    scene.world.forge.person_approves("bob[bot]", pull.number);
    scene.world.forge.person_approves("eve", pull.number);
    assert_waits(&scene, &scene.resume(None).unwrap());

    scene.world.forge.person_approves("ann", pull.number);
    let repository = &scene.world.repository;
    repository.person_pushes("origin", "fix-login", WORKFLOW, "on: delete\n");
    assert_waits(&scene, &scene.resume(None).unwrap());

    scene.world.forge.person_approves("ann", pull.number);
    let run = scene.resume(None).unwrap();
    assert_eq!(ended(&run), (OutcomeStatus::Succeeded, None));
}

#[test]
fn a_change_without_steering_files_is_merged_without_a_person_and_not_flagged() {
    let scene = scene("src/ci.yml");
    let run = scene.execute(merging(&scene), None).unwrap();
    assert_eq!(ended(&run), (OutcomeStatus::Succeeded, None));
    let pull = scene.world.forge.pull_requests().remove(0);
    assert!(!pull.body.contains("Steering files"), "{}", pull.body);
}

#[test]
fn the_flag_appears_once_a_fixer_changes_a_steering_file() {
    let scene = Scene::new();
    scene.world.agents.script(Role::Fixer, |_| {
        AgentWork::answer("Done.")
            .write(FILE, FIXED)
            .write("CLAUDE.md", "Be nice.\n")
    });
    let run = scene.execute(team_request(&scene.world), None).unwrap();
    assert_eq!(ended(&run), (OutcomeStatus::Succeeded, None));
    assert_eq!(run.work.steering, ["CLAUDE.md"]);
    let pull = scene.world.forge.pull_requests().remove(0);
    let flag = "**Steering files changed:** `CLAUDE.md`.";
    assert!(pull.body.contains(flag), "{}", pull.body);
}
