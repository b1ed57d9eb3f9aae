//! Tests a validator, which judges what no program checks, before a cruise's work goes to the base.

use super::scene::{Scene, head};
use crate::common::{self, agent_ended, agent_said};
use drive_core::agent::{Failure, Role};
use drive_core::ids::{BranchName, CommitSha, PrNumber, TaskId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{
    ContractCheck, Effect, EffectResult, JudgeCheck, Level, LineAnswer, Makes, Opinion, Phase,
    PhaseTerms, Published, Receipt, ReceiptResult, Shows, Stage, Timer, WholeTerms, fold,
};

const MET: &str = r#"{"tasks": [{"id": "login", "status": "implemented",
    "evidence": [{"criterion": "a1", "file": "src/login.rs", "line": 3}]}]}"#;
const MISSING: &str = r#"{"tasks": [{"id": "login", "status": "missing",
    "evidence": [{"criterion": "a1", "command": ["./login", ""], "expect": {"exit": 2}}]}]}"#;

fn whole(level: Level) -> WholeTerms {
    WholeTerms {
        head: CommitSha::new("c".repeat(40)),
        pull_request: Published {
            number: PrNumber::new(7),
            url: "local:7".into(),
        },
        landed: "1 of 1 task landed.".into(),
        drops_plan: false,
        reviewed: false,
        contract: vec![ContractCheck {
            task: TaskId::new("login"),
            id: "runs".into(),
            shows: Shows::Criterion("it runs".into()),
            command: vec!["./login".into(), "ann".into()],
            exit: 0,
            contains: None,
        }],
        judged: vec![JudgeCheck {
            task: TaskId::new("login"),
            id: "a1".into(),
            criterion: "an empty name is refused".into(),
        }],
        level,
        max_waves: 1,
    }
}

pub(super) fn terms(level: Level) -> PhaseTerms {
    PhaseTerms {
        makes: Makes::Whole {
            whole: Box::new(whole(level)),
            auto_merge: true,
        },
        branch: Some(BranchName::parse("login").unwrap()),
        ..common::cruise::terms()
    }
}

pub(super) fn scene(level: Level, answers: &[&str]) -> Scene {
    let mut scene = Scene::begin(terms(level));
    scene.line = Some(CommitSha::new("c".repeat(40)));
    for answer in answers {
        scene.agent(Role::Validator, agent_said(answer));
    }
    scene
}

/// Sets the results of the next contract check, with the exit codes of commands that ran.
pub(super) fn checks(scene: &mut Scene, results: &[(&str, ReceiptResult, Option<i32>)]) {
    let receipts = results
        .iter()
        .map(|(id, result, exit)| Receipt {
            task: TaskId::new("login"),
            id: (*id).to_owned(),
            result: *result,
            exit: *exit,
            output: "accepted".into(),
            duration_ms: 1,
            why: (*result != ReceiptResult::Proven).then(|| "exit code 0, expected 2".into()),
            ran: true,
        })
        .collect();
    let answer = LineAnswer::ContractChecked { receipts };
    scene.answer("checkContract", EffectResult::OnLine { answer });
}

const RUNS: (&str, ReceiptResult, Option<i32>) = ("runs", ReceiptResult::Proven, Some(0));
pub(super) const FAILS: (&str, ReceiptResult, Option<i32>) =
    ("runs", ReceiptResult::Failed, Some(1));
const REFUTED: (&str, ReceiptResult, Option<i32>) = ("a1", ReceiptResult::Failed, Some(0));
const PASSES: (&str, ReceiptResult, Option<i32>) = ("a1", ReceiptResult::Proven, Some(2));
const NOT_RUN: (&str, ReceiptResult, Option<i32>) = ("a1", ReceiptResult::Failed, None);

fn opinion(phase: &Phase) -> &Opinion {
    phase
        .whole
        .checked
        .as_ref()
        .unwrap()
        .opinion
        .as_ref()
        .unwrap()
}

fn is_merged(scene: &Scene) -> bool {
    !scene.acts("merge").is_empty()
}

fn left(scene: &Scene) -> String {
    assert!(!is_merged(scene));
    scene
        .cruise()
        .whole
        .left
        .clone()
        .map_or_else(String::new, |left| left.why)
}

