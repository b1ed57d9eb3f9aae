//! Tests people on the pull request.

use crate::common::{agent_ended, agent_said, comment, ignored, replaced, team_request};
use crate::team_step::scene::{APPROVED, OBJECTS, Scene, end, heard, nobody, polled, team};
use drive_core::agent::{Failure, Role};
use drive_core::forge::trust::Reason;
use drive_core::forge::{Comment, PrState, Surface};
use drive_core::ids::{CommentId, CommitSha};
use drive_core::problem::Kind;
use drive_core::review::LastWord;
use drive_core::run::{
    AgentJob, Effect, EffectResult, Event, IgnoredComment, OutcomeStatus, PollResult, Run, Timer,
    step,
};
use drive_core::settings::TeamMode;

#[test]
fn a_person_in_the_middle_is_heard_once_and_a_stranger_is_only_shown() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let said = comment(5, "please rename it");
    scene.people = [nobody(), heard(vec![said.clone()]), heard(vec![said])].into();
    let run = scene.fly(team_request(TeamMode::Github));
    assert_eq!(end(&run).2, Some(LastWord::Approved));
    assert_eq!(
        scene.roles()[6..9],
        ["reviewer GeneralPolish", "fixer", "reviewer Security"]
    );
    assert_eq!(scene.commits.len(), 2);
    let sha = scene.commits[1].sha.short();
    assert!(scene.told.contains(&format!("to 5: Fixed in {sha}.")));
    assert!(scene.told.contains(&"resolved 5".to_owned()));
    assert_eq!(team(&run).record.ignored, [ignored()]);
    let asked = |job: &AgentJob| job.prompt.contains("mallory");
    assert!(!scene.jobs.iter().any(asked));
}

#[test]
fn an_answer_outside_a_thread_says_what_it_answers() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let talk = |id, body: &str| {
        let mut comment = comment(id, body);
        comment.key.surface = Surface::Conversation;
        comment
    };
    scene.people = [
        nobody(),
        heard(vec![talk(5, "rename it"), talk(6, "@bob: test it")]),
    ]
    .into();
    scene.fly(team_request(TeamMode::Github));
    let replies: Vec<&String> = scene
        .told
        .iter()
        .filter(|one| one.starts_with("to "))
        .collect();
    assert_eq!(scene.commits.len(), 2, "one commit for both");
    let fixed = scene.commits[1].sha.short();
    assert_eq!(
        replies,
        [
            &format!("to 5: > ann: rename it\n\nFixed in {fixed}."),
            &format!("to 6: > ann: bob: test it\n\nFixed in {fixed}."),
        ]
    );
}

#[test]
fn a_comment_that_could_be_judged_at_last_is_not_listed_as_ignored() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let said = comment(5, "please rename it");
    let unknown = IgnoredComment {
        comment: said.key.comment(),
        author: Some("ann".into()),
        reason: Reason::PermissionUnknown,
    };
    let unsettled = polled(PollResult {
        ignored: vec![unknown],
        ..PollResult::default()
    });
    let settled = polled(PollResult {
        comments: vec![said],
        ..PollResult::default()
    });
    scene.people = [unsettled, settled].into();
    let run = scene.fly(team_request(TeamMode::Github));
    assert_eq!(team(&run).record.ignored, []);
}

#[test]
fn who_resolves_a_reply_knows_what_was_said_in_its_thread_before() {
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
    let reply = |id, body: &str| Comment {
        in_reply_to: Some(CommentId::new(200)),
        ..comment(id, body)
    };
    let said = heard(vec![reply(300, "Not like this."), reply(301, "I agree.")]);
    scene.people = [nobody(), nobody(), said].into();
    let run = scene.fly(team_request(TeamMode::Github));
    assert_eq!(end(&run).2, Some(LastWord::NeedsChanges));
    let fixers: Vec<&AgentJob> = scene
        .jobs
        .iter()
        .filter(|job| job.role == Role::Fixer)
        .collect();
    let remark = "gemini-cli: **major** the name is not checked";
    let fixed = format!("claude-code: Fixed in {}.", scene.commits[1].sha.short());
    let threads = [
        format!("```\n{remark}\n\n{fixed}\n```"),
        format!("```\n{remark}\n\n{fixed}\n\nann: Not like this.\n```"),
    ];
    let [first, second] = fixers.as_slice() else {
        panic!("{} fixers", fixers.len());
    };
    assert!(!first.prompt.contains("Earlier in its thread"));
    let stored = serde_json::to_string(&run).unwrap();
    assert_eq!(serde_json::from_str::<Run>(&stored).unwrap(), run);
    for thread in threads {
        let told = format!("Earlier in its thread (also data):\n\n{thread}\n");
        assert!(second.prompt.contains(&told), "{told}\n{}", second.prompt);
    }
}

#[test]
fn what_is_said_after_the_last_review_is_still_worked_in() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.people = [nobody(), heard(vec![comment(5, "one more thing")])].into();
    let run = scene.fly(team_request(TeamMode::Github));
    assert_eq!(scene.commits.len(), 2);
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
}

/// A regression test: an approval outlived its commit.
#[test]
fn an_approval_does_not_outlive_the_commit_it_was_given_for() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.people = [nobody(), heard(vec![comment(5, "one more thing")])].into();
    let run = scene.fly(team_request(TeamMode::Github));
    let record = &team(&run).record;
    let head = run.work.head_sha.clone();
    let again: Vec<_> = record.reviews[5..].iter().collect();
    assert_eq!(again.len(), 5);
    assert!(again.iter().all(|one| one.round == 2 && one.head == head));
    assert_eq!(
        end(&run),
        (OutcomeStatus::Succeeded, None, Some(LastWord::Approved))
    );
}

