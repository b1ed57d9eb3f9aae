//! The comment that sums up the reviews.

use crate::common::{comment_ref, team_request};
use crate::team_step::scene::{APPROVED, OBJECTS, Scene, end};
use drive_core::forge::{CommentRef, Surface};
use drive_core::problem::{Kind, Problem};
use drive_core::review::LastWord;
use drive_core::run::{Effect, EffectResult, ForgeAct};
use drive_core::settings::TeamMode;

fn summaries(scene: &Scene) -> Vec<(&str, Option<CommentRef>)> {
    let acts = scene.performed.iter().filter_map(|effect| match effect {
        Effect::OnForge {
            act: ForgeAct::Summarize { body, comment },
            ..
        } => Some((body.as_str(), *comment)),
        _ => None,
    });
    acts.collect()
}

#[test]
fn the_summary_is_one_comment_that_says_how_each_domain_stands() {
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
    scene.fly(team_request(TeamMode::Github));
    let all = summaries(&scene);
    let known = comment_ref(Surface::Conversation, 400);
    let edited: Vec<_> = all.iter().map(|(_, comment)| *comment).collect();
    let later = vec![Some(known); all.len() - 1];
    assert_eq!(edited, [vec![None], later].concat());
    insta::assert_snapshot!("summary_of_an_objection", all[0].0);
    insta::assert_snapshot!("summary_at_the_end", all.last().unwrap().0);
}

#[test]
fn a_change_that_nobody_objects_to_gets_the_summary_and_no_other_review() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let run = scene.fly(team_request(TeamMode::Github));
    assert_eq!(end(&run).2, Some(LastWord::Approved));
    assert_eq!(scene.performed_as("postReview"), Vec::<&Effect>::new());
    assert_eq!(scene.told, ["ready", "status true"]);
}

#[test]
fn a_summary_that_somebody_deleted_is_posted_anew_and_no_other_failure_stops_a_team() {
    for (kind, again) in [(Kind::CommentNotFound, true), (Kind::ForgeRejected, false)] {
        let mut scene = Scene::reviews(&[APPROVED]);
        let failed = || EffectResult::Failed {
            problem: Problem::new(kind, "no"),
        };
        let posted = EffectResult::OnForge {
            answer: drive_core::run::ForgeAnswer::Posted {
                comment: comment_ref(Surface::Conversation, 400),
            },
        };
        scene.answers("summarize", [posted, failed()]);
        let run = scene.fly(team_request(TeamMode::Github));
        assert_eq!(end(&run).2, Some(LastWord::Approved), "{kind:?}");
        let all = summaries(&scene);
        assert_eq!(all[2].1.is_none(), again, "{kind:?}");
    }
}
