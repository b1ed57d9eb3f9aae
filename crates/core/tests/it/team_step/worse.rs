//! Tests that every commit is verified before it is published, and that a fix that makes it worse
//! is reverted.

use crate::common::verification::{base, failed, passed, verified};
use crate::common::{problem, team_request};
use crate::team_step::scene::{APPROVED, OBJECTS, Scene, team};
use drive_core::agent::Role;
use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Effect, EffectResult, Request, Run, RunKind};
use drive_core::settings::TeamMode;
use drive_core::verify::{FailureCategory, StageStatus, Verification};

fn verifying(mode: TeamMode) -> Request {
    let mut request = team_request(mode);
    if let RunKind::Team(terms) = &mut request.kind {
        terms.review.verify = true;
    }
    request
}

fn commit(n: usize) -> CommitSha {
    CommitSha::new(format!("{n:040}"))
}

fn good(n: usize) -> EffectResult {
    verified(passed(commit(n).as_str(), &base()))
}

fn bad(n: usize) -> EffectResult {
    verified(failed(commit(n).as_str(), &base()))
}

/// A team whose first reviewer objects once, while the verifier gives these answers.
fn flown(mode: TeamMode, answers: Vec<EffectResult>) -> (Scene, Run) {
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
    scene.answers("verify", answers);
    let run = scene.fly(verifying(mode));
    (scene, run)
}

fn pushed(scene: &Scene) -> Vec<CommitSha> {
    let all = scene.performed.iter().filter_map(|effect| match effect {
        Effect::Push { head_sha, .. } => Some(head_sha.clone()),
        _ => None,
    });
    all.collect()
}

fn rolled_back(scene: &Scene) -> Vec<CommitSha> {
    let all = scene.performed.iter().filter_map(|effect| match effect {
        Effect::RollBack { to, .. } => Some(to.clone()),
        _ => None,
    });
    all.collect()
}

fn verifications(scene: &Scene) -> Vec<CommitSha> {
    let all = scene.performed.iter().filter_map(|effect| match effect {
        Effect::Verify { head, .. } => Some(head.clone()),
        _ => None,
    });
    all.collect()
}

#[test]
fn a_round_that_breaks_what_passed_is_taken_back_and_said() {
    for mode in [TeamMode::Sequential, TeamMode::Pingpong, TeamMode::Github] {
        let (scene, run) = flown(mode, vec![good(1), bad(2)]);
        assert_eq!(rolled_back(&scene), [commit(1)], "{mode:?}");
        assert_eq!(pushed(&scene), [commit(1)], "{mode:?}");
        assert_eq!(run.work.head_sha, Some(commit(1)), "{mode:?}");
        let commits: Vec<_> = run.work.commits.iter().map(|one| &one.sha).collect();
        assert_eq!(commits, [&commit(1)], "{mode:?}");
        assert_eq!(team(&run).record.rounds, [], "{mode:?}");
        if mode == TeamMode::Github {
            let said = scene.told.join("\n");
            let words = "Not resolved. 0000000000 did not pass verification";
            assert!(said.contains(words), "{said}");
        }
    }
}

#[test]
fn the_next_fixer_is_told_why_the_last_fix_was_taken_back() {
    let mut scene = Scene::reviews(&[OBJECTS, OBJECTS, APPROVED]);
    scene.answers("verify", vec![good(1), bad(2)]);
    let mut request = verifying(TeamMode::Pingpong);
    if let RunKind::Team(terms) = &mut request.kind {
        terms.max_iterations = 3;
    }
    scene.fly(request);
    let fixers: Vec<&str> = scene
        .jobs
        .iter()
        .filter(|job| job.role == Role::Fixer)
        .map(|job| job.prompt.as_str())
        .collect();
    let words = "did not pass verification, so it was not published";
    let told: Vec<bool> = fixers.iter().map(|prompt| prompt.contains(words)).collect();
    assert_eq!(told, [false, true]);
}

