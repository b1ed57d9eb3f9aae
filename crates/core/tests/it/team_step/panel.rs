//! Tests domains that review one commit in parallel.

use crate::common::{agent_ended, agent_said, at, problem, run_id, team_request};
use crate::team_step::scene::{APPROVED, OBJECTS, Scene, end, team};
use drive_core::agent::{Failure, Role};
use drive_core::ids::EffectKey;
use drive_core::problem::{Kind, Problem};
use drive_core::process::{Layer, LayerName, LayerState};
use drive_core::review::{Domain, LastWord};
use drive_core::run::{
    AgentJob, Effect, EffectResult, Event, ForgeAct, Request, Run, RunKind, fold, open_findings,
    step,
};
use drive_core::settings::TeamMode;
use serde_json::json;
use std::collections::BTreeSet;
use std::num::NonZeroU32;

fn side_by_side(most: u32) -> Request {
    let mut request = team_request(TeamMode::Github);
    if let RunKind::Team(terms) = &mut request.kind {
        terms.review.max_parallel = NonZeroU32::new(most).unwrap();
    }
    request
}

pub fn reviewers(run: &Run) -> Vec<(EffectKey, AgentJob)> {
    let agents = run.pending.iter().filter_map(|(key, effect)| match effect {
        Effect::RunAgent { job, .. } if job.role == Role::Reviewer => {
            Some((key.clone(), job.as_ref().clone()))
        }
        _ => None,
    });
    agents.collect()
}

/// A team whose first reviewers are working.
pub fn in_review(scene: &mut Scene, request: Request) -> Run {
    let run = scene.fly_until(request, |run| !reviewers(run).is_empty());
    assert!(run.outcome.is_none());
    run
}

pub fn ends(run: Run, key: &EffectKey, result: EffectResult) -> Run {
    let key = key.clone();
    step(run, Event::EffectEnded { key, result }, at(100))
        .unwrap()
        .0
}

/// Ends the reviewer of this domain.
fn ends_as(run: Run, domain: &Domain, result: EffectResult) -> Run {
    let all = reviewers(&run);
    let is_it = |(_, job): &&(EffectKey, AgentJob)| job.domain.as_deref() == Some(domain.name());
    let (key, _) = all.iter().find(is_it).expect("it is at work");
    ends(run, key, result)
}

fn objects_to(line: u64, issue: &str) -> EffectResult {
    let found = json!({"file": "src/login.rs", "line": line, "issue": issue});
    let said = json!({"verdict": "needs_changes", "suggestions": [found]});
    agent_said(&said.to_string())
}

#[test]
fn no_more_than_the_setting_allows_work_at_once_and_the_next_starts_when_one_ends() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut run = in_review(&mut scene, side_by_side(2));
    let mut seen = Vec::new();
    for left in [5, 4, 3, 2, 1] {
        let all = reviewers(&run);
        assert_eq!(all.len(), left.min(2));
        let (key, job) = all.last().unwrap().clone();
        seen.push(job.domain.unwrap());
        run = ends(run, &key, agent_said(APPROVED));
    }
    assert!(reviewers(&run).is_empty());
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 5, "{seen:?}");
}

#[test]
fn what_all_domains_found_is_one_round_of_one_fixer() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut run = in_review(&mut scene, side_by_side(5));
    let issues = [
        "The name is not checked",
        "Reads the table twice",
        "Two tasks in one",
        "No lock file",
        "A typo",
    ];
    for (line, (domain, issue)) in (1..).zip(Domain::SHIPPED[1..].iter().zip(issues)) {
        run = ends_as(run, domain, objects_to(line, issue));
    }
    let run = go_on(&mut scene, run);
    assert_eq!(end(&run).2, Some(LastWord::Approved));
    let fixers = scene.jobs.iter().filter(|job| job.role == Role::Fixer);
    assert_eq!(fixers.count(), 1);
    assert_eq!(scene.performed_as("postReview").len(), 5);
    assert_eq!(scene.commits.len(), 2);
}

