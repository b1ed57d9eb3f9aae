//! Tests `drive spawn` with fakes.

use crate::support::{
    BUGGY, Crashes, FILE, Scene, assert_nothing_is_lost, assert_recovered, spawn_request,
};
use drive_core::agent::Role;
use drive_core::ids::CommitSha;
use drive_core::problem::Kind;
use drive_core::run::{OutcomeStatus, Request, Run};
use drive_engine::fakes::{AgentWork, CrashPoint};

fn start(crash: Option<CrashPoint>) -> (Scene, Option<Run>) {
    let scene = Scene::new();
    let request = spawn_request(&scene.world);
    let run = scene.execute(request, crash);
    (scene, run)
}

#[test]
fn a_spawn_ends_with_its_commit_on_a_pull_request() {
    let (scene, run) = start(None);
    let run = run.unwrap();
    assert_eq!(run.outcome.unwrap().status, OutcomeStatus::Succeeded);
    let repository = &scene.world.repository;
    let pushed = repository.remote_branch("origin", "fix-login").unwrap();
    assert_eq!(repository.files_of(&pushed).unwrap()[FILE], BUGGY);
    let opened = scene.world.forge.pull_requests();
    assert_eq!(opened.len(), 1);
    assert_eq!(opened[0].head_sha, CommitSha::new(pushed));
    assert_nothing_is_lost(&scene, "without a crash");
}

/// A regression test: such a branch was moved if that was a fast-forward, and with it the pull
/// request of others.
#[test]
fn a_spawn_does_not_move_a_branch_that_others_made() {
    let scene = Scene::new();
    let repository = scene.world.repository.clone();
    let base = repository.branch("main").unwrap();
    let at = base.clone();
    scene.world.agents.script(Role::Coder, move |_| {
        repository.person_branches("origin", "fix-login", &at);
        AgentWork::answer("Done.").write(FILE, BUGGY)
    });
    let run = scene.execute(spawn_request(&scene.world), None).unwrap();
    let failure = run.outcome.unwrap().failure.map(|problem| problem.kind);
    assert_eq!(failure, Some(Kind::BranchMoved));
    let repository = &scene.world.repository;
    assert_eq!(
        repository.remote_branch("origin", "fix-login"),
        Some(base),
        "their branch stays where it is"
    );
    assert_eq!(scene.world.forge.pull_requests().len(), 0);
    let here = repository.branch("fix-login").unwrap();
    assert_eq!(repository.files_of(&here).unwrap()[FILE], BUGGY);
}

#[test]
fn a_pull_request_has_the_template_of_its_base_below_the_description() {
    let scene = Scene::new();
    let repository = &scene.world.repository;
    let path = ".github/pull_request_template.md";
    let base = repository.person_pushes("origin", "main", path, "## Why\n\n- [ ] tests\n");
    let request = Request {
        base_sha: CommitSha::new(base),
        ..spawn_request(&scene.world)
    };
    let run = scene.execute(request, None).unwrap();
    assert_eq!(run.outcome.unwrap().status, OutcomeStatus::Succeeded);
    let opened = scene.world.forge.pull_requests();
    let (own, template) = opened[0].body.split_once("\n\n---\n\n").unwrap();
    assert!(!own.is_empty());
    assert_eq!(template, "## Why\n\n- [ ] tests\n");
}

#[test]
fn a_pull_request_says_what_it_does_where_the_template_asks_for_it() {
    let scene = Scene::new();
    let repository = &scene.world.repository;
    let path = ".github/pull_request_template.md";
    let template = "## Summary\n<!-- what? -->\n\n## Tests\n\n- [ ] tests\n";
    let base = repository.person_pushes("origin", "main", path, template);
    let request = Request {
        base_sha: CommitSha::new(base),
        ..spawn_request(&scene.world)
    };
    scene.execute(request, None).unwrap();
    let opened = scene.world.forge.pull_requests();
    let body = &opened[0].body;
    let (_, said) = body.split_once("## Summary\n<!-- what? -->\n\n").unwrap();
    let (words, rest) = said.split_once("\n\n## Tests\n\n- [ ] tests\n").unwrap();
    assert!(!words.trim().is_empty() && rest.is_empty(), "{body}");
}

#[test]
fn a_spawn_killed_before_any_append_is_recovered_with_its_work_saved() {
    kill_everywhere(Crashes::BeforeAppend);
}

#[test]
fn a_spawn_killed_after_any_append_is_recovered_with_its_work_saved() {
    kill_everywhere(Crashes::AfterAppend);
}

#[test]
fn a_spawn_killed_after_any_claim_is_recovered_with_its_work_saved() {
    kill_everywhere(Crashes::AfterClaim);
}

fn kill_everywhere(crashes: Crashes) {
    for number in 1.. {
        let (scene, run) = start(Some(crashes.at(number)));
        if run.is_some() {
            assert!(number > 5, "{crashes:?}: only {number} crashes");
            break;
        }
        let when = format!("{crashes:?} {number}");
        scene.recover(None).unwrap();
        assert_recovered(&scene, &when);
    }
}

#[test]
fn a_recovery_that_is_killed_is_recovered_too() {
    for first in 1.. {
        let (scene, run) = start(Some(CrashPoint::AfterAppend(first)));
        if run.is_some() {
            assert!(first > 5);
            break;
        }
        // Two journal entries per recovery: that the owner is lost, and one more step.
        let mut owners = 0;
        while scene.recover(Some(CrashPoint::AfterAppend(2))).is_none() {
            owners += 1;
            assert!(
                owners < 10,
                "the recovery after {first} appends does not end"
            );
        }
        assert_recovered(&scene, &format!("after {first} appends"));
    }
}
