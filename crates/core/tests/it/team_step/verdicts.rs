//! Verdicts that cannot be read, and reviewers that give none.

use crate::common::{agent_ended, problem, team_request};
use crate::team_step::scene::{APPROVED, Scene, end};
use drive_core::agent::Failure;
use drive_core::problem::Kind;
use drive_core::review::LastWord;
use drive_core::run::{EffectResult, OutcomeStatus};
use drive_core::settings::TeamMode;

#[test]
fn a_garbage_verdict_is_asked_for_once_more_and_then_a_person_is_asked() {
    let mut scene = Scene::reviews(&["looks fine to me"]);
    let run = scene.fly(team_request(TeamMode::Pingpong));
    assert_eq!(scene.roles(), ["namer", "coder", "reviewer", "reviewer"]);
    assert_eq!(
        end(&run),
        (
            OutcomeStatus::NeedsHuman,
            Some(Kind::ReviewInconclusive),
            Some(LastWord::Inconclusive)
        )
    );
}

#[test]
fn a_reviewer_that_crashes_is_noted_on_the_pull_request_and_the_others_go_on() {
    for crash in [
        agent_ended(Some(Failure::Infra)),
        EffectResult::Failed { problem: problem() },
    ] {
        let mut scene = Scene::reviews(&[APPROVED]);
        scene.reviews.push_front(crash);
        let run = scene.fly(team_request(TeamMode::Github));
        assert_eq!(
            scene.told,
            [
                "[SECURITY REVIEW - INCONCLUSIVE]",
                "[TECHNICAL FEASIBILITY REVIEW - APPROVED] +0 lines",
                "[TASK GRANULARITY REVIEW - APPROVED] +0 lines",
                "[DEPENDENCY COMPLETENESS REVIEW - APPROVED] +0 lines",
                "[GENERAL POLISH REVIEW - APPROVED] +0 lines",
                "ready",
                "status false"
            ]
        );
        assert_eq!(end(&run).2, Some(LastWord::Inconclusive));
    }
}