fn validators(scene: &Scene) -> usize {
    let jobs = scene.jobs.iter();
    jobs.filter(|job| job.role == Role::Validator).count()
}

#[test]
fn a_strict_cruise_merges_what_a_validator_judged_with_evidence() {
    let mut scene = scene(Level::Strict, &[MET]);
    scene.settle();
    assert!(is_merged(&scene), "{:?}", scene.names());
    let entry = &opinion(scene.cruise()).entries[0];
    assert_eq!(entry.result, ReceiptResult::Judged);
    assert_eq!(entry.places[0].line, Some(3));
    let told = scene.bodies().join("\n");
    assert!(
        told.contains("| `login a1` | judged; see `src/login.rs:3` | none |"),
        "{told}"
    );
    let job = scene
        .jobs
        .iter()
        .find(|job| job.role == Role::Validator)
        .unwrap();
    assert_eq!(job.agent, "gemini-cli", "the reviewer's agent judges");
    for words in [
        "an empty name is refused",
        "Task `login`, entry `runs`: proven",
        &"b".repeat(40),
    ] {
        assert!(job.prompt.contains(words), "{}", job.prompt);
    }
    assert_eq!(job.input.entries[0].id, "a1");
    let again = fold(common::run_id(), scene.journal.clone()).unwrap();
    assert_eq!(again, scene.run, "the journal alone decides");
}

#[test]
fn a_validator_that_claims_everything_does_not_pass_a_strict_cruise() {
    let bare = r#"{"tasks": [{"id": "login", "status": "implemented", "note": "all is perfect"}]}"#;
    let mut one = scene(Level::Strict, &[bare]);
    one.settle();
    let why = "an acceptance entry of task `login` has no evidence: an empty name is refused";
    assert_eq!(left(&one), why);
    // The same for a validator that names a missing file.
    let mut other = scene(Level::Strict, &[MET]);
    checks(&mut other, &[RUNS]);
    checks(&mut other, &[("a1", ReceiptResult::Failed, Some(1))]);
    other.settle();
    assert_eq!(left(&other), why);
}

#[test]
fn a_claim_that_no_command_confirms_does_not_stand_in_the_way_of_a_functional_cruise() {
    for claim in [PASSES, NOT_RUN] {
        let mut scene = scene(Level::Functional, &[MISSING]);
        checks(&mut scene, &[RUNS]);
        checks(&mut scene, &[claim]);
        scene.settle();
        assert!(is_merged(&scene), "{claim:?}");
        let entry = &opinion(scene.cruise()).entries[0];
        assert_eq!(entry.result, ReceiptResult::Unproven, "{claim:?}");
        let why = entry.why.as_deref().unwrap();
        assert!(
            why.starts_with("the validator says `missing`, and its command"),
            "{why}"
        );
    }
}

#[test]
fn a_counterexample_that_fails_is_a_fixers_work_and_the_next_commit_is_judged_again() {
    for level in [Level::Functional, Level::Strict] {
        let mut scene = scene(level, &[MISSING, MET]);
        checks(&mut scene, &[RUNS]);
        checks(&mut scene, &[REFUTED]);
        scene.settle();
        let fixer = scene
            .jobs
            .iter()
            .find(|job| job.role == Role::Fixer)
            .unwrap();
        for words in [
            "`a1` of task `login` is not met",
            "./login",
            "exit code 2",
            "accepted",
        ] {
            assert!(fixer.prompt.contains(words), "{}", fixer.prompt);
        }
        assert_eq!(validators(&scene), 2, "{level:?}");
        assert_eq!(
            scene.cruise().whole.checked.as_ref().unwrap().commit,
            CommitSha::new(head(1))
        );
        assert!(is_merged(&scene), "{level:?}: {:?}", scene.names());
    }
}

#[test]
fn a_counterexample_that_still_fails_needs_a_person() {
    let mut scene = scene(Level::Functional, &[MISSING, MISSING]);
    for _ in 0..2 {
        checks(&mut scene, &[RUNS]);
        checks(&mut scene, &[REFUTED]);
    }
    scene.settle();
    assert_eq!(
        left(&scene),
        "an acceptance entry of task `login` is not met: an empty name is refused"
    );
}

