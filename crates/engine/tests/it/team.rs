//! Tests `drive spawn-team --mode github` with fakes.

use crate::support::{
    Crashes, FILE, FIXED, Idle, Scene, assert_nothing_is_lost, assert_recovered, run_id,
    team_request,
};
use drive_core::agent::Role;
use drive_core::forge::{PrState, Surface};
use drive_core::ids::RunId;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{
    ChangeDone, Effect, EffectResult, Makes, OutcomeStatus, Request, Run, RunKind,
};
use drive_engine::CancelToken;
use drive_engine::executor::{Performer, Task};
use drive_engine::fakes::{AgentWork, CrashPoint, FakeWorld};
use drive_engine::ports::StatusState;
use drive_engine::start::execute;
use std::collections::BTreeSet;
use std::sync::Mutex;

/// The number of journal entries before anybody can merge: the change and its first reviews.
const FIRST_AFTER_REVIEWS: u32 = 40;

fn start(crash: Option<CrashPoint>) -> (Scene, Option<Run>) {
    let scene = Scene::new();
    let request = team_request(&scene.world);
    let run = scene.execute(request, crash);
    (scene, run)
}

#[test]
fn a_team_fixes_its_finding_answers_it_and_marks_the_pull_request_ready() {
    let (scene, run) = start(None);
    let run = run.unwrap();
    let outcome = run.outcome.unwrap();
    assert_eq!(
        (outcome.status, outcome.failure),
        (OutcomeStatus::Succeeded, None)
    );
    let (repository, forge) = (&scene.world.repository, &scene.world.forge);
    let pushed = repository.remote_branch("origin", "fix-login").unwrap();
    assert_eq!(repository.files_of(&pushed).unwrap()[FILE], FIXED);
    let opened = forge.pull_requests();
    assert_eq!(opened.len(), 1);
    assert!(!opened[0].draft);
    assert_eq!(forge.status_of(&pushed), Some(StatusState::Success));
    let findings: Vec<_> = forge
        .comments()
        .into_iter()
        .filter(|one| one.key.surface == Surface::Inline && one.in_reply_to.is_none())
        .collect();
    assert_eq!(findings.len(), 1);
    let finding = findings[0].key.comment();
    assert_eq!(forge.replies_to(finding).len(), 1);
    assert!(forge.is_resolved(finding));
    assert_nothing_is_lost(&scene, "without a crash");
}

/// A regression test: the branch was pushed three more times, with the advice to push it so that
/// the team continues.
#[test]
fn a_branch_that_a_person_deletes_on_the_remote_ends_a_team_and_stays_deleted() {
    let scene = Scene::new();
    let repository = scene.world.repository.clone();
    scene.world.agents.script(Role::Fixer, move |_| {
        repository.person_deletes("origin", "fix-login");
        AgentWork::answer("Done.").write(FILE, FIXED)
    });
    let run = scene.execute(team_request(&scene.world), None).unwrap();
    let failure = run.outcome.unwrap().failure.unwrap();
    assert_eq!(failure.kind, Kind::BranchDeleted);
    let hint = "its commits are on the local branch; `git push origin fix-login` restores it";
    assert_eq!(failure.hint.as_deref(), Some(hint));
    assert_eq!(run.decided["push"], 2, "it is not tried again");
    let repository = &scene.world.repository;
    assert_eq!(repository.remote_branch("origin", "fix-login"), None);
    let here = repository.branch("fix-login").unwrap();
    assert_eq!(repository.files_of(&here).unwrap()[FILE], FIXED);
    assert_nothing_is_lost(&scene, "after the branch was deleted");
}

/// Executes another team to its end between the first team's choice of a name and its use of it.
struct Overtaken<'a> {
    inner: Idle<'a>,
    world: &'a FakeWorld,
    other: Mutex<Option<Run>>,
}

impl Performer for Overtaken<'_> {
    fn perform(&self, task: &Task<'_>) -> Result<EffectResult, Problem> {
        if let Effect::CreateSandbox { .. } = task.claimed.effect {
            let mut other = self.other.lock().unwrap();
            if other.is_none() {
                *other = Some(other_team(self.world));
            }
        }
        self.inner.perform(task)
    }

    fn changed(&self, run: &Run) {
        self.inner.changed(run);
    }
}

fn other_team(world: &FakeWorld) -> Run {
    let (owner, cancel) = (world.start_owner(None), CancelToken::new());
    let performer = Idle::new(&owner, world, &cancel);
    let (journal, who) = (owner.journal(), &owner.process);
    let (id, request) = (RunId::new("r20261116-0900-bbbbb"), team_request(world));
    execute(request, &id, journal, who, &performer, &cancel).unwrap()
}

