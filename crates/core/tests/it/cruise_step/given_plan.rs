//! Tests a plan that a person supplied.

use crate::common::{PLAN, cruise::terms};
use crate::cruise_step::scene::{Scene, head};
use drive_core::agent::Role;
use drive_core::ids::CommitSha;
use drive_core::run::{
    Approved, Effect, ForgeAct, GivenPlan, Makes, OutcomeStatus, PhaseTerms, PlanApproval,
    PollResult,
};

fn given(plan: GivenPlan, auto_approve: bool) -> PhaseTerms {
    PhaseTerms {
        makes: Makes::Plan {
            given: Some(plan),
            approval: PlanApproval {
                auto_approve,
                plan_only: true,
            },
        },
        ..terms()
    }
}

fn reviewers(scene: &Scene) -> usize {
    let jobs = scene.jobs.iter();
    jobs.filter(|job| job.role == Role::Reviewer).count()
}

#[test]
fn a_plan_that_is_used_as_it_is_waits_for_a_person_and_for_no_reviewer() {
    let as_it_is = PLAN.to_owned();
    let mut scene = Scene::begin(given(GivenPlan::AsItIs { as_it_is }, false));
    scene.settle();
    assert_eq!(reviewers(&scene), 0, "{:?}", scene.names());
    assert!(scene.run.awaits_approval());
    let opened = scene.performed.iter().find_map(|effect| match effect {
        Effect::OpenPullRequest { body, .. } => Some(body.as_str()),
        _ => None,
    });
    let waits = "Not approved yet: this plan gets no review.";
    assert!(
        opened.is_some_and(|body| body.contains(waits)),
        "{opened:?}"
    );
    scene.sees(PollResult {
        approvals: Some(vec![Approved {
            by: "ann".into(),
            head: CommitSha::new(head(1)),
        }]),
        ..PollResult::default()
    });
    assert_eq!(scene.outcome().status, OutcomeStatus::Succeeded);
    let described = scene.acts("updateBody");
    let Some(ForgeAct::UpdateBody { body }) = described.last() else {
        panic!("{:?}", scene.names());
    };
    assert!(body.contains("by ann: no review."), "{body}");
}

#[test]
fn a_plan_that_is_used_as_it_is_can_be_approved_without_anybody() {
    let as_it_is = PLAN.to_owned();
    let mut scene = Scene::begin(given(GivenPlan::AsItIs { as_it_is }, true));
    scene.settle();
    assert_eq!(reviewers(&scene), 0, "{:?}", scene.names());
    assert_eq!(scene.outcome().status, OutcomeStatus::Succeeded);
}

#[test]
fn a_plan_to_review_is_reviewed() {
    let mut scene = Scene::begin(given(GivenPlan::ToReview(PLAN.to_owned()), true));
    scene.settle();
    assert_eq!(reviewers(&scene), 5, "{:?}", scene.names());
    assert_eq!(scene.outcome().status, OutcomeStatus::Succeeded);
}