#[test]
fn a_round_that_leaves_the_same_failure_stays() {
    let (scene, run) = flown(TeamMode::Github, vec![bad(1), bad(2)]);
    assert_eq!(rolled_back(&scene), []);
    assert_eq!(pushed(&scene), [commit(1), commit(2)]);
    assert_eq!(run.work.head_sha, Some(commit(2)));
    // A stage that passed before and fails now is worse; one that did not run before is not.
    let other = |status| {
        let mut first = failed(commit(1).as_str(), &base());
        let mut more = first.stages[0].clone();
        more.route = "docs".into();
        more.status = status;
        first.stages.push(more);
        let mut then = failed(commit(2).as_str(), &base());
        then.stages[0].route = "docs".into();
        vec![verified(first), verified(then)]
    };
    let (scene, _) = flown(TeamMode::Github, other(StageStatus::Pass));
    assert_eq!(rolled_back(&scene), [commit(1)]);
    let (scene, _) = flown(TeamMode::Github, other(StageStatus::Skipped));
    assert_eq!(rolled_back(&scene), []);
}

#[test]
fn a_commit_that_could_not_be_verified_is_verified_before_it_is_compared() {
    let unknown = || EffectResult::Failed { problem: problem() };
    let (scene, run) = flown(TeamMode::Github, vec![unknown(), bad(2), good(1)]);
    assert_eq!(verifications(&scene), [commit(1), commit(2), commit(1)]);
    assert_eq!(rolled_back(&scene), [commit(1)]);
    assert_eq!(run.work.head_sha, Some(commit(1)));
    let (scene, run) = flown(TeamMode::Github, vec![unknown(), bad(2), bad(1)]);
    assert_eq!(rolled_back(&scene), []);
    assert_eq!(run.work.head_sha, Some(commit(2)));
    // The verification before the merge passed, but a person must approve the merge.
    let steered = || EffectResult::Failed {
        problem: Problem::new(Kind::SteeringUnapproved, "it changes `AGENTS.md`"),
    };
    let (scene, run) = flown(TeamMode::Github, vec![steered(), bad(2), steered()]);
    assert_eq!(rolled_back(&scene), [commit(1)]);
    assert_eq!(run.warnings, Vec::<String>::new());
}

#[test]
fn a_verifier_that_cannot_answer_takes_nothing_back() {
    let flaky = |n: usize| {
        let mut report: Verification = failed(commit(n).as_str(), &base());
        let failure = report.failure.as_mut().unwrap();
        failure.category = FailureCategory::Infra;
        verified(report)
    };
    let (scene, run) = flown(TeamMode::Github, vec![good(1), flaky(2)]);
    assert_eq!(rolled_back(&scene), []);
    assert_eq!(run.work.head_sha, Some(commit(2)));
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
    scene.fails = Some("verify");
    let run = scene.fly(verifying(TeamMode::Github));
    assert_eq!(rolled_back(&scene), []);
    assert_eq!(pushed(&scene), [commit(1), commit(2)]);
    let warned = run.warnings.join("\n");
    assert!(warned.contains("could not verify 0000000000: "), "{warned}");
}

#[test]
fn reviewers_are_told_what_verification_said_of_this_commit() {
    let (scene, _) = flown(TeamMode::Pingpong, vec![bad(1), good(2)]);
    let told: Vec<&str> = scene
        .jobs
        .iter()
        .filter(|job| job.role == Role::Reviewer)
        .map(|job| job.prompt.as_str())
        .collect();
    for words in [
        "drive verify, merged into dddddddddd: fail (test: targeted tests (all): exit code 1)",
        "failed stages: all/",
        "1 passed",
    ] {
        assert!(told[0].contains(words), "{words}: {}", told[0]);
    }
    assert!(told[1].contains("drive verify, merged into dddddddddd: pass"));
    assert!(!told[1].contains("failed stages"));
}

#[test]
fn nothing_is_verified_before_the_end_where_the_setting_is_off() {
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
    scene.fly(team_request(TeamMode::Github));
    assert_eq!(verifications(&scene), []);
}
