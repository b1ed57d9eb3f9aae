//! The branch of a cruise moves while a fix for it is verified.

use super::judging::scene;
use crate::common;
use drive_core::ids::CommitSha;
use drive_core::run::{Effect, Level, LineAct, MergeWhen, PollResult};

#[test]
fn what_others_push_while_a_fix_is_verified_is_merged_once_and_then_the_fix_lands() {
    let mut scene = scene(Level::Basic, &[]);
    scene.sees(PollResult {
        comments: vec![common::comment(5, "check the name")],
        ..PollResult::default()
    });
    scene.settle_until(|effect| matches!(effect, Effect::Verify { .. }));
    let pushed = CommitSha::new("d".repeat(40));
    scene.line = Some(pushed.clone());
    scene.settle();
    let merges = scene.performed.iter().filter(|effect| {
        matches!(
            effect,
            Effect::Integrate {
                when: MergeWhen::Always,
                ..
            }
        )
    });
    // What was there when the phase began, and what came meanwhile.
    assert_eq!(merges.count(), 2, "{:?}", scene.names());
    let landed: Vec<&CommitSha> = scene
        .performed
        .iter()
        .filter_map(|effect| match effect {
            Effect::OnLine {
                act: LineAct::Land { from, .. },
            } => Some(from),
            _ => None,
        })
        .collect();
    assert_eq!(landed, [&pushed], "{:?}", scene.names());
}
