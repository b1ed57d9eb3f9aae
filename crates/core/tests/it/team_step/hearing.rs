//! Tests that a conclusion takes account of all comments, requests for changes and checks.

use crate::common::{agent_said, comment, team_request};
use crate::team_step::ending::merging;
use crate::team_step::scene::{APPROVED, Scene, end, heard, polled, team};
use drive_core::agent::Role;
use drive_core::forge::checks::{Check, CheckFailure, CheckSource, CheckState, Checks};
use drive_core::forge::{Aside, Comment, ReviewState, Surface};
use drive_core::ids::CommitSha;
use drive_core::problem::Kind;
use drive_core::run::{
    Effect, EffectResult, ForgeAct, ForgeAnswer, LandedAs, Life, Objected, OutcomeStatus,
    PollResult, Run,
};
use drive_core::settings::TeamMode;

fn on_forge(answer: ForgeAnswer) -> EffectResult {
    EffectResult::OnForge { answer }
}

fn objects() -> PollResult {
    PollResult {
        objections: Some(vec![Objected {
            by: "ann".into(),
            head: None,
            url: None,
        }]),
        ..PollResult::default()
    }
}

fn review(state: ReviewState, body: &str) -> Comment {
    let mut said = comment(5, body);
    said.key.surface = Surface::Review;
    said.review = Some(state);
    said
}

fn failure(run: &Run) -> String {
    let failure = run.outcome.as_ref().unwrap().failure.as_ref();
    failure.unwrap().message.clone()
}

#[test]
fn a_team_that_cannot_read_its_pull_request_concludes_nothing() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.fails = Some("poll");
    let run = scene.fly(team_request(TeamMode::Github));
    assert_eq!(end(&run).0, OutcomeStatus::NeedsHuman);
    assert_eq!(end(&run).1, Some(Kind::Unheard));
    assert_eq!(team(&run).merged, None);
}

#[test]
fn a_reading_that_could_not_judge_everybody_is_not_a_reading() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let unsure = PollResult {
        missing: Some("the permission of `bob` is not known yet".into()),
        ..PollResult::default()
    };
    scene.answers("poll", vec![on_forge(polled(unsure)); 60]);
    let run = scene.fly(merging(TeamMode::Github));
    assert_eq!(end(&run).1, Some(Kind::Unheard));
    assert!(scene.performed_as("merge").is_empty());
    let mut scene = Scene::reviews(&[APPROVED]);
    let run = scene.fly(merging(TeamMode::Github));
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded, "the control");
}

#[test]
fn a_commit_whose_checks_cannot_be_read_is_not_approved() {
    for request in [team_request(TeamMode::Github), merging(TeamMode::Github)] {
        let mut scene = Scene::reviews(&[APPROVED]);
        let unread = PollResult {
            unchecked: Some("the token may not read checks".into()),
            ..PollResult::default()
        };
        scene.answers("poll", vec![on_forge(polled(unread)); 60]);
        let run = scene.fly(request);
        assert_eq!(end(&run).0, OutcomeStatus::NeedsHuman);
        assert_eq!(end(&run).1, Some(Kind::ChecksPending));
        assert!(
            failure(&run).contains("could not read the checks"),
            "{}",
            failure(&run)
        );
        let passed = scene
            .performed_as("setStatus")
            .into_iter()
            .filter(|effect| {
                matches!(
                    effect,
                    Effect::OnForge {
                        act: ForgeAct::SetStatus { passed: true, .. },
                        ..
                    }
                )
            });
        assert_eq!(passed.count(), 0, "the status of the commit is not green");
    }
}

#[test]
fn a_request_for_changes_keeps_a_team_from_merging_and_is_said() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.answers("poll", vec![on_forge(polled(objects())); 60]);
    let run = scene.fly(merging(TeamMode::Github));
    assert_eq!(end(&run).1, Some(Kind::Objected));
    assert!(scene.performed_as("merge").is_empty());
    let said = "Not merged: ann requests changes.";
    assert!(
        scene.told.iter().any(|one| one.contains(said)),
        "{:?}",
        scene.told
    );
}

#[test]
fn a_request_for_changes_that_is_taken_back_lets_a_team_merge() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.answers("poll", [on_forge(polled(objects()))]);
    let taken_back = PollResult {
        objections: Some(Vec::new()),
        ..PollResult::default()
    };
    scene.answers("poll", vec![on_forge(polled(taken_back)); 60]);
    let run = scene.fly(merging(TeamMode::Github));
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
}

#[test]
fn a_stop_right_before_the_merge_is_answered_and_nothing_is_merged() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let stop = PollResult {
        comments: vec![comment(5, "STOP, this breaks the export")],
        ..PollResult::default()
    };
    scene.answers(
        "merge",
        [on_forge(ForgeAnswer::Unheard {
            poll: Box::new(stop),
        })],
    );
    let run = scene.fly(merging(TeamMode::Github));
    assert_eq!(end(&run).1, Some(Kind::Objected));
    assert_eq!(team(&run).merged, None);
    assert_eq!(
        scene.performed_as("merge").len(),
        1,
        "it was not tried again"
    );
    assert_eq!(scene.performed_as("reply").len(), 1);
    let said = "Not merged: ann wrote right before the merge: STOP, this breaks the export.";
    assert!(scene.told.iter().any(|one| one == said), "{:?}", scene.told);
}