#[test]
fn what_two_domains_found_is_told_and_fixed_once() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut run = in_review(&mut scene, side_by_side(5));
    // The last one ends first.
    run = ends_as(
        run,
        &Domain::GeneralPolish,
        objects_to(3, "The name of a user is not checked"),
    );
    run = ends_as(
        run,
        &Domain::Security,
        objects_to(2, "The name of the user is not checked"),
    );
    for domain in &Domain::SHIPPED[2..5] {
        run = ends_as(run, domain, agent_said(APPROVED));
    }
    let run = go_on(&mut scene, run);
    let posts: Vec<(&str, usize)> = scene
        .performed
        .iter()
        .filter_map(|effect| match effect {
            Effect::OnForge {
                act: ForgeAct::PostReview { body, lines, .. },
                ..
            } => Some((body.as_str(), lines.len())),
            _ => None,
        })
        .collect();
    let [first] = posts.as_slice() else {
        panic!("{posts:?}");
    };
    assert!(first.0.starts_with("[SECURITY REVIEW - NEEDS CHANGES]"));
    assert_eq!(first.1, 1);
    let fixer = scene.jobs.iter().find(|job| job.role == Role::Fixer);
    assert_eq!(fixer.unwrap().input.comments.len(), 1);
    // In the record, each domain has its own findings.
    let reviews = &team(&run).record.reviews;
    let found: Vec<usize> = reviews.iter().map(|one| one.findings.len()).collect();
    assert_eq!(found[..5], [1, 1, 0, 0, 0]);
}

#[test]
fn a_domain_that_only_hints_at_it_does_not_hide_what_another_asks_for() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut run = in_review(&mut scene, side_by_side(5));
    let minor = json!({"verdict": "approved", "suggestions": [
        {"file": "src/login.rs", "line": 2, "issue": "the name is not checked", "severity": "minor"}]});
    run = ends_as(run, &Domain::Security, agent_said(&minor.to_string()));
    for domain in &Domain::SHIPPED[2..5] {
        run = ends_as(run, domain, agent_said(APPROVED));
    }
    run = ends_as(run, &Domain::GeneralPolish, agent_said(OBJECTS));
    go_on(&mut scene, run);
    let fixer = scene.jobs.iter().find(|job| job.role == Role::Fixer);
    assert_eq!(fixer.unwrap().input.comments.len(), 1);
}

#[test]
fn the_rest_of_a_budget_is_shared_among_those_at_work() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut request = side_by_side(5);
    request.budget.tokens = Some(12_400);
    let run = in_review(&mut scene, request);
    // The namer and the coder used 1200 each.
    let shares: Vec<_> = reviewers(&run)
        .iter()
        .map(|(_, job)| job.budget.tokens)
        .collect();
    assert_eq!(shares, [Some(2_000); 5]);
    let key = reviewers(&run)[0].0.clone();
    assert_eq!(run.budget_for(&key).tokens, Some(2_000));
}

#[test]
fn a_model_that_is_away_is_one_outage_for_all_who_met_it_and_what_others_said_counts() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut run = in_review(&mut scene, side_by_side(5));
    let away = || agent_ended(Some(Failure::Model { status: Some(529) }));
    run = ends_as(run, &Domain::Security, agent_said(APPROVED));
    for domain in &Domain::SHIPPED[2..5] {
        run = ends_as(run, domain, away());
    }
    run = ends_as(run, &Domain::GeneralPolish, agent_said(APPROVED));
    assert_eq!(team(&run).counts.failures, 1);
    let before = scene.jobs.len();
    let run = go_on(&mut scene, run);
    assert_eq!(end(&run).2, Some(LastWord::Approved));
    let again = scene.jobs[before..].iter();
    let again: BTreeSet<_> = again.filter_map(|job| job.domain.as_deref()).collect();
    let names = Domain::SHIPPED[2..5].iter().map(Domain::name);
    assert_eq!(again, names.collect());
}

#[test]
fn a_branch_that_moved_is_reviewed_anew_by_all_of_them() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut run = in_review(&mut scene, side_by_side(5));
    let theirs = "f".repeat(40);
    scene.head = Some(theirs.clone());
    let moved = || EffectResult::Failed {
        problem: Problem::new(Kind::BranchMoved, "somebody committed"),
    };
    run = ends_as(run, &Domain::Security, agent_said(APPROVED));
    for domain in &Domain::SHIPPED[2..] {
        run = ends_as(run, domain, moved());
    }
    assert_eq!(team(&run).counts.moves, 1, "it is one move");
    let run = go_on(&mut scene, run);
    assert_eq!(end(&run).2, Some(LastWord::Approved));
    let head = run.work.head_sha.clone();
    for domain in &Domain::SHIPPED[1..] {
        let mut reviews = team(&run).record.reviews.iter();
        let last = reviews
            .rfind(|one| one.domain.as_ref() == Some(domain))
            .unwrap();
        assert_eq!(last.head, head, "{domain}");
    }
}

