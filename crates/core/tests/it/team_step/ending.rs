//! Tests the posts and actions at the end.

use crate::common::team_request;
use crate::team_step::scene::{APPROVED, OBJECTS, Scene, end, team};
use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};
use drive_core::review::LastWord;
use drive_core::run::{
    ChangeDone, Effect, EffectResult, ForgeAnswer, Makes, OutcomeStatus, Request, RunKind,
};
use drive_core::settings::TeamMode;

pub fn merging(mode: TeamMode) -> Request {
    let mut request = team_request(mode);
    if let RunKind::Team(terms) = &mut request.kind {
        terms.makes = Makes::Change {
            done: ChangeDone::Reviewed { auto_merge: true },
        };
    }
    request
}

fn is_draft(scene: &Scene) -> bool {
    matches!(
        scene.performed_as("openPullRequest")[..],
        [Effect::OpenPullRequest { draft: true, .. }]
    )
}

#[test]
fn a_pull_request_is_a_draft_until_it_is_ready_for_a_person() {
    for (said, tail) in [
        (APPROVED, ["ready", "status true"].as_slice()),
        (OBJECTS, &["status false"]),
        ("no verdict", &["ready", "status false"]),
    ] {
        let mut scene = Scene::reviews(&[said]);
        scene.fly(team_request(TeamMode::Github));
        assert!(is_draft(&scene));
        let told: Vec<&str> = scene.told.iter().map(String::as_str).collect();
        assert!(told.ends_with(tail), "{told:?}");
    }
    for mode in [TeamMode::Sequential, TeamMode::Pingpong] {
        let mut scene = Scene::reviews(&[APPROVED]);
        scene.fly(team_request(mode));
        assert!(!is_draft(&scene));
    }
}

#[test]
fn only_what_every_review_approved_is_merged_and_only_when_asked() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let run = scene.fly(merging(TeamMode::Github));
    assert_eq!(team(&run).merged, Some(CommitSha::new("9".repeat(40))));
    assert_eq!(
        scene.told.last(),
        Some(&format!("merge {}", scene.commits[0].sha))
    );
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
    for (mode, said) in [
        (TeamMode::Sequential, OBJECTS),
        (TeamMode::Pingpong, OBJECTS),
        (TeamMode::Github, "no verdict"),
    ] {
        let mut scene = Scene::reviews(&[said]);
        let run = scene.fly(merging(mode));
        assert_eq!(scene.performed_as("merge"), Vec::<&Effect>::new());
        assert_ne!(end(&run).0, OutcomeStatus::Succeeded, "{mode:?}");
    }
}

#[test]
fn a_pull_request_in_a_merge_queue_ends_the_run_unmerged_and_says_so() {
    let queued = EffectResult::OnForge {
        answer: ForgeAnswer::Queued,
    };
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.answers("merge", [queued]);
    let run = scene.fly(merging(TeamMode::Pingpong));
    let (status, kind, _) = end(&run);
    assert_eq!(status, OutcomeStatus::NeedsHuman);
    assert_eq!(kind, Some(Kind::MergeQueued));
    assert_eq!(team(&run).merged, None);
    assert_eq!(scene.performed_as("checkLanded"), Vec::<&Effect>::new());
}

#[test]
fn a_merge_that_the_forge_refuses_is_left_to_a_person() {
    let refused = EffectResult::OnForge {
        answer: ForgeAnswer::NotMerged {
            reason: "a check is missing".into(),
        },
    };
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.answers("merge", [refused]);
    let run = scene.fly(merging(TeamMode::Pingpong));
    assert_eq!(
        end(&run),
        (
            OutcomeStatus::NeedsHuman,
            Some(Kind::NotMerged),
            Some(LastWord::Approved)
        )
    );
    assert_eq!(team(&run).merged, None);
}

#[test]
fn a_merge_whose_answer_is_lost_is_asked_for_again_before_anything_is_said() {
    let lost = || EffectResult::Failed {
        problem: Problem::new(Kind::ForgeUnreachable, "the connection was closed"),
    };
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.answers("merge", [lost(), lost()]);
    let run = scene.fly(merging(TeamMode::Pingpong));
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
    assert_eq!(scene.performed_as("merge").len(), 3);

    let mut scene = Scene::reviews(&[APPROVED]);
    scene.answers("merge", std::iter::repeat_with(lost).take(20));
    let run = scene.fly(merging(TeamMode::Pingpong));
    assert_eq!(end(&run).1, Some(Kind::NotMerged));
    let failure = run.outcome.unwrap().failure.unwrap();
    let message = "it is unknown whether the pull request was merged";
    assert!(failure.message.starts_with(message), "{failure}");
    assert_eq!(scene.performed_as("merge").len(), 6);
}
