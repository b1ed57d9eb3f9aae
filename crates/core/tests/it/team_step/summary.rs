//! Tests the comment with the summary of the reviews.

use crate::common::{at, comment_ref, team_request};
use crate::team_step::ending::merging;
use crate::team_step::scene::{APPROVED, OBJECTS, Scene, end};
use drive_core::forge::{CommentRef, Surface};
use drive_core::problem::{Kind, Problem};
use drive_core::review::LastWord;
use drive_core::run::{Effect, EffectResult, Event, ForgeAct, PostKey, RunKind, step};
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
        let panel = [OBJECTS, APPROVED, APPROVED, APPROVED, APPROVED];
        let mut scene = Scene::reviews(&[&panel[..], &panel, &[APPROVED]].concat());
        let failed = || EffectResult::Failed {
            problem: Problem::new(kind, "no"),
        };
        let posted = EffectResult::OnForge {
            answer: drive_core::run::ForgeAnswer::Posted {
                comment: comment_ref(Surface::Conversation, 400),
            },
        };
        scene.answers("summarize", [posted, failed()]);
        let mut request = team_request(TeamMode::Github);
        if let RunKind::Team(terms) = &mut request.kind {
            terms.max_iterations = 3;
        }
        let run = scene.fly(request);
        assert_eq!(end(&run).2, Some(LastWord::Approved), "{kind:?}");
        let all = summaries(&scene);
        assert_eq!(all[2].1.is_none(), again, "{kind:?}");
    }
}

#[test]
fn a_stop_or_kill_while_the_first_summary_is_posted_finds_it_again_by_its_key() {
    for stop in [Event::CancelAsked, Event::OwnerLost] {
        let mut scene = Scene::reviews(&[APPROVED]);
        let is_summary = |run: &drive_core::run::Run| {
            let mut pending = run.pending.keys();
            pending.any(|key| key.as_str().starts_with("summarize"))
        };
        let run = scene.fly_until(team_request(TeamMode::Github), is_summary);
        let (key, effect) = run.pending.first_key_value().unwrap();
        let (key, effect) = (key.clone(), effect.clone());
        let Effect::OnForge { act, pr, .. } = effect else {
            panic!("{effect:?}")
        };
        let mut run = step(run, stop.clone(), at(100)).unwrap().0;
        let go_on = |scene: &mut Scene, mut run: drive_core::run::Run| {
            while let Some((key, effect)) = run.pending.first_key_value() {
                let result = scene.perform(effect);
                let key = key.clone();
                run = step(run, Event::EffectEnded { key, result }, at(200))
                    .unwrap()
                    .0;
            }
            run
        };
        run = go_on(&mut scene, run);
        assert!(run.outcome.is_some(), "{stop:?}");
        scene.performed.clear();
        run = step(run, Event::Resumed { granted: None }, at(300))
            .unwrap()
            .0;
        go_on(&mut scene, run);
        let again = Effect::OnForge {
            pr,
            act,
            idempotency_key: Some(PostKey::Step(key.as_str().to_owned())),
        };
        assert_eq!(scene.performed_as("summarize").first(), Some(&&again));
        let anew = summaries(&scene)
            .into_iter()
            .filter(|(_, comment)| comment.is_none());
        assert_eq!(anew.count(), 1, "{stop:?}");
    }
}

#[test]
fn the_summary_folds_what_comes_after_ten_findings() {
    let finding =
        |n: usize| format!(r#"{{"file": "src/login.rs", "line": {n}, "issue": "wrong {n}"}}"#);
    let all: Vec<String> = (1..=13).map(finding).collect();
    let said = format!(
        r#"{{"verdict": "needs_changes", "suggestions": [{}]}}"#,
        all.join(", ")
    );
    let mut scene = Scene::reviews(&[&said, APPROVED]);
    scene.fly(team_request(TeamMode::Github));
    let text = summaries(&scene)[0].0.to_owned();
    assert!(
        text.starts_with("**Needs changes** at `0000000000`: 13 open findings.\n"),
        "{text}"
    );
    let (shown, folded) = text
        .split_once("<details><summary>3 more findings</summary>\n\n")
        .unwrap();
    assert_eq!(shown.matches(": wrong ").count(), 10, "{text}");
    assert_eq!(folded.matches(": wrong ").count(), 3, "{text}");
}

#[test]
fn nothing_is_approved_that_the_commit_status_does_not_approve() {
    for (verify, passed) in [("verify", false), ("", true)] {
        let mut scene = Scene::reviews(&[APPROVED]);
        let request = if passed {
            team_request(TeamMode::Github)
        } else {
            merging(TeamMode::Github)
        };
        scene.fails = Some(verify);
        scene.fly(request);
        let last = summaries(&scene).last().unwrap().0.to_owned();
        assert_eq!(last.starts_with("**Approved** at"), passed, "{last}");
        assert_eq!(
            last.starts_with("**Not verified**: could not be verified"),
            !passed,
            "{last}"
        );
        let expected = format!("status {passed}");
        let mut statuses = scene.told.iter().filter(|one| one.starts_with("status"));
        assert_eq!(statuses.next_back(), Some(&expected));
    }
}

#[test]
fn every_mode_sums_up_its_reviews_in_one_comment_that_is_edited() {
    for mode in [TeamMode::Sequential, TeamMode::Pingpong] {
        let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
        scene.fly(team_request(mode));
        let all = summaries(&scene);
        let known = comment_ref(Surface::Conversation, 400);
        let edited: Vec<_> = all.iter().map(|(_, comment)| *comment).collect();
        let later = vec![Some(known); all.len() - 1];
        assert_eq!(edited, [vec![None], later].concat(), "{mode:?}");
        let (first, _) = all[0];
        assert!(
            first.contains("[REVIEW - NEEDS CHANGES]"),
            "{mode:?}: {first}"
        );
        assert!(first.contains("Open findings:"), "{mode:?}: {first}");
        let (last, _) = all.last().unwrap();
        let is_approved = last.contains("[REVIEW - APPROVED]");
        assert_eq!(is_approved, mode == TeamMode::Pingpong, "{mode:?}: {last}");
    }
}
