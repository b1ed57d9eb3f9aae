//! Tests a base that moves between its last check and the merge, so that the landed tree differs
//! from the verified one.

use crate::support::{Scene, team_request};
use drive_core::forge::PrState;
use drive_core::forge::checks::VERIFY_CONTEXT;
use drive_core::problem::Kind;
use drive_core::run::{ChangeDone, Makes, OutcomeStatus, Run, RunKind};
use drive_engine::ports::StatusState;

/// A team that merges while a person pushes to the base at the same moment.
fn overtaken(passes: bool) -> (Scene, Run) {
    let scene = Scene::new();
    let mut request = team_request(&scene.world);
    if let RunKind::Team(terms) = &mut request.kind {
        terms.makes = Makes::Change {
            done: ChangeDone::Reviewed { auto_merge: true },
        };
    }
    let (repository, gate) = (scene.world.repository.clone(), scene.world.gate.clone());
    scene.world.forge.before_merge(move || {
        repository.person_pushes("origin", "main", "theirs.txt", "theirs\n");
        gate.set_passes(passes);
    });
    let run = scene.execute(request, None).unwrap();
    assert_eq!(scene.world.forge.pull_requests()[0].state, PrState::Merged);
    (scene, run)
}

#[test]
fn another_tree_that_landed_is_verified_at_once_and_told() {
    let (_, run) = overtaken(true);
    let outcome = run.outcome.as_ref().unwrap();
    assert_eq!(outcome.status, OutcomeStatus::Succeeded, "{outcome:?}");
    let told = "differs from the verified tree; it was verified again and passed";
    assert!(
        run.warnings.iter().any(|one| one.contains(told)),
        "{:?}",
        run.warnings
    );
}

#[test]
fn another_tree_that_landed_broken_is_said_on_the_pull_request_with_the_way_back() {
    let (scene, run) = overtaken(false);
    let outcome = run.outcome.as_ref().unwrap();
    assert_eq!(outcome.status, OutcomeStatus::NeedsHuman);
    let failure = outcome.failure.as_ref().unwrap();
    assert_eq!(failure.kind, Kind::LandedBroken);
    let landed = scene
        .world
        .repository
        .remote_branch("origin", "main")
        .unwrap();
    let revert = format!("`git revert -m 1 {landed}`");
    assert!(
        failure.hint.as_ref().unwrap().contains(&revert),
        "{failure:?}"
    );
    let comments = scene.world.forge.comments();
    assert!(comments.iter().any(|one| one.body.contains(&revert)));
}

#[test]
fn a_verified_head_carries_the_result_as_a_check() {
    for (passes, expected) in [(true, StatusState::Success), (false, StatusState::Failure)] {
        let scene = Scene::new();
        let mut request = team_request(&scene.world);
        if let RunKind::Team(terms) = &mut request.kind {
            terms.makes = Makes::Change {
                done: ChangeDone::Reviewed { auto_merge: true },
            };
        }
        scene.world.gate.set_passes(passes);
        scene.execute(request, None).unwrap();
        let forge = &scene.world.forge;
        let head = &forge.pull_requests()[0].head_sha;
        assert_eq!(forge.report_of(head, VERIFY_CONTEXT), Some(expected));
    }
}

/// The control: if the base does not move, the verified tree lands.
#[test]
fn the_verified_tree_that_landed_is_not_verified_again() {
    let scene = Scene::new();
    let mut request = team_request(&scene.world);
    if let RunKind::Team(terms) = &mut request.kind {
        terms.makes = Makes::Change {
            done: ChangeDone::Reviewed { auto_merge: true },
        };
    }
    let gate = scene.world.gate.clone();
    scene
        .world
        .forge
        .before_merge(move || gate.set_passes(false));
    let run = scene.execute(request, None).unwrap();
    let outcome = run.outcome.as_ref().unwrap();
    assert_eq!(outcome.status, OutcomeStatus::Succeeded, "{outcome:?}");
}
