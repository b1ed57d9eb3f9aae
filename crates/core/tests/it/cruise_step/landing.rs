//! Tests that a task with its own pull request handles comments until its commits have landed.

use super::scene::{Scene, head};
use crate::common;
use drive_core::agent::Role;
use drive_core::forge::PrState;
use drive_core::forge::checks::{Check, CheckSource, CheckState, Checks};
use drive_core::ids::{BranchName, CommitSha, RunId, TaskId};
use drive_core::run::{
    Approved, Ask, ChangeDone, ChildState, Effect, Event, Landable, Makes, Objected, OutcomeStatus,
    Parent, PhaseEnd, PhaseTerms, PollResult, Request, RunKind, RunMessage, TaskScope, Timer,
    against_landing,
};

fn scene(approve: bool) -> Scene {
    scene_with(approve, common::cruise::terms())
}

fn scene_with(approve: bool, terms: PhaseTerms) -> Scene {
    let terms = PhaseTerms {
        makes: Makes::Change {
            done: ChangeDone::Landed { approve },
        },
        branch: Some(BranchName::parse("login").unwrap()),
        title: Some("Log in".into()),
        scope: Some(TaskScope::default()),
        ..terms
    };
    let mut scene = Scene::with(Request {
        kind: RunKind::Team(Box::new(terms)),
        parent: Some(Parent {
            run: RunId::new("r1"),
            task: TaskId::new("login"),
        }),
        ..common::cruise::request_with(common::cruise::terms())
    });
    scene.settle();
    scene
}

fn commit(n: usize) -> CommitSha {
    CommitSha::new(head(n))
}

/// The last offer that its parent got.
fn offered(scene: &Scene) -> Landable {
    let report = scene.run.reported.as_ref();
    report.map_or(Landable::NotYet, |report| report.landable.clone())
}

/// The fixer rounds and the open comments in the last report to its parent.
fn counted(scene: &Scene) -> (u32, u32) {
    let report = scene.run.reported.as_ref();
    report.map_or((0, 0), |report| (report.rounds, report.open_comments))
}

fn fixers(scene: &Scene) -> usize {
    let jobs = scene.jobs.iter();
    jobs.filter(|job| job.role == Role::Fixer).count()
}

#[test]
fn a_reviewed_task_is_offered_and_a_comment_takes_it_back_until_it_is_answered() {
    let mut scene = scene(false);
    assert_eq!(offered(&scene), Landable::Ready { head: commit(1) });
    assert!(scene.run.outcome.is_none(), "it has not landed");
    scene.looks.push_back(PollResult {
        state: Some(PrState::Open),
        comments: vec![common::comment(5, "check the name")],
        ..PollResult::default()
    });
    scene.tell(Event::Woken { timer: Timer::Poll });
    scene.settle_until(
        |effect| matches!(effect, Effect::RunAgent { job, .. } if job.role == Role::Fixer),
    );
    assert_eq!(offered(&scene), Landable::NotYet, "before it is answered");
    assert_eq!(counted(&scene), (0, 1), "its parent knows of the comment");
    scene.settle();
    assert_eq!(fixers(&scene), 1);
    assert_eq!(counted(&scene), (1, 0), "its parent knows of the round");
    assert_eq!(offered(&scene), Landable::Ready { head: commit(2) });
}

#[test]
fn a_standing_request_for_changes_keeps_a_task_from_landing() {
    let mut scene = scene(false);
    scene.sees(PollResult {
        objections: Some(vec![Objected {
            by: "bob".into(),
            head: Some(commit(1)),
            url: None,
        }]),
        ..PollResult::default()
    });
    assert_ne!(offered(&scene), Landable::Ready { head: commit(1) });
    scene.sees(PollResult {
        objections: Some(Vec::new()),
        ..PollResult::default()
    });
    assert_eq!(offered(&scene), Landable::Ready { head: commit(1) });
}