#[test]
fn only_a_confirmed_critical_finding_stands_in_the_way_of_a_strict_cruise() {
    let critical = MET.replace(
        "}]}]}",
        r#"}]}], "findings": [{"severity": "critical", "title": "it deletes files", "command": ["./login"]}],
           "additions": ["a debug mode"]}"#,
    );
    let found = ("1", ReceiptResult::Failed, Some(1));
    for (second, merges) in [
        (found, false),
        (("1", ReceiptResult::Proven, Some(0)), true),
    ] {
        let mut scene = scene(Level::Strict, &[&critical, &critical]);
        for _ in 0..2 {
            checks(&mut scene, &[RUNS]);
            checks(
                &mut scene,
                &[("a1", ReceiptResult::Proven, Some(0)), second],
            );
        }
        scene.settle();
        assert_eq!(is_merged(&scene), merges);
        let told = scene.bodies().join("\n");
        assert!(
            told.contains("it deletes files") && told.contains("- a debug mode"),
            "{told}"
        );
        if !merges {
            assert_eq!(
                left(&scene),
                "a critical finding is confirmed: it deletes files"
            );
        }
    }
}

#[test]
fn an_unusable_answer_is_asked_for_once_more_and_never_passes() {
    let mut scene = scene(Level::Strict, &["All is well.", MET]);
    scene.settle();
    assert_eq!(validators(&scene), 2);
    let again = scene
        .jobs
        .iter()
        .rfind(|job| job.role == Role::Validator)
        .unwrap();
    assert!(
        again
            .prompt
            .contains("could not be used: it has no JSON block"),
        "{}",
        again.prompt
    );
    assert!(is_merged(&scene));

    let mut scene = self::scene(Level::Strict, &["All is well.", "Really."]);
    scene.settle();
    assert_eq!(validators(&scene), 2);
    assert!(left(&scene).contains("has no evidence"));
    let warned = scene.run.warnings.join("\n");
    assert!(
        warned.contains("no validator judged the contract"),
        "{warned}"
    );
}

#[test]
fn a_validator_whose_model_is_away_is_waited_for() {
    let mut scene = scene(Level::Strict, &[]);
    scene.agent(
        Role::Validator,
        agent_ended(Some(Failure::Model { status: Some(529) })),
    );
    scene.agent(Role::Validator, agent_said(MET));
    scene.settle();
    assert!(!is_merged(&scene));
    assert_eq!(validators(&scene), 1);
    // Polls do not start it again.
    for _ in 0..3 {
        scene.wake(Timer::Poll);
    }
    assert_eq!(validators(&scene), 1);
    scene.wake(Timer::Hold);
    assert_eq!(validators(&scene), 2);
    assert!(is_merged(&scene));
    let checked = scene
        .names()
        .iter()
        .filter(|name| **name == "checkContract")
        .count();
    assert_eq!(checked, 2, "what programs showed is not run again");
}

#[test]
fn an_answer_about_another_commit_is_dropped() {
    let mut scene = scene(Level::Strict, &[MET, MET]);
    scene.settle_until(
        |effect| matches!(effect, Effect::RunAgent { job, .. } if job.role == Role::Validator),
    );
    assert_eq!(scene.cruise().stage, Stage::Judging);
    // It was started for one commit, and another one was on the branch when it ended.
    let problem = Problem::new(Kind::BranchMoved, "the branch has moved");
    scene.answer("runAgent", EffectResult::Failed { problem });
    scene.answer("integrate", common::integrated('7'));
    scene.settle();
    let checked = scene.cruise().whole.checked.as_ref().unwrap();
    assert_eq!(checked.commit, CommitSha::new("7".repeat(40)));
    assert!(checked.opinion.is_some());
    assert_eq!(validators(&scene), 1);
    let job = scene
        .jobs
        .iter()
        .find(|job| job.role == Role::Validator)
        .unwrap();
    assert!(job.prompt.contains(&"7".repeat(40)), "{}", job.prompt);
}

#[test]
fn a_basic_cruise_needs_no_validator() {
    let mut scene = scene(Level::Basic, &[]);
    scene.settle();
    assert_eq!(validators(&scene), 0);
    assert!(is_merged(&scene));
}