#[test]
fn an_objection_that_was_given_is_open_although_the_others_never_said_a_word() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut run = in_review(&mut scene, side_by_side(2));
    run = ends_as(run, &Domain::Security, agent_said(OBJECTS));
    run = step(run, Event::CancelAsked, at(101)).unwrap().0;
    let cancelled = || agent_ended(Some(Failure::Cancelled));
    run = ends_as(run, &Domain::TechnicalFeasibility, cancelled());
    let run = go_on(&mut scene, run);
    assert_eq!(end(&run).1, Some(Kind::Interrupted));
    assert_eq!(open_findings(&run).len(), 1);
}

#[test]
fn nobody_is_started_after_a_stop_was_asked_for() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut run = in_review(&mut scene, side_by_side(1));
    run = step(run, Event::CancelAsked, at(101)).unwrap().0;
    run = ends_as(run, &Domain::Security, agent_said(APPROVED));
    assert!(reviewers(&run).is_empty());
    let run = go_on(&mut scene, run);
    assert_eq!(end(&run).1, Some(Kind::Interrupted));
}

#[test]
fn a_domain_that_is_asked_again_has_the_verdict_of_its_last_answer() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut run = in_review(&mut scene, side_by_side(5));
    for domain in &Domain::SHIPPED[2..] {
        run = ends_as(run, domain, agent_said(APPROVED));
    }
    run = ends_as(run, &Domain::Security, agent_said("I do not know."));
    run = ends_as(run, &Domain::Security, agent_said(APPROVED));
    let run = go_on(&mut scene, run);
    assert_eq!(end(&run).2, Some(LastWord::Approved));
}

#[test]
fn whoever_ends_after_somebody_moved_the_branch_reviews_again() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut run = in_review(&mut scene, side_by_side(5));
    let moved = EffectResult::Failed {
        problem: Problem::new(Kind::BranchMoved, "somebody committed"),
    };
    run = ends_as(run, &Domain::Security, moved);
    for domain in &Domain::SHIPPED[2..] {
        run = ends_as(run, domain, agent_said(APPROVED));
    }
    let before = scene.jobs.len();
    let run = go_on(&mut scene, run);
    assert_eq!(end(&run).2, Some(LastWord::Approved));
    assert_eq!(scene.jobs.len() - before, 5);
}

#[test]
fn reviewers_that_could_write_work_one_after_the_other() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let is_next = |run: &Run| run.pending.values().any(|one| one.name() == "readDiff");
    let mut run = scene.fly_until(side_by_side(5), is_next);
    let why = "switched off".to_owned();
    run.layers = vec![Layer {
        name: LayerName::WriteScope,
        state: LayerState::Missing(why),
    }];
    let (key, effect) = run.pending.first_key_value().unwrap();
    let (key, read) = (key.clone(), scene.perform(effect));
    let run = ends(run, &key, read);
    assert_eq!(reviewers(&run).len(), 1);
}

#[test]
fn only_a_finding_that_was_shown_can_be_refuted() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut request = side_by_side(5);
    if let RunKind::Team(terms) = &mut request.kind {
        terms.review.refuter = Some(terms.reviewer.clone());
    }
    let mut run = in_review(&mut scene, request);
    for (domain, line) in [(&Domain::Security, 2), (&Domain::GeneralPolish, 3)] {
        run = ends_as(run, domain, objects_to(line, "The name is not checked"));
    }
    for domain in &Domain::SHIPPED[2..5] {
        run = ends_as(run, domain, agent_said(APPROVED));
    }
    let (key, job) = reviewers(&run)[0].clone();
    assert!(job.prompt.contains("`finding-2`"), "{}", job.prompt);
    let said =
        json!({"findings": [{"id": "finding-1", "holds": false, "why": "line 1 checks it"}]});
    let run = ends(run, &key, agent_said(&said.to_string()));
    let open = open_findings(&run);
    let open: Vec<_> = open.iter().map(|(domain, _)| domain.cloned()).collect();
    assert_eq!(open, [Some(Domain::GeneralPolish)]);
}

#[test]
fn a_blocker_that_its_reviewer_is_not_sure_of_is_no_approval_once_the_rest_is_refuted() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut request = side_by_side(5);
    if let RunKind::Team(terms) = &mut request.kind {
        terms.review.refuter = Some(terms.reviewer.clone());
    }
    let mut run = in_review(&mut scene, request);
    let found = [
        json!({"file": "src/login.rs", "line": 2, "issue": "the name is not checked"}),
        json!({"file": "src/login.rs", "line": 4, "issue": "it may leak the password",
            "severity": "blocker", "confidence": 50}),
    ];
    let objects = json!({"verdict": "needs_changes", "suggestions": found}).to_string();
    run = ends_as(run, &Domain::Security, agent_said(&objects));
    for domain in &Domain::SHIPPED[2..] {
        run = ends_as(run, domain, agent_said(APPROVED));
    }
    let (key, _) = reviewers(&run)[0].clone();
    let said =
        json!({"findings": [{"id": "finding-2", "holds": false, "why": "line 1 checks it"}]});
    run = ends(run, &key, agent_said(&said.to_string()));
    let run = go_on(&mut scene, run);
    assert_eq!(end(&run).2, Some(LastWord::Inconclusive));
}