#[test]
fn where_a_person_must_approve_the_reviewed_commit_waits_for_that() {
    let mut scene = scene(true);
    assert_eq!(offered(&scene), Landable::Unapproved { head: commit(1) });
    let state = &scene.run.reported.as_ref().unwrap().state;
    assert!(matches!(state, ChildState::NeedsPerson { .. }), "{state:?}");
    scene.sees(PollResult {
        approvals: Some(vec![Approved {
            by: "ann".into(),
            head: commit(7),
        }]),
        ..PollResult::default()
    });
    assert_eq!(
        offered(&scene),
        Landable::Unapproved { head: commit(1) },
        "another commit was approved"
    );
    scene.sees(PollResult {
        approvals: Some(vec![Approved {
            by: "ann".into(),
            head: commit(1),
        }]),
        ..PollResult::default()
    });
    assert_eq!(offered(&scene), Landable::Ready { head: commit(1) });
}

#[test]
fn what_keeps_a_task_from_landing_is_a_fixers_work_and_is_said() {
    let mut scene = scene(false);
    let why = "Merged together with `b`, it did not pass verification.\n\nthe report".to_owned();
    let ask = Ask::Mend {
        head: commit(1),
        why: why.clone(),
    };
    scene.ask(ask.clone());
    assert_eq!(fixers(&scene), 1);
    let told = scene.bodies().join("\n");
    assert!(
        told.contains("does not land yet. Merged together with `b`"),
        "{told}"
    );
    assert_eq!(offered(&scene), Landable::Ready { head: commit(2) });
    // A comment on an older commit does not apply to this one.
    scene.ask(ask);
    assert_eq!(fixers(&scene), 1);
    assert_eq!(offered(&scene), Landable::Ready { head: commit(2) });
}

#[test]
fn a_task_that_landed_ends_once_everything_was_read() {
    let mut scene = scene(false);
    // Another commit landed, so the newer commits are offered.
    scene.ask(Ask::Landed { head: commit(9) });
    assert!(scene.run.outcome.is_none());
    assert_eq!(offered(&scene), Landable::Ready { head: commit(1) });
    scene.ask(Ask::Landed { head: commit(1) });
    assert_eq!(scene.outcome().status, OutcomeStatus::Succeeded);
    assert_eq!(scene.cruise().end, Some(PhaseEnd::Merged));
    let told = scene.bodies().join("\n");
    assert!(
        told.contains("landed on the branch of the cruise"),
        "{told}"
    );
}

#[test]
fn an_approval_that_is_taken_back_takes_the_offer_back() {
    let mut scene = scene(true);
    let approvals = |heads: &[usize]| PollResult {
        approvals: Some(
            heads
                .iter()
                .map(|n| Approved {
                    by: "ann".into(),
                    head: commit(*n),
                })
                .collect(),
        ),
        ..PollResult::default()
    };
    scene.sees(approvals(&[1]));
    assert_eq!(offered(&scene), Landable::Ready { head: commit(1) });
    scene.sees(approvals(&[]));
    assert_eq!(offered(&scene), Landable::Unapproved { head: commit(1) });
}

#[test]
fn whoever_stands_against_a_task_right_before_it_lands_is_heard_first() {
    let mut scene = scene(false);
    scene.looks.push_back(PollResult {
        state: Some(PrState::Open),
        comments: vec![common::comment(5, "STOP, check the name")],
        ..PollResult::default()
    });
    scene.ask(Ask::Hear { head: commit(1) });
    assert_eq!(fixers(&scene), 1);
    assert_eq!(offered(&scene), Landable::Ready { head: commit(2) });
    // There are no more objections.
    scene.ask(Ask::Hear { head: commit(2) });
    assert_eq!(fixers(&scene), 1);
    assert_eq!(offered(&scene), Landable::Ready { head: commit(2) });
    let reports = scene.performed.iter().filter(|effect| {
        matches!(effect, Effect::ToRun { message: RunMessage::ReportToParent { report }, .. }
            if report.landable == Landable::NotYet && report.head_sha == Some(commit(2)))
    });
    assert!(reports.count() > 0, "the offer was taken back meanwhile");
}