#[test]
fn a_comment_that_the_fixer_declined_keeps_a_team_from_merging() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.people = [heard(vec![comment(5, "rename it")])].into();
    let answer = r#"{"comments": [{"id": "inline-5", "action": "declined", "note": "No."}]}"#;
    scene.fixer = Some(agent_said(answer));
    let run = scene.fly(merging(TeamMode::Github));
    assert_eq!(end(&run).1, Some(Kind::CommentsOpen));
    assert!(scene.performed_as("merge").is_empty());
}

#[test]
fn a_merge_after_which_nothing_could_be_read_is_told() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.answers(
        "checkLanded",
        [EffectResult::Landed {
            sha: CommitSha::new("9".repeat(40)),
            made: LandedAs::Merge,
            report: None,
            unread: Vec::new(),
            objections: Vec::new(),
            missing: Some("no route".into()),
        }],
    );
    let run = scene.fly(merging(TeamMode::Github));
    assert_eq!(end(&run).1, Some(Kind::MergedUnheard));
}

#[test]
fn a_request_for_changes_right_before_the_merge_stops_it() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let poll = Box::new(objects());
    scene.answers("merge", [on_forge(ForgeAnswer::Unheard { poll })]);
    let run = scene.fly(merging(TeamMode::Github));
    assert_eq!(end(&run).1, Some(Kind::Objected));
    assert_eq!(team(&run).merged, None);
}

#[test]
fn a_mode_that_answers_nobody_does_not_merge_past_a_comment() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let poll = Box::new(PollResult {
        comments: vec![comment(5, "STOP")],
        ..PollResult::default()
    });
    scene.answers("merge", [on_forge(ForgeAnswer::Unheard { poll })]);
    let run = scene.fly(merging(TeamMode::Sequential));
    assert_eq!(
        failure(&run),
        "the pull request was not merged: ann wrote right before the merge: STOP"
    );
}

#[test]
fn a_comment_that_the_merge_overtook_is_told_with_the_way_back() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let sha = CommitSha::new("9".repeat(40));
    scene.answers(
        "checkLanded",
        [EffectResult::Landed {
            sha: sha.clone(),
            made: LandedAs::Merge,
            report: None,
            unread: vec![comment(5, "STOP")],
            objections: Vec::new(),
            missing: None,
        }],
    );
    let run = scene.fly(merging(TeamMode::Github));
    assert_eq!(end(&run).1, Some(Kind::MergedUnheard));
    assert_eq!(team(&run).merged, Some(sha.clone()));
    let comments = scene.comments();
    let told = comments.last().unwrap();
    assert!(told.contains("inline-5 by ann: STOP"), "{told}");
    assert!(told.contains(&format!("git revert -m 1 {sha}")), "{told}");
}

#[test]
fn a_request_for_changes_without_words_that_the_merge_overtook_is_told() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.answers(
        "checkLanded",
        [EffectResult::Landed {
            sha: CommitSha::new("9".repeat(40)),
            made: LandedAs::Merge,
            report: None,
            unread: Vec::new(),
            objections: objects().objections.unwrap(),
            missing: None,
        }],
    );
    let run = scene.fly(merging(TeamMode::Github));
    assert_eq!(end(&run).1, Some(Kind::MergedUnheard));
    let comments = scene.comments();
    let told = comments.last().unwrap();
    assert!(told.contains("ann requests changes"), "{told}");
}

#[test]
fn praise_in_an_approval_starts_no_fixer_and_a_request_in_it_does() {
    for (body, fixers) in [("LGTM, nice work", 0), ("LGTM, please rename it", 1)] {
        let mut scene = Scene::reviews(&[APPROVED]);
        scene.people = [heard(vec![review(ReviewState::Approved, body)])].into();
        scene.fly(team_request(TeamMode::Github));
        let started = scene.roles().into_iter().filter(|role| role == "fixer");
        assert_eq!(started.count(), fixers, "{body}");
    }
}

#[test]
fn what_a_person_put_aside_is_not_worked_on() {
    let minimized = Comment {
        aside: Some(Aside::Minimized),
        ..comment(5, "rename it")
    };
    let resolved = Comment {
        aside: Some(Aside::Resolved),
        ..comment(6, "rename it")
    };
    let dismissed = review(ReviewState::Dismissed, "rename it");
    for said in [minimized, resolved, dismissed] {
        let mut scene = Scene::reviews(&[APPROVED]);
        scene.people = [heard(vec![said.clone()])].into();
        let run = scene.fly(team_request(TeamMode::Github));
        assert!(
            !scene.roles().iter().any(|role| role == "fixer"),
            "{said:?}"
        );
        assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
    }
}

