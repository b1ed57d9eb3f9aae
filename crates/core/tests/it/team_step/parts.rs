//! Tests a change that is too long for one reviewer: each part has its own, and together they give
//! one review.

use crate::common::{DIFF, agent_ended, agent_said, problem, team_request};
use crate::team_step::panel::{ends, go_on, in_review, reviewers};
use crate::team_step::scene::{APPROVED, OBJECTS, Scene, end, team};
use drive_core::agent::Failure;
use drive_core::agent::answer::Verdict;
use drive_core::forge::inline::parse_diff;
use drive_core::problem::{Kind, Problem};
use drive_core::review::{LastWord, Move};
use drive_core::run::{EffectResult, Request, Run, RunKind, Stage};
use drive_core::settings::TeamMode;
use serde_json::json;
use std::num::NonZeroU32;

const PARTS: usize = 3;

fn request() -> Request {
    let mut request = team_request(TeamMode::Pingpong);
    if let RunKind::Team(terms) = &mut request.kind {
        terms.review.max_parallel = NonZeroU32::new(5).unwrap();
    }
    request
}

/// A team with a working reviewer for every part of the change.
fn on_parts(scene: &mut Scene, request: Request) -> Run {
    let read = || EffectResult::DiffRead {
        diff: format!("one\n{DIFF}"),
        parts: vec![format!("two\n{DIFF}"), format!("three\n{DIFF}")],
        lines: parse_diff(DIFF),
        is_cut: false,
        since: None,
        changed: None,
        quotes: String::new(),
    };
    scene.answers("readDiff", [read(), read(), read()]);
    let run = in_review(scene, request);
    assert_eq!(parts_at_work(&run), [1, 2, 3]);
    run
}

/// The numbers of the parts whose reviewers are working.
fn parts_at_work(run: &Run) -> Vec<usize> {
    let all = reviewers(run).into_iter().map(|(_, job)| {
        let is_it = |part: &usize| job.prompt.contains(&told(*part));
        (1..=PARTS).find(is_it).expect("it is told its part")
    });
    let mut all: Vec<usize> = all.collect();
    all.sort_unstable();
    all
}

fn told(part: usize) -> String {
    format!("you review part {part} of {PARTS}")
}

/// Ends the reviewer of this part.
fn part_ends(run: Run, part: usize, result: EffectResult) -> Run {
    let all = reviewers(&run);
    let mut all = all.iter();
    let is_it = all.find(|(_, job)| job.prompt.contains(&told(part)));
    let (key, _) = is_it.expect("it is at work");
    ends(run, key, result)
}

#[test]
fn the_reviewer_of_a_part_is_shown_that_part() {
    let run = on_parts(&mut Scene::reviews(&[APPROVED]), request());
    for (_, job) in reviewers(&run) {
        let shown = ["\none\n", "\ntwo\n", "\nthree\n"];
        let shown: Vec<bool> = shown.iter().map(|text| job.prompt.contains(text)).collect();
        let wanted: Vec<bool> = (1..=PARTS)
            .map(|part| job.prompt.contains(&told(part)))
            .collect();
        assert_eq!(shown, wanted);
    }
}

#[test]
fn a_domain_approves_only_when_each_of_its_parts_was_approved() {
    for (last, word, found) in [
        (APPROVED, Some(Verdict::Approved), 0),
        (OBJECTS, Some(Verdict::NeedsChanges), 1),
    ] {
        let mut scene = Scene::reviews(&[APPROVED]);
        let mut run = on_parts(&mut scene, request());
        for part in [3, 1] {
            run = part_ends(run, part, agent_said(APPROVED));
            assert!(team(&run).record.reviews.is_empty());
        }
        run = part_ends(run, 2, agent_said(last));
        let [review] = team(&run).record.reviews.as_slice() else {
            panic!("{:?}", team(&run).record.reviews);
        };
        assert_eq!((review.verdict, review.findings.len()), (word, found));
        let run = go_on(&mut scene, run);
        assert_eq!(end(&run).2, Some(LastWord::Approved));
    }
}

#[test]
fn one_part_without_a_verdict_is_no_approval() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut run = on_parts(&mut scene, request());
    run = part_ends(run, 1, agent_said(APPROVED));
    run = part_ends(run, 2, agent_ended(Some(Failure::Infra)));
    run = part_ends(run, 3, agent_said(APPROVED));
    let run = go_on(&mut scene, run);
    assert_eq!(end(&run).2, Some(LastWord::Inconclusive));
    let failure = team(&run).record.reviews[0].failure.as_deref();
    assert!(
        failure.is_some_and(|why| why.starts_with("part 2 of 3: ")),
        "{failure:?}"
    );
}

#[test]
fn a_part_without_a_verdict_is_no_approval_once_the_objections_to_the_others_are_refuted() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut asked = request();
    if let RunKind::Team(terms) = &mut asked.kind {
        terms.review.refuter = Some(terms.reviewer.clone());
    }
    let mut run = on_parts(&mut scene, asked);
    run = part_ends(run, 1, agent_said(OBJECTS));
    run = part_ends(run, 2, EffectResult::Failed { problem: problem() });
    run = part_ends(run, 3, agent_said(APPROVED));
    assert!(matches!(&team(&run).stage, Stage::Refuting { diff, .. } if diff.contains("three")));
    let (key, _) = reviewers(&run)[0].clone();
    let said =
        json!({"findings": [{"id": "finding-1", "holds": false, "why": "line 1 checks it"}]});
    let run = ends(run, &key, agent_said(&said.to_string()));
    let run = go_on(&mut scene, run);
    assert_eq!(end(&run).2, Some(LastWord::Inconclusive));
}

#[test]
fn a_part_is_asked_again_alone() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut run = on_parts(&mut scene, request());
    run = part_ends(run, 1, agent_said(APPROVED));
    run = part_ends(run, 3, agent_said(APPROVED));
    run = part_ends(run, 2, agent_said("looks fine to me"));
    assert_eq!(parts_at_work(&run), [2]);
    let (_, job) = reviewers(&run)[0].clone();
    let why = "Your last answer could not be used";
    assert!(job.prompt.contains(why), "{}", job.prompt);
    run = part_ends(run, 2, agent_said(APPROVED));
    assert_eq!(team(&run).record.reviews.len(), 1);
    let run = go_on(&mut scene, run);
    assert_eq!(end(&run).2, Some(LastWord::Approved));
}

#[test]
fn a_moved_branch_drops_the_parts() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut run = on_parts(&mut scene, request());
    run = part_ends(run, 1, agent_said(APPROVED));
    scene.head = Some("f".repeat(40));
    let moved = EffectResult::Failed {
        problem: Problem::new(Kind::BranchMoved, "somebody committed"),
    };
    run = part_ends(run, 2, moved);
    run = part_ends(run, 3, agent_said(APPROVED));
    let before = scene.jobs.len();
    let run = go_on(&mut scene, run);
    assert_eq!(end(&run).2, Some(LastWord::Approved));
    assert_eq!(scene.jobs.len() - before, PARTS);
}

#[test]
fn reviewed_parts_of_the_same_commit_are_kept_through_the_journal() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let run = on_parts(&mut scene, request());
    let run = part_ends(run, 1, agent_said(APPROVED));
    let stored = serde_json::to_string(&run).unwrap();
    let run: Run = serde_json::from_str(&stored).unwrap();
    let Move::Review { seats } = &team(&run).next else {
        panic!("no review");
    };
    assert_eq!(seats[0].given.len(), 1);
    assert_eq!(parts_at_work(&run), [2, 3]);
}
