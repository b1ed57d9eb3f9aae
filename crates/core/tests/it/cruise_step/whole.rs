//! Tests a cruise whose branch moves while a fix for it is verified.

use super::judging::{FAILS, checks, scene, terms};
use super::scene::Scene;
use crate::common::{self, agent_said, comment};
use drive_core::agent::Role;
use drive_core::ids::CommitSha;
use drive_core::run::{
    Approved, Effect, EffectResult, ForgeAct, ForgeAnswer, Level, LineAct, Makes, MergeWhen,
    Objected, PollResult, Timer,
};

#[test]
fn what_others_push_while_a_fix_is_verified_is_merged_once_and_then_the_fix_lands() {
    let mut scene = scene(Level::Functional, &[]);
    checks(&mut scene, &[FAILS]);
    scene.settle_until(
        |effect| matches!(effect, Effect::RunAgent { job, .. } if job.role == Role::Fixer),
    );
    let before = scene.performed.len();
    scene.settle_until(|effect| matches!(effect, Effect::Verify { .. }));
    let pushed = CommitSha::new("d".repeat(40));
    scene.line = Some(pushed.clone());
    scene.answer("integrate", common::integrated('7'));
    scene.settle();
    let merges = scene.performed[before..].iter().filter(|effect| {
        matches!(
            effect,
            Effect::Integrate {
                when: MergeWhen::Always,
                ..
            }
        )
    });
    assert_eq!(merges.count(), 1, "{:?}", scene.names());
    let landed: Vec<(&CommitSha, String)> = scene.performed[before..]
        .iter()
        .filter_map(|effect| match effect {
            Effect::OnLine {
                act: LineAct::Land { from, commit, .. },
            } => Some((from, commit.to_string())),
            _ => None,
        })
        .collect();
    assert_eq!(landed, [(&pushed, "7".repeat(40))], "{:?}", scene.names());
}

#[test]
fn an_approval_that_a_merge_was_refused_for_merges_it_once() {
    let mut scene = scene(Level::Basic, &[]);
    let refused = || EffectResult::OnForge {
        answer: ForgeAnswer::NotMerged {
            reason: "`drive.toml` changed, and no person approved it".into(),
        },
    };
    scene.answer("merge", refused());
    scene.settle();
    assert_eq!(scene.acts("merge").len(), 1);
    assert!(scene.cruise().whole.left.is_some());
    let approved = || PollResult {
        approvals: Some(vec![Approved {
            by: "ann".into(),
            head: scene_head(),
        }]),
        ..PollResult::default()
    };
    // It is still refused, so a person decides.
    scene.answer("merge", refused());
    scene.sees(approved());
    scene.sees(approved());
    assert_eq!(scene.acts("merge").len(), 2, "{:?}", scene.names());

    let mut scene = self::scene(Level::Basic, &[]);
    scene.answer("merge", refused());
    scene.settle();
    scene.sees(approved());
    assert_eq!(scene.acts("merge").len(), 2, "{:?}", scene.names());
    assert!(scene.run.outcome.is_some(), "{:?}", scene.names());
}

fn objected(by: Option<&str>) -> PollResult {
    let one = |by: &str| Objected {
        by: by.into(),
        head: Some(scene_head()),
        url: None,
    };
    PollResult {
        objections: Some(by.map(one).into_iter().collect()),
        ..PollResult::default()
    }
}

/// For each commit status that was set, whether it was a success.
fn statuses(scene: &Scene) -> Vec<bool> {
    let set = scene.acts("setStatus").into_iter().filter_map(|act| {
        if let ForgeAct::SetStatus { passed, .. } = act {
            Some(*passed)
        } else {
            None
        }
    });
    set.collect()
}

/// Commits that passed everything, and wait for a person to merge them.
fn ready() -> Scene {
    let mut terms = terms(Level::Basic);
    if let Makes::Whole { auto_merge, .. } = &mut terms.makes {
        *auto_merge = false;
    }
    let mut scene = Scene::begin(terms);
    scene.line = Some(CommitSha::new("c".repeat(40)));
    scene.settle();
    assert_eq!(statuses(&scene), [true]);
    scene
}