#[test]
fn a_thread_that_drive_resolved_itself_still_takes_comments() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut again = comment(6, "not like that");
    again.in_reply_to = Some(comment(5, "").key.id);
    again.aside = Some(Aside::Resolved);
    scene.people = [heard(vec![comment(5, "rename it")]), heard(vec![again])].into();
    let run = scene.fly(team_request(TeamMode::Github));
    let replied = team(&run).ledger.entries();
    let replied = replied.filter(|entry| matches!(entry.life, Life::Replied { .. }));
    assert_eq!(replied.count(), 2);
}

fn check(state: CheckState, log: &str) -> Check {
    Check {
        name: "build".into(),
        source: CheckSource::CheckRun,
        state,
        required: false,
        url: None,
        summary: None,
        failure: Some(CheckFailure {
            job: "build".into(),
            step: Some("Run tests".into()),
            annotations: Vec::new(),
            log: Some(log.to_owned()),
        }),
    }
}

/// Sets the checks that a reading shows for the requested commit.
fn with_checks(scene: &mut Scene, states: &[(CheckState, &'static str)]) {
    for (state, log) in states.iter().copied() {
        let show =
            move |head: &CommitSha| Checks::new(head.clone(), vec![check(state, log)], Vec::new());
        scene.checks.push_back(Box::new(show));
    }
}

#[test]
fn a_failed_check_becomes_a_fixer_round_with_step_and_log() {
    let mut scene = Scene::reviews(&[APPROVED]);
    with_checks(
        &mut scene,
        &[
            (CheckState::Failed, "assertion failed: left == right"),
            (CheckState::Passed, ""),
        ],
    );
    let run = scene.fly(team_request(TeamMode::Github));
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
    let fixer = scene
        .jobs
        .iter()
        .find(|job| job.round == 1 && job.prompt.contains("Run tests"));
    let prompt = &fixer.unwrap().prompt;
    assert!(
        prompt.contains("Check `build` failed in step `Run tests`"),
        "{prompt}"
    );
    assert!(
        prompt.contains("assertion failed: left == right"),
        "{prompt}"
    );
    let last = scene.jobs.iter().rfind(|job| job.role == Role::Reviewer);
    let prompt = &last.unwrap().prompt;
    assert!(prompt.contains("check build: passed"), "{prompt}");
}

#[test]
fn the_same_failure_on_three_commits_is_given_up_and_said() {
    let mut scene = Scene::reviews(&[APPROVED]);
    with_checks(&mut scene, &[(CheckState::Failed, "assertion failed"); 1]);
    let run = scene.fly(merging(TeamMode::Github));
    assert_eq!(end(&run).1, Some(Kind::ChecksFailed));
    assert!(scene.performed_as("merge").is_empty());
    let fixers = scene.roles().into_iter().filter(|role| role == "fixer");
    assert_eq!(fixers.count(), 2);
    let said = "Check `build` failed for the same reason on 3 commits";
    assert!(
        scene.told.iter().any(|one| one.contains(said)),
        "{:?}",
        scene.told
    );
}

#[test]
fn a_check_that_has_not_ended_is_waited_for_and_then_left_to_a_person() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let pending = (CheckState::Pending, "");
    with_checks(
        &mut scene,
        &[pending, pending, pending, (CheckState::Passed, "")],
    );
    let run = scene.fly(merging(TeamMode::Github));
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
    let mut scene = Scene::reviews(&[APPROVED]);
    with_checks(&mut scene, &[pending]);
    let run = scene.fly(merging(TeamMode::Github));
    assert_eq!(end(&run).1, Some(Kind::ChecksPending));
    assert!(scene.performed_as("merge").is_empty());
}

#[test]
fn only_moves_of_the_base_count_towards_the_verifications_that_it_may_move_in() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let (pending, passed) = ((CheckState::Pending, ""), (CheckState::Passed, ""));
    with_checks(&mut scene, &[passed]);
    let waits = || {
        let checks =
            |head: &CommitSha| Checks::new(head.clone(), vec![check(pending.0, "")], Vec::new());
        let poll = Box::new(PollResult {
            checks: Some(checks(&CommitSha::new(format!("{:040}", 1)))),
            ..PollResult::default()
        });
        on_forge(ForgeAnswer::Unheard { poll })
    };
    scene.answers(
        "merge",
        [waits(), waits(), on_forge(ForgeAnswer::BaseMoved)],
    );
    let run = scene.fly(merging(TeamMode::Github));
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded, "{:?}", scene.told);
    assert_eq!(scene.performed_as("merge").len(), 4);
}

#[test]
fn checks_are_read_of_the_published_commit_until_they_have_ended() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.fly(team_request(TeamMode::Github));
    let polls = scene.performed_as("poll");
    let asked = polls.iter().filter_map(|effect| match effect {
        drive_core::run::Effect::OnForge {
            act: ForgeAct::Poll { checks, .. },
            ..
        } => checks.clone(),
        _ => None,
    });
    let asked: Vec<CommitSha> = asked.collect();
    assert!(!asked.is_empty());
    assert!(asked.iter().all(|head| *head == scene.commits[0].sha));
}
