//! Tests what reviewers get to read, and what follows if they do not get it.

use crate::common::{problem, team_request};
use crate::team_step::scene::{APPROVED, OBJECTS, Scene, end, team};
use drive_core::agent::Role;
use drive_core::problem::{Kind, Problem};
use drive_core::review::LastWord;
use drive_core::run::{Effect, EffectResult, ForgeAct, Life, OutcomeStatus, is_fix_unreviewed};
use drive_core::settings::TeamMode;

#[test]
fn a_reviewer_that_cannot_be_shown_the_change_approves_nothing() {
    for mode in [TeamMode::Sequential, TeamMode::Pingpong, TeamMode::Github] {
        let mut scene = Scene::reviews(&[APPROVED; 5]);
        scene.fails = Some("readDiff");
        let run = scene.fly(team_request(mode));
        let (status, kind, word) = end(&run);
        assert_eq!(word, Some(LastWord::Inconclusive), "{mode:?}");
        assert_eq!(kind, Some(Kind::ReviewInconclusive), "{mode:?}");
        assert_eq!(status, OutcomeStatus::NeedsHuman, "{mode:?}");
        assert!(scene.jobs.iter().all(|job| job.role != Role::Reviewer));
        let reviews = &team(&run).record.reviews;
        assert!(!reviews.is_empty());
        for review in reviews {
            let why = review.failure.as_deref();
            assert_eq!(why, Some("the change could not be read"));
        }
    }
}

#[test]
fn a_change_that_is_read_at_the_next_try_is_reviewed() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let failed = EffectResult::Failed { problem: problem() };
    scene.answers("readDiff", [failed.clone(), failed]);
    let run = scene.fly(team_request(TeamMode::Pingpong));
    assert_eq!(end(&run).2, Some(LastWord::Approved));
    assert_eq!(scene.performed_as("readDiff").len(), 3);
    assert_eq!(team(&run).record.reviews.len(), 1);
}

#[test]
fn paths_of_this_machine_are_not_posted_with_the_reason_of_a_failure() {
    let mut scene = Scene::reviews(&[]);
    let problem = Problem::new(
        Kind::AgentInterrupted,
        "cannot read /home/ann/.config/x in /state/sandboxes/x/a.rs",
    );
    scene.reviews.extend(
        [EffectResult::Failed { problem }]
            .into_iter()
            .cycle()
            .take(5),
    );
    let run = scene.fly(team_request(TeamMode::Github));
    let said: Vec<&str> = scene
        .performed
        .iter()
        .filter_map(|effect| match effect {
            Effect::OnForge {
                act: ForgeAct::PostComment { body },
                ..
            } => Some(body.as_str()),
            _ => None,
        })
        .collect();
    let expected = format!("cannot read ~/.config/x in {}/a.rs", run.id);
    assert!(said.iter().any(|body| body.contains(&expected)), "{said:?}");
    for path in ["/home/ann", "/state/sandboxes"] {
        assert!(said.iter().all(|body| !body.contains(path)), "{said:?}");
    }
    let reviews = &team(&run).record.reviews;
    assert!(reviews[0].failure.as_ref().unwrap().contains("/home/ann"));
}

#[test]
fn a_fix_of_the_last_mode_is_told_to_be_unreviewed() {
    let run = Scene::reviews(&[OBJECTS]).fly(team_request(TeamMode::Sequential));
    assert!(is_fix_unreviewed(&run));
    let run = Scene::reviews(&[APPROVED]).fly(team_request(TeamMode::Sequential));
    assert!(!is_fix_unreviewed(&run));
    let run = Scene::reviews(&[OBJECTS]).fly(team_request(TeamMode::Pingpong));
    assert!(!is_fix_unreviewed(&run));
}

#[test]
fn the_last_objection_stays_open_in_the_ledger_without_posts_too() {
    for mode in [TeamMode::Sequential, TeamMode::Pingpong] {
        let run = Scene::reviews(&[OBJECTS]).fly(team_request(mode));
        let open: Vec<_> = team(&run).ledger.open().collect();
        assert_eq!(open.len(), 1, "{mode:?}");
        assert_eq!(open[0].life, Life::Left);
        assert_eq!(open[0].path.as_deref(), Some("src/login.rs"));
        assert!(open[0].body.contains("the name is not checked"));
        let run = Scene::reviews(&[APPROVED]).fly(team_request(mode));
        assert_eq!(team(&run).ledger.open().count(), 0, "{mode:?}");
    }
    let run = Scene::reviews(&[OBJECTS, APPROVED]).fly(team_request(TeamMode::Pingpong));
    assert_eq!(team(&run).ledger.open().count(), 0);
}
