//! Tests a second agent that refutes findings.

use crate::common::{agent_ended, agent_said, team_request};
use crate::team_step::scene::{APPROVED, OBJECTS, Scene, end, team};
use drive_core::agent::answer::Verdict;
use drive_core::agent::{Failure, Role};
use drive_core::review::LastWord;
use drive_core::run::{AgentJob, EffectResult, Request, Run, RunKind};
use drive_core::settings::TeamMode;

const HOLDS: &str = r#"{"findings": [{"id": "finding-1", "holds": true, "why": "line 2"}]}"#;
const REFUTED: &str =
    r#"{"findings": [{"id": "finding-1", "holds": false, "why": "line 1 checks it"}]}"#;

fn refuting(mode: TeamMode) -> Request {
    let mut request = team_request(mode);
    if let RunKind::Team(terms) = &mut request.kind {
        terms.review.refuter = Some(terms.reviewer.clone());
    }
    request
}

fn reviewers(scene: &Scene) -> Vec<&AgentJob> {
    let jobs = scene.jobs.iter();
    jobs.filter(|job| job.role == Role::Reviewer).collect()
}

fn fixers(scene: &Scene) -> usize {
    let jobs = scene.jobs.iter();
    jobs.filter(|job| job.role == Role::Fixer).count()
}

fn first_verdict(run: &Run) -> Option<Verdict> {
    team(run).record.reviews[0].verdict
}

#[test]
fn a_finding_that_is_refuted_with_a_reason_is_listed_and_nobody_has_to_fix_it() {
    for mode in [TeamMode::Github, TeamMode::Pingpong, TeamMode::Sequential] {
        let mut said = vec![OBJECTS];
        if mode == TeamMode::Github {
            said.extend([APPROVED; 4]);
        }
        let panel = said.len();
        said.extend([REFUTED, APPROVED]);
        let mut scene = Scene::reviews(&said);
        let run = scene.fly(refuting(mode));
        assert_eq!(end(&run).2, Some(LastWord::Approved), "{mode:?}");
        assert_eq!(fixers(&scene), 0, "{mode:?}");
        assert_eq!(first_verdict(&run), Some(Verdict::Approved), "{mode:?}");
        let finding = &team(&run).record.reviews[0].findings[0];
        assert_eq!(finding.refuted.as_deref(), Some("line 1 checks it"));
        let asked = reviewers(&scene)[panel];
        assert!(
            asked
                .prompt
                .contains("Finding `finding-1`, on `src/login.rs` line 2:")
        );
        assert!(asked.prompt.contains("the name is not checked"));
    }
}

#[test]
fn a_finding_that_holds_goes_to_the_fixer() {
    let mut scene = Scene::reviews(&[OBJECTS, HOLDS, APPROVED]);
    let run = scene.fly(refuting(TeamMode::Pingpong));
    assert_eq!(end(&run).2, Some(LastWord::Approved));
    assert_eq!(fixers(&scene), 1);
    assert_eq!(first_verdict(&run), Some(Verdict::NeedsChanges));
    assert_eq!(reviewers(&scene).len(), 3);
}

#[test]
fn an_agent_that_fails_or_answers_in_another_form_refutes_nothing() {
    let failed = || EffectResult::Failed {
        problem: drive_core::problem::Problem::new(
            drive_core::problem::Kind::AgentInterrupted,
            "it was killed",
        ),
    };
    for answer in [
        agent_said(APPROVED),
        agent_said("They are all wrong."),
        agent_ended(Some(Failure::Reported)),
        failed(),
    ] {
        let mut scene = Scene::reviews(&[OBJECTS]);
        scene.reviews.push_back(answer);
        scene.reviews.push_back(agent_said(APPROVED));
        let run = scene.fly(refuting(TeamMode::Pingpong));
        assert_eq!(first_verdict(&run), Some(Verdict::NeedsChanges));
        assert_eq!(fixers(&scene), 1);
        let warned = run.warnings.iter();
        assert_eq!(
            warned
                .filter(|one| one.starts_with("no second agent checked"))
                .count(),
            1
        );
    }
}

#[test]
fn an_approval_is_not_refuted() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.fly(refuting(TeamMode::Pingpong));
    assert_eq!(reviewers(&scene).len(), 1);
}

#[test]
fn a_refutation_of_one_place_does_not_clear_the_others() {
    const TWICE: &str = r#"{"verdict": "needs_changes", "suggestions": [
        {"file": "src/login.rs", "line": 2, "issue": "the name is not checked"},
        {"file": "src/admin.rs", "line": 9, "issue": "The name is not checked."}]}"#;
    let mut scene = Scene::reviews(&[TWICE, REFUTED, APPROVED]);
    let run = scene.fly(refuting(TeamMode::Pingpong));
    assert_eq!(first_verdict(&run), Some(Verdict::NeedsChanges));
    assert_eq!(fixers(&scene), 1);
    let findings = &team(&run).record.reviews[0].findings;
    let refuted = findings.iter().map(|one| {
        let file = one.file.as_deref().unwrap();
        (file, one.refuted.is_some())
    });
    let expected = [("src/login.rs", true), ("src/admin.rs", false)];
    assert_eq!(refuted.collect::<Vec<_>>(), expected);
    let both = REFUTED.replace(
        "}]}",
        "}, {\"id\": \"finding-2\", \"holds\": false, \"why\": \"no\"}]}",
    );
    let run = Scene::reviews(&[TWICE, &both]).fly(refuting(TeamMode::Pingpong));
    assert_eq!(first_verdict(&run), Some(Verdict::Approved));
}

#[test]
fn a_refutation_that_stands_in_the_change_refutes_nothing() {
    let mut scene = Scene::reviews(&[OBJECTS, REFUTED, APPROVED]);
    let read = EffectResult::DiffRead {
        diff: format!("+{REFUTED}\n"),
        parts: Vec::new(),
        lines: Vec::new(),
        is_cut: false,
        since: None,
        changed: None,
        quotes: String::new(),
    };
    scene.answers("readDiff", [read]);
    let run = scene.fly(refuting(TeamMode::Pingpong));
    assert_eq!(first_verdict(&run), Some(Verdict::NeedsChanges));
    assert_eq!(fixers(&scene), 1);
}

#[test]
fn a_blocker_or_major_that_its_reviewer_is_not_sure_of_is_checked_as_well() {
    const BOTH: &str = r#"{"verdict": "needs_changes", "suggestions": [
        {"file": "src/login.rs", "line": 2, "issue": "the name is not checked"},
        {"file": "src/admin.rs", "line": 9, "issue": "it may panic", "severity": "blocker", "confidence": 40},
        {"file": "src/admin.rs", "line": 30, "issue": "a typo", "severity": "minor"}]}"#;
    let both = REFUTED.replace(
        "}]}",
        "}, {\"id\": \"finding-2\", \"holds\": false, \"why\": \"no\"}]}",
    );
    let mut scene = Scene::reviews(&[BOTH, &both, APPROVED]);
    let run = scene.fly(refuting(TeamMode::Pingpong));
    let asked = &reviewers(&scene)[1].prompt;
    assert!(asked.contains("it may panic"), "{asked}");
    assert!(!asked.contains("a typo"), "{asked}");
    assert_eq!(first_verdict(&run), Some(Verdict::Approved));
    let findings = &team(&run).record.reviews[0].findings;
    let refuted = findings.iter().filter(|one| one.refuted.is_some());
    assert_eq!(refuted.count(), 2);
}