#[test]
fn a_commit_that_was_called_ready_is_not_while_somebody_requests_changes() {
    let mut scene = ready();
    scene.sees(objected(Some("ann")));
    scene.sees(objected(Some("ann")));
    assert_eq!(statuses(&scene), [true, false], "{:?}", scene.names());
    let said = scene.bodies();
    let told = said
        .iter()
        .filter(|body| body.contains("ann requests changes"));
    assert_eq!(told.count(), 1, "{said:?}");
    scene.sees(objected(None));
    assert_eq!(statuses(&scene), [true, false, true]);
    let verified = scene.names().into_iter().filter(|name| *name == "verify");
    // The commit without the plan, its merge, and that merge again.
    assert_eq!(verified.count(), 3, "{:?}", scene.names());
}

#[test]
fn a_request_for_changes_during_the_verification_keeps_the_status_from_turning_green() {
    let mut scene = scene(Level::Basic, &[]);
    scene.settle_until(
        |effect| matches!(effect, Effect::Verify { base, .. } if base.branch.as_str() == "main"),
    );
    scene.looks.push_back(objected(Some("ann")));
    scene.wake(Timer::Poll);
    assert_eq!(statuses(&scene), [false], "{:?}", scene.names());
    assert!(scene.acts("merge").is_empty());
}

#[test]
fn a_dismissed_request_for_changes_lets_a_cruise_merge() {
    let mut scene = scene(Level::Basic, &[]);
    scene.looks.push_back(objected(Some("ann")));
    scene.settle();
    assert!(scene.acts("merge").is_empty(), "{:?}", scene.names());
    assert_eq!(statuses(&scene), [false]);
    scene.sees(objected(None));
    assert_eq!(scene.acts("merge").len(), 1, "{:?}", scene.names());
    assert!(scene.run.outcome.is_some(), "{:?}", scene.names());
}

#[test]
fn an_old_approval_does_not_outweigh_what_a_person_wrote_right_before_the_merge() {
    let mut scene = scene(Level::Basic, &[]);
    let declined = r#"{"comments": [{"id": 5, "action": "declined", "note": "It is tested."}]}"#;
    scene.agent(Role::Fixer, agent_said(declined));
    let approved = Approved {
        by: "ann".into(),
        head: scene_head(),
    };
    let unheard = PollResult {
        comments: vec![comment(5, "wait, this is not tested")],
        approvals: Some(vec![approved.clone()]),
        ..PollResult::default()
    };
    let answer = ForgeAnswer::Unheard {
        poll: Box::new(unheard),
    };
    scene.answer("merge", EffectResult::OnForge { answer });
    scene.settle();
    for _ in 0..3 {
        scene.sees(PollResult {
            approvals: Some(vec![approved.clone()]),
            ..PollResult::default()
        });
    }
    assert_eq!(scene.acts("merge").len(), 1, "{:?}", scene.names());
    let left = scene.cruise().whole.left.clone().unwrap().why;
    assert!(
        left.contains("wrote right before the merge: wait"),
        "{left}"
    );
    assert_eq!(statuses(&scene).last(), Some(&false));
}

/// The commit that goes to the base.
fn scene_head() -> CommitSha {
    CommitSha::new("b".repeat(40))
}

#[test]
fn what_the_merge_queue_takes_out_again_is_said_once_and_left_to_a_person() {
    let mut scene = scene(Level::Basic, &[]);
    scene.answer(
        "merge",
        EffectResult::OnForge {
            answer: ForgeAnswer::Queued,
        },
    );
    scene.settle();
    let waits = |scene: &Scene| scene.cruise().whole.left.as_ref().unwrap().why.clone();
    assert!(
        waits(&scene).contains("waits in the merge queue"),
        "{}",
        waits(&scene)
    );
    let queued = |queued| PollResult {
        queued: Some(queued),
        ..PollResult::default()
    };
    scene.performed.clear();
    scene.sees(queued(true));
    assert!(
        waits(&scene).contains("waits in the merge queue"),
        "{}",
        waits(&scene)
    );
    assert_eq!(scene.bodies(), Vec::<String>::new());
    scene.sees(queued(false));
    scene.sees(queued(false));
    assert!(waits(&scene).contains("took"), "{}", waits(&scene));
    let told = scene.bodies();
    let said = "Not merged: the merge queue took ";
    assert!(told.len() == 1 && told[0].starts_with(said), "{told:?}");
    assert_eq!(scene.acts("merge").len(), 0, "it is not put back");
    assert!(scene.run.outcome.is_none(), "people decide");
}
