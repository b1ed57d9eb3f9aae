//! The reviewers, and a plan that is not sound.

use crate::common::{agent_ended, cruise::terms};
use crate::cruise_step::scene::Scene;
use drive_core::agent::{Failure, Role};
use drive_core::process::TimeBound;
use drive_core::run::EffectResult;

#[test]
fn a_reviewer_that_crashes_or_hangs_counts_as_complete_with_a_warning() {
    let mut scene = Scene::begin(terms());
    scene.agent(
        Role::Reviewer,
        agent_ended(Some(Failure::NoVerdict {
            exit_code: None,
            signal: Some(9),
        })),
    );
    scene.agent(
        Role::Reviewer,
        agent_ended(Some(Failure::TimedOut {
            bound: TimeBound::Idle,
        })),
    );
    scene.settle();
    let reviews = scene.jobs.iter().filter(|job| job.role == Role::Reviewer);
    assert_eq!(reviews.count(), 5);
    let complete =
        |domain: &str, why: &str| format!("{domain} review inconclusive: agent `gemini-cli` {why}");
    assert_eq!(
        scene.run.warnings,
        [
            complete("Security", "was killed by signal 9: it said so"),
            complete(
                "TechnicalFeasibility",
                "produced no output for too long (idle_timeout): it said so"
            ),
        ]
    );
}

#[test]
fn an_invalid_plan_becomes_a_fixer_round_that_quotes_the_error() {
    let mut scene = Scene::begin(terms());
    scene.answer("readFile", EffectResult::FileRead { text: None });
    scene.settle();
    let job = scene
        .jobs
        .iter()
        .find(|job| job.role == Role::Fixer)
        .unwrap();
    assert!(job.prompt.contains("no `plan.md` on the branch"));
    assert_eq!(scene.jobs[2].role, Role::Fixer, "before any review");
    assert_eq!(scene.cruise().rounds, 1);
}