#[test]
fn whoever_saw_another_commit_last_is_shown_what_changed_since_that_one() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut run = in_review(&mut scene, side_by_side(5));
    let seen = scene.commits[0].sha.clone();
    scene.head = Some("f".repeat(40));
    run = ends_as(run, &Domain::GeneralPolish, agent_said(APPROVED));
    for domain in &Domain::SHIPPED[1..5] {
        let problem = Problem::new(Kind::BranchMoved, "somebody committed");
        run = ends_as(run, domain, EffectResult::Failed { problem });
    }
    let run = go_on(&mut scene, run);
    assert_eq!(end(&run).2, Some(LastWord::Approved));
    let reads = scene.performed.iter().filter_map(|effect| match effect {
        Effect::ReadDiff { since, .. } => Some(since.clone()),
        _ => None,
    });
    let since: Vec<_> = reads.collect();
    assert_eq!(since, [None, None, Some(seen)]);
}

/// An older version stored neither who was working nor which reviews were given.
#[test]
fn a_run_that_an_older_version_left_in_a_review_is_read_and_goes_on() {
    for old in [
        json!({"stage": "reviewing", "diff": "the diff", "lines": []}),
        json!({"stage": "refuting", "record": {}, "lines": []}),
    ] {
        let mut scene = Scene::reviews(&[APPROVED]);
        let run = in_review(&mut scene, side_by_side(1));
        let mut stored = serde_json::to_value(&run).unwrap();
        stored["flow"]["phase"]["stage"] = old;
        stored["flow"]["phase"]["next"] =
            json!({"move": "review", "domain": "Security", "round": 1});
        let run: Run = serde_json::from_value(stored).unwrap();
        let run = go_on(&mut scene, run);
        assert_eq!(end(&run).2, Some(LastWord::Approved));
        assert_eq!(team(&run).record.reviews.len(), 5);
    }
}

/// An older version stored which domain was next.
#[test]
fn a_run_of_an_older_version_goes_on_with_every_domain_that_has_not_approved() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let is_next = |run: &Run| run.pending.values().any(|one| one.name() == "readDiff");
    let run = scene.fly_until(side_by_side(5), is_next);
    let mut stored = serde_json::to_value(&run).unwrap();
    stored["flow"]["phase"]["next"] = json!({"move": "review", "domain": "Security", "round": 1});
    stored["flow"]["phase"]["review"] = json!({"plan": {}, "at": 0});
    let run: Run = serde_json::from_value(stored).unwrap();
    let (key, _) = run.pending.first_key_value().unwrap();
    let failed = EffectResult::Failed { problem: problem() };
    let key = key.clone();
    let run = ends(run, &key, failed);
    let run = go_on(&mut scene, run);
    assert_eq!(end(&run).2, Some(LastWord::Approved));
    assert_eq!(team(&run).record.reviews.len(), 5);
}

pub fn go_on(scene: &mut Scene, mut run: Run) -> Run {
    for second in 200..5_000 {
        let Some((key, effect)) = run.pending.first_key_value() else {
            let Some((&timer, &due)) = run.timers.iter().min_by_key(|(_, due)| **due) else {
                return run;
            };
            run = step(run, Event::Woken { timer }, due).unwrap().0;
            continue;
        };
        let ended = Event::EffectEnded {
            key: key.clone(),
            result: scene.perform(effect),
        };
        run = step(run, ended, at(second)).unwrap().0;
    }
    panic!("no end: {:?}", scene.told);
}

/// Folding its journal again gives the same state: a panel is stored only in the journal.
#[test]
fn a_panel_is_in_the_journal() {
    let requested = Event::Requested {
        request: Box::new(side_by_side(3)),
    };
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut journal = vec![(requested, at(0))];
    for second in 1..40 {
        let run = fold(run_id(), journal.clone()).unwrap();
        let stored = serde_json::to_string(&run).unwrap();
        assert_eq!(serde_json::from_str::<Run>(&stored).unwrap(), run);
        let Some((key, effect)) = run.pending.last_key_value() else {
            break;
        };
        let ended = Event::EffectEnded {
            key: key.clone(),
            result: scene.perform(effect),
        };
        journal.push((ended, at(second)));
    }
}
