//! Tests that the landed tree is compared with the verified one, even by a run that was stopped in between.

use crate::common::verification::{base, failed};
use crate::team_step::ending::merging;
use crate::team_step::resuming::{RESUMED, begin, perform_one, tell, to_the_end};
use crate::team_step::scene::{APPROVED, Scene, end, polled};
use drive_core::forge::PrState;
use drive_core::ids::CommitSha;
use drive_core::problem::Kind;
use drive_core::run::{Effect, EffectResult, Event, LandedAs, OutcomeStatus, PollResult, Run};
use drive_core::settings::TeamMode;

/// A team that is stopped while this effect is pending.
fn stopped_before(scene: &mut Scene, mode: TeamMode, name: &str) -> Run {
    let mut run = begin(merging(mode));
    while !run.pending.values().any(|effect| effect.name() == name) {
        run = perform_one(scene, run);
    }
    run = tell(run, Event::CancelAsked);
    let run = to_the_end(scene, run);
    assert_eq!(end(&run).1, Some(Kind::Interrupted));
    run
}

/// From now on the forge reports that the pull request is merged.
fn is_merged(scene: &mut Scene) {
    is_merged_as(scene, None);
}

/// The same, with the commit of the merge on the base.
fn is_merged_as(scene: &mut Scene, merged_sha: Option<CommitSha>) {
    let poll = || PollResult {
        state: Some(PrState::Merged),
        merged_sha: merged_sha.clone(),
        ..PollResult::default()
    };
    let answer = || EffectResult::OnForge {
        answer: polled(poll()),
    };
    scene.answers("poll", (0..20).map(|_| answer()));
}

/// The commits that were compared.
fn looked_at(scene: &Scene) -> Vec<Option<CommitSha>> {
    let all = scene.performed.iter();
    all.filter_map(|effect| match effect {
        Effect::CheckLanded { landed, .. } => Some(landed.clone()),
        _ => None,
    })
    .collect()
}

#[test]
fn a_run_that_is_stopped_between_the_merge_and_the_look_at_what_landed_looks_when_it_goes_on() {
    for mode in [TeamMode::Pingpong, TeamMode::Github] {
        let mut scene = Scene::reviews(&[APPROVED]);
        let run = stopped_before(&mut scene, mode, "checkLanded");
        // The result of a comparison during the stop is not known any more.
        let before = looked_at(&scene).len();
        is_merged(&mut scene);
        let run = to_the_end(&mut scene, tell(run, RESUMED));
        // It knows the commit from before the stop.
        let landed = Some(CommitSha::new("9".repeat(40)));
        assert_eq!(looked_at(&scene)[before..], [landed], "{mode:?}");
        assert_eq!(end(&run).0, OutcomeStatus::Succeeded, "{mode:?}");
    }
}

#[test]
fn a_resumed_run_whose_merge_landed_broken_says_so() {
    for mode in [TeamMode::Pingpong, TeamMode::Github] {
        let mut scene = Scene::reviews(&[APPROVED]);
        let run = stopped_before(&mut scene, mode, "checkLanded");
        is_merged(&mut scene);
        let landed = "9".repeat(40);
        scene.answers(
            "checkLanded",
            [EffectResult::Landed {
                unread: Vec::new(),
                objections: Vec::new(),
                missing: None,
                sha: CommitSha::new(landed.clone()),
                made: LandedAs::Merge,
                report: Some(Box::new(failed(&landed, &base()))),
            }],
        );
        let run = to_the_end(&mut scene, tell(run, RESUMED));
        assert_eq!(
            (end(&run).0, end(&run).1),
            (OutcomeStatus::NeedsHuman, Some(Kind::LandedBroken)),
            "{mode:?}"
        );
    }
}

#[test]
fn the_commit_of_a_persons_merge_is_the_one_that_is_compared() {
    let landed = Some(CommitSha::new("8".repeat(40)));
    for merged_sha in [landed, None] {
        let mut scene = Scene::reviews(&[APPROVED]);
        let run = stopped_before(&mut scene, TeamMode::Github, "merge");
        let before = looked_at(&scene).len();
        is_merged_as(&mut scene, merged_sha.clone());
        let run = to_the_end(&mut scene, tell(run, RESUMED));
        assert_eq!(looked_at(&scene)[before..], [merged_sha]);
        assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
    }
}