#[test]
fn two_teams_that_want_one_name_both_succeed() {
    let Scene { world, .. } = Scene::new();
    let (owner, cancel) = (world.start_owner(None), CancelToken::new());
    let performer = Overtaken {
        inner: Idle::new(&owner, &world, &cancel),
        world: &world,
        other: Mutex::default(),
    };
    let (journal, who) = (owner.journal(), &owner.process);
    let request = team_request(&world);
    let first = execute(request, &run_id(), journal, who, &performer, &cancel).unwrap();
    let second = performer.other.into_inner().unwrap().unwrap();
    assert_eq!(
        first.decided["createSandbox"], 2,
        "its first name was taken"
    );
    for (run, branch) in [(&second, "fix-login"), (&first, "fix-login-2")] {
        let outcome = run.outcome.as_ref().unwrap();
        assert_eq!(outcome.status, OutcomeStatus::Succeeded, "{outcome:?}");
        assert_eq!(run.work.branch.as_deref(), Some(branch));
        let pushed = world.repository.remote_branch("origin", branch);
        let head = run.work.head_sha.as_deref();
        assert_eq!(pushed.as_deref(), head, "{branch}");
        let files = world.repository.files_of(head.unwrap()).unwrap();
        assert_eq!(files[FILE], FIXED, "{branch}");
    }
    let opened = world.forge.pull_requests();
    let branches: BTreeSet<&str> = opened.iter().map(|pr| pr.branch.as_str()).collect();
    assert_eq!(opened.len(), 2);
    assert_eq!(branches, BTreeSet::from(["fix-login", "fix-login-2"]));
    assert_eq!(world.machine.overlaps(), Vec::<String>::new());
    assert_eq!(world.repository.sandboxes(), Vec::new());
}

/// A team that merges by itself after its work is reviewed and verified.
fn merging(scene: &Scene) -> Request {
    let mut request = team_request(&scene.world);
    if let RunKind::Team(terms) = &mut request.kind {
        terms.makes = Makes::Change {
            done: ChangeDone::Reviewed { auto_merge: true },
        };
    }
    request
}

#[test]
fn a_team_that_merges_by_itself_merges_what_was_verified() {
    let scene = Scene::new();
    let run = scene.execute(merging(&scene), None).unwrap();
    let outcome = run.outcome.unwrap();
    assert_eq!(
        (outcome.status, outcome.failure),
        (OutcomeStatus::Succeeded, None)
    );
    assert_eq!(scene.world.forge.pull_requests()[0].state, PrState::Merged);
    let repository = &scene.world.repository;
    let main = repository.remote_branch("origin", "main").unwrap();
    assert_eq!(repository.files_of(&main).unwrap()[FILE], FIXED);
    assert_nothing_is_lost(&scene, "after a merge");
}

#[test]
fn a_team_whose_work_fails_verification_merges_nothing() {
    let scene = Scene::new();
    scene.world.gate.set_passes(false);
    let main = scene.world.repository.remote_branch("origin", "main");
    let run = scene.execute(merging(&scene), None).unwrap();
    assert_ne!(run.outcome.unwrap().status, OutcomeStatus::Succeeded);
    assert_eq!(scene.world.forge.pull_requests()[0].state, PrState::Open);
    let after = scene.world.repository.remote_branch("origin", "main");
    assert_eq!(after, main);
    assert_nothing_is_lost(&scene, "after a failed verification");
}

#[test]
fn a_team_killed_while_it_merges_merges_once_or_not_at_all() {
    for crashes in [Crashes::BeforeAppend, Crashes::AfterAppend] {
        for number in FIRST_AFTER_REVIEWS.. {
            let scene = Scene::new();
            let when = format!("{crashes:?} {number}");
            if scene
                .execute(merging(&scene), Some(crashes.at(number)))
                .is_some()
            {
                assert!(number > FIRST_AFTER_REVIEWS + 5, "{when}: the last crash");
                break;
            }
            scene.recover(None).unwrap();
            assert_recovered(&scene, &when);
            let repository = &scene.world.repository;
            let main = repository.remote_branch("origin", "main").unwrap();
            let is_merged = repository.files_of(&main).unwrap().contains_key(FILE);
            let state = scene.world.forge.pull_requests()[0].state;
            assert_eq!(is_merged, state == PrState::Merged, "{when}");
        }
    }
}

#[test]
fn a_team_killed_before_any_append_is_recovered_with_its_work_saved() {
    kill_everywhere(Crashes::BeforeAppend);
}

#[test]
fn a_team_killed_after_any_append_is_recovered_with_its_work_saved() {
    kill_everywhere(Crashes::AfterAppend);
}

#[test]
fn a_team_killed_after_any_claim_is_recovered_with_its_work_saved() {
    kill_everywhere(Crashes::AfterClaim);
}

fn kill_everywhere(crashes: Crashes) {
    for number in 1.. {
        let (scene, run) = start(Some(crashes.at(number)));
        if run.is_some() {
            assert!(number > 20, "{crashes:?}: only {number} crashes");
            break;
        }
        let when = format!("{crashes:?} {number}");
        scene.recover(None).unwrap();
        assert_recovered(&scene, &when);
    }
}