#[test]
fn what_keeps_a_task_from_landing_is_said_and_named() {
    let objects = PollResult {
        objections: Some(vec![Objected {
            by: "bob".into(),
            head: Some(commit(1)),
            url: None,
        }]),
        ..PollResult::default()
    };
    let unreadable = PollResult {
        unchecked: Some("`checks` is missing".into()),
        ..PollResult::default()
    };
    for (seen, why) in [
        (objects, "bob requests changes"),
        (unreadable, "could not read the checks: `checks` is missing"),
    ] {
        let mut scene = scene(false);
        scene.looks.push_back(PollResult {
            state: Some(PrState::Open),
            ..seen
        });
        scene.ask(Ask::Hear { head: commit(1) });
        assert_eq!(
            offered(&scene),
            Landable::Unapproved { head: commit(1) },
            "{why}"
        );
        let told = scene.bodies().join("\n");
        assert!(
            told.contains(&format!("does not land yet: {why}.")),
            "{told}"
        );
        let state = &scene.run.reported.as_ref().unwrap().state;
        let ChildState::NeedsPerson { why: named, .. } = state else {
            panic!("{state:?}");
        };
        assert!(named.contains(why), "{named}");
    }
}

/// The objections of a complete reading against landing the reviewed commit.
fn against(poll: PollResult) -> Option<String> {
    let scene = scene(false);
    let poll = PollResult {
        state: Some(PrState::Open),
        ..poll
    };
    against_landing(&scene.run, &commit(1), &poll)
}

#[test]
fn a_task_lands_only_if_a_whole_reading_has_nothing_against_it() {
    let check = |state| Check {
        name: "build".to_owned(),
        source: CheckSource::CheckRun,
        state,
        required: false,
        url: None,
        summary: None,
        failure: None,
    };
    let checks = |state| PollResult {
        checks: Some(Checks::new(commit(1), vec![check(state)], Vec::new())),
        ..PollResult::default()
    };
    let required = PollResult {
        checks: Some(Checks::new(commit(1), Vec::new(), vec!["lint".to_owned()])),
        ..PollResult::default()
    };
    let table = [
        (PollResult::default(), None),
        (checks(CheckState::Passed), None),
        (checks(CheckState::Failed), Some("check `build` failed")),
        (checks(CheckState::Pending), Some("check `build` pending")),
        (required, Some("check `lint` missing")),
        (
            PollResult {
                missing: Some("reviews".into()),
                ..PollResult::default()
            },
            Some("could not read all of its pull request: reviews"),
        ),
        (
            PollResult {
                comments: vec![common::comment(5, "STOP")],
                ..PollResult::default()
            },
            Some("1 unread comment"),
        ),
        (
            PollResult {
                head: Some(commit(7)),
                ..PollResult::default()
            },
            Some("its pull request is at another commit"),
        ),
    ];
    for (poll, expected) in table {
        let shown = format!("{poll:?}");
        assert_eq!(against(poll).as_deref(), expected, "{shown}");
    }
    let approved = scene(true);
    let poll = PollResult {
        state: Some(PrState::Open),
        ..PollResult::default()
    };
    assert_eq!(
        against_landing(&approved.run, &commit(1), &poll).as_deref(),
        Some("no person approved the commit")
    );
}

#[test]
fn at_its_limit_a_task_says_so_once_and_answers_each_later_comment() {
    let mut scene = scene_with(false, common::cruise::terms_with_rounds(1));
    let says = |id: u64| PollResult {
        comments: vec![common::comment(id, "rename it")],
        ..PollResult::default()
    };
    scene.sees(says(5));
    assert_eq!(fixers(&scene), 1);
    for id in 6..9 {
        scene.sees(says(id));
    }
    scene.wake(Timer::Poll);
    assert_eq!(fixers(&scene), 1);
    assert_eq!(offered(&scene), Landable::NotYet, "comments wait");
    let told = scene.bodies();
    let of = |start: &str| told.iter().filter(|one| one.starts_with(start)).count();
    assert_eq!(
        of("Waiting for a person: fixer round limit (1) reached"),
        1,
        "{told:?}"
    );
    assert_eq!(
        of("No fixer works on this yet: fixer round limit (1) reached"),
        3,
        "{told:?}"
    );
}
