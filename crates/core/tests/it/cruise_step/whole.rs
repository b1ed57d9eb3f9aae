//! The branch of a cruise moves while a fix for it is verified.

use super::judging::{FAILS, checks, scene};
use crate::common;
use drive_core::agent::Role;
use drive_core::ids::CommitSha;
use drive_core::run::{
    Approved, Effect, EffectResult, ForgeAnswer, Level, LineAct, MergeWhen, PollResult,
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
    // It is still refused: a person decides.
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

/// The commit that goes to the base.
fn scene_head() -> CommitSha {
    CommitSha::new("b".repeat(40))
}