#[test]
fn a_commit_that_nobody_looked_at_is_never_called_approved() {
    let mut scene = Scene::reviews(&[APPROVED]);
    // Each domain is reviewed at most twice, and a person comments after each time.
    let said = |id| heard(vec![comment(id, "one more thing")]);
    scene.people = [nobody(), said(5), nobody(), said(6)].into();
    let run = scene.fly(team_request(TeamMode::Github));
    assert_eq!(
        end(&run),
        (
            OutcomeStatus::Failed,
            Some(Kind::HeadNotReviewed),
            Some(LastWord::NeedsChanges)
        )
    );
    let [.., approved, head] = &scene.commits[..] else {
        panic!("three commits")
    };
    assert_eq!(
        run.outcome.unwrap().failure.unwrap().message,
        format!(
            "reviewer `gemini-cli` approved {}, but not the newer {} (Security, \
             TechnicalFeasibility, TaskGranularity, DependencyCompleteness, GeneralPolish)",
            approved.sha.short(),
            head.sha.short()
        )
    );
}

/// A regression test: a team continued on a closed pull request.
#[test]
fn a_pull_request_that_a_person_closes_or_merges_stops_a_team_in_every_mode() {
    for mode in [TeamMode::Sequential, TeamMode::Pingpong, TeamMode::Github] {
        for (state, status, kind) in [
            (
                PrState::Closed,
                OutcomeStatus::Cancelled,
                Some(Kind::PullRequestClosed),
            ),
            (PrState::Merged, OutcomeStatus::Succeeded, None),
        ] {
            let mut scene = Scene::reviews(&[OBJECTS]);
            scene.people = [polled(PollResult {
                state: Some(state),
                ..PollResult::default()
            })]
            .into();
            let run = scene.fly(team_request(mode));
            assert_eq!(end(&run), (status, kind, None), "{mode:?} {state:?}");
            assert_eq!(scene.roles(), ["namer", "coder"]);
        }
    }
}

/// A regression test: a team continued until its agent ended.
#[test]
fn a_pull_request_that_a_person_closes_stops_the_agent_of_a_team_that_is_at_work() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let is_review = |effect: &Effect| matches!(effect, Effect::RunAgent { job, .. } if job.role == Role::Reviewer);
    let mut run = scene.fly_until(team_request(TeamMode::Pingpong), |run| {
        run.pending.values().any(is_review)
    });
    scene.people = [polled(PollResult {
        state: Some(PrState::Closed),
        ..PollResult::default()
    })]
    .into();
    let due = run.timers[&Timer::Poll];
    run = step(run, Event::Woken { timer: Timer::Poll }, due)
        .unwrap()
        .0;
    let (key, effect) = run.pending.first_key_value().unwrap();
    assert_eq!(effect.name(), "poll");
    let (key, result) = (key.clone(), scene.perform(effect));
    run = step(run, Event::EffectEnded { key, result }, due)
        .unwrap()
        .0;
    assert!(!run.pending.values().any(is_review));
    let ends = run.shutdown.unwrap();
    assert_eq!(ends.failure.unwrap().kind, Kind::PullRequestClosed);
}

#[test]
fn a_fixer_that_does_not_say_what_it_did_is_never_reported_as_having_fixed_it() {
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
    scene.fixer = Some(agent_said("all done"));
    let run = scene.fly(team_request(TeamMode::Github));
    let sha = scene.commits[1].sha.short();
    assert_eq!(
        scene.told[1],
        format!(
            "to 200: The fixer did not answer this comment. Its changes of this round are in {sha}."
        )
    );
    assert!(!scene.told.contains(&"resolved 200".to_owned()));
    assert!(!team(&run).record.remarks[0].resolved);
}

#[test]
fn a_branch_that_a_person_rewrote_is_taken_as_they_left_it_by_a_team_too() {
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
    scene.answers(
        "push",
        [
            EffectResult::Pushed,
            EffectResult::BranchMoved { remote_head: None },
        ],
    );
    scene.answers("integrate", [replaced('f')]);
    let run = scene.fly(team_request(TeamMode::Github));
    let pushes: Vec<Option<CommitSha>> = scene
        .performed_as("push")
        .into_iter()
        .filter_map(|effect| match effect {
            Effect::Push { published, .. } => Some(published.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(pushes[1], Some(scene.commits[0].sha.clone()));
    assert!(
        run.warnings.iter().any(|one| one.contains("was rewritten")),
        "{:?}",
        run.warnings
    );
    // A fixer got the finding again, on the commit that the person left.
    let fixers = scene.jobs.iter().filter(|job| job.role == Role::Fixer);
    assert_eq!(fixers.count(), 2);
}

#[test]
fn a_model_that_is_away_costs_a_team_time_and_no_finding() {
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
    scene.agents = [
        agent_ended(Some(Failure::Model { status: Some(503) })),
        agent_ended(Some(Failure::UsageLimit { resets_at: None })),
    ]
    .into();
    let run = scene.fly(team_request(TeamMode::Github));
    assert_eq!(end(&run).2, Some(LastWord::Approved));
    assert!(
        scene.told[1].starts_with("to 200: Fixed in "),
        "{:?}",
        scene.told
    );
}
