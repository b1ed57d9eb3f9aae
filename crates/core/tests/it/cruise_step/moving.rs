//! Tests other people who push to a cruise's branch, rewrite it, or block it.

use crate::common::{
    agent_ended, agent_said, comment, conflicted, cruise::terms, integrated, over_budget, replaced,
};
use crate::cruise_step::scene::{Scene, failed, head, short};
use drive_core::agent::{Budget, Failure, Role};
use drive_core::ids::{BranchName, CommitSha};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{
    Approved, Ask, Effect, EffectResult, OutcomeStatus, PollResult, Timer, cruise_status,
    paused_for,
};

fn theirs() -> String {
    "f".repeat(40)
}

fn shows(head: String) -> PollResult {
    PollResult {
        head: Some(CommitSha::new(head)),
        ..PollResult::default()
    }
}

fn chosen(scene: &Scene) -> Vec<String> {
    let wanted = scene.performed.iter().filter_map(|effect| match effect {
        Effect::ChooseBranch { wanted, .. } => Some(wanted.to_string()),
        _ => None,
    });
    wanted.collect()
}

fn pushes(scene: &Scene) -> Vec<(String, Option<String>)> {
    let pushes = scene.performed.iter().filter_map(|effect| match effect {
        Effect::Push {
            head_sha,
            published,
            ..
        } => Some((
            head_sha.to_string(),
            published.as_ref().map(CommitSha::to_string),
        )),
        _ => None,
    });
    pushes.collect()
}

#[test]
fn what_a_person_pushed_while_nothing_was_done_is_brought_in_and_their_approval_of_it_counts() {
    let mut scene = Scene::watching(terms());
    scene.answer("integrate", integrated('f'));
    scene.sees(PollResult {
        approvals: Some(vec![Approved {
            by: "ann".into(),
            head: CommitSha::new(theirs()),
        }]),
        ..shows(theirs())
    });
    assert_eq!(
        &scene.names()[..5],
        ["poll", "commitWork", "integrate", "readFile", "push"]
    );
    assert_eq!(pushes(&scene), [(theirs(), Some(head(1)))]);
    assert_eq!(scene.outcome().status, OutcomeStatus::Succeeded);
    assert!(scene.bodies()[0].starts_with(&format!(
        "The plan is approved at {} by ann",
        &theirs()[..10]
    )));
}

#[test]
fn a_pull_request_that_shows_what_was_pushed_is_no_news() {
    let mut scene = Scene::watching(terms());
    scene.sees(shows(head(1)));
    assert_eq!(scene.names(), ["poll"]);
}

#[test]
fn comments_of_a_round_whose_branch_was_rewritten_come_again_and_are_answered_once() {
    let mut scene = Scene::watching(terms());
    let moved = EffectResult::BranchMoved {
        remote_head: Some(CommitSha::new(theirs())),
    };
    scene.answer("push", moved);
    scene.answer("integrate", replaced('f'));
    let fixed = r#"{"comments": [{"id": "inline-5", "action": "fixed", "note": "on yours"}]}"#;
    scene.agent(Role::Fixer, agent_said(fixed));
    scene.agent(Role::Fixer, agent_said(fixed));
    scene.sees(PollResult {
        comments: vec![comment(5, "check the name")],
        ..PollResult::default()
    });
    assert_eq!(scene.jobs.len(), 2);
    assert_eq!(scene.bodies(), [format!("Fixed in {}. on yours", short(3))]);
    assert_eq!(
        pushes(&scene),
        [(head(2), Some(head(1))), (head(3), Some(theirs()))]
    );
    assert_eq!(scene.run.kept.len(), 1);
    assert_eq!(
        scene.run.warnings,
        [format!(
            "branch `drive/fix-the-login` was rewritten; the run continues from {}; `drive kept list` shows the replaced commits",
            theirs()
        )]
    );
}

#[test]
fn a_remote_that_cannot_be_reached_while_commits_are_brought_in_is_asked_again() {
    let mut scene = Scene::watching(terms());
    scene.answer("integrate", failed());
    scene.answer("integrate", integrated('f'));
    scene.sees(shows(theirs()));
    assert_eq!(scene.run.outcome, None);
    scene.wake(Timer::Retry);
    assert_eq!(scene.run.work.head_sha, Some(CommitSha::new(theirs())));
    assert_eq!(scene.run.outcome, None);
}

#[test]
fn a_forge_that_goes_on_showing_an_older_commit_is_looked_into_once() {
    let mut scene = Scene::watching(terms());
    let nothing = EffectResult::Integrated {
        head_sha: CommitSha::new(head(1)),
        base_sha: None,
        commits: Vec::new(),
        warnings: Vec::new(),
    };
    scene.answer("integrate", nothing);
    for _ in 0..3 {
        scene.sees(shows(head(0)));
    }
    let brought = scene
        .names()
        .iter()
        .filter(|name| **name == "integrate")
        .count();
    assert_eq!(brought, 1);
    scene.answer("integrate", integrated('f'));
    scene.sees(shows(theirs()));
    assert_eq!(scene.run.work.head_sha, Some(CommitSha::new(theirs())));
    scene.answer("integrate", replaced('0'));
    scene.sees(shows(head(0)));
    assert_eq!(scene.run.work.head_sha, Some(CommitSha::new(head(0))));
}

#[test]
fn a_branch_name_that_somebody_else_took_in_between_is_no_reason_to_fail() {
    let taken = || EffectResult::Failed {
        problem: Problem::new(Kind::BranchExists, "branch `x` already exists"),
    };
    let mut scene = Scene::begin(terms());
    scene.answer("createSandbox", taken());
    scene.settle();
    assert_eq!(scene.run.outcome, None);
    let names = chosen(&scene);
    assert_eq!(names.len(), 2, "{names:?}");
    let mut scene = Scene::begin(terms());
    for _ in 0..10 {
        scene.answer("createSandbox", taken());
    }
    scene.settle();
    assert_eq!(chosen(&scene).len(), 6);
    let failure = scene.outcome().failure.as_ref().unwrap();
    assert_eq!(failure.kind, Kind::BranchExists);
}

#[test]
fn a_name_that_cannot_exist_beside_another_branch_gives_way_to_one_made_of_the_task() {
    let conflict = EffectResult::Failed {
        problem: Problem::new(Kind::BranchConflict, "`main/x` beside `main`"),
    };
    let mut scene = Scene::begin(terms());
    let named = r#"{"pr_title": "Check names", "branch_name": "main/x"}"#;
    scene.agent(Role::Namer, agent_said(named));
    scene.answer("createSandbox", conflict);
    scene.settle();
    assert_eq!(scene.run.outcome, None);
    let slug = "fix-the-login-it-fails-for-names-with-a-dot";
    assert_eq!(chosen(&scene), ["main/x", slug]);
}

#[test]
fn a_branch_name_that_a_person_asked_for_is_not_exchanged_for_another() {
    let mut mine = terms();
    mine.branch = Some(BranchName::parse("mine").unwrap());
    let mut scene = Scene::begin(mine);
    scene.answer(
        "createSandbox",
        EffectResult::Failed {
            problem: Problem::new(Kind::BranchExists, "branch `mine` already exists"),
        },
    );
    scene.settle();
    let asked = scene.performed.iter().any(|effect| {
        matches!(effect, Effect::ChooseBranch { wanted, exact: true, .. } if wanted.as_str() == "mine")
    });
    assert!(asked);
    let failure = scene.outcome().failure.as_ref().unwrap();
    assert_eq!(failure.kind, Kind::BranchExists);
}

#[test]
fn an_approval_of_what_others_added_to_does_not_count() {
    let mut scene = Scene::watching(terms());
    scene.answer("integrate", integrated('b'));
    let approval = |head| Approved {
        by: "ann".into(),
        head,
    };
    scene.sees(PollResult {
        approvals: Some(vec![approval(CommitSha::new(head(1)))]),
        ..shows(theirs())
    });
    assert_eq!(scene.run.outcome, None);
}

#[test]
fn a_fixer_works_on_what_the_author_of_the_comment_saw() {
    let mut scene = Scene::watching(terms());
    scene.answer("integrate", integrated('f'));
    let mut remark = comment(5, "check the name");
    remark.commit = Some(CommitSha::new(theirs()));
    scene.sees(PollResult {
        comments: vec![remark],
        ..shows(theirs())
    });
    assert!(!scene.jobs[0].input.comments[0].is_older);
}

#[test]
fn what_was_left_in_the_sandbox_is_committed_before_a_merge() {
    let mut scene = Scene::watching(terms());
    scene.looks.push_back(shows(theirs()));
    scene.now = scene.run.timers[&Timer::Poll];
    scene.tell(drive_core::run::Event::Woken { timer: Timer::Poll });
    scene.settle_until(|effect| effect.name() == "commitWork");
    let status = cruise_status(&scene.run).unwrap();
    assert_eq!(status.state, "merging");
    let message = scene.run.pending.values().find_map(|effect| match effect {
        Effect::CommitWork { message, .. } => Some(message.as_str()),
        _ => None,
    });
    assert_eq!(message, Some("Save uncommitted changes of the sandbox"));
}

/// A cruise whose budget is used up, in conflict with a person's push.
fn out_of_budget_in_conflict() -> Scene {
    let mut request = crate::common::cruise::request_with(terms());
    request.budget = Budget {
        tokens: Some(8_000),
        cost: None,
    };
    let mut scene = Scene::with(request);
    scene.settle();
    scene.performed.clear();
    scene.jobs.clear();
    scene.answer("integrate", conflicted());
    scene.answer("integrate", conflicted());
    scene.answer("concludeMerge", integrated('e'));
    scene
}

fn more(tokens: u64) -> Ask {
    Ask::Extend {
        budget: Budget {
            tokens: Some(tokens),
            cost: None,
        },
        rounds: 0,
    }
}

/// A regression test: a person was asked to merge by hand, and the cruise ended.
#[test]
fn conflicts_on_a_spent_budget_wait_for_a_larger_one() {
    let mut scene = out_of_budget_in_conflict();
    scene.sees(shows(theirs()));
    assert_eq!((&scene.run.outcome, scene.jobs.len()), (&None, 0));
    assert_eq!(scene.names()[2..4], ["integrate", "rollBack"]);
    let told = scene.bodies();
    let starts = "Waiting for a person: the run used 8400 tokens (limit 8000).";
    assert!(told.len() == 1 && told[0].starts_with(starts), "{told:?}");
    let paused = paused_for(&scene.run).unwrap();
    assert!(paused.contains("drive runs extend"), "{paused}");
    scene.ask(more(100));
    assert_eq!(mergers(&scene), 0, "still over the budget");
    scene.ask(more(5_000));
    assert_eq!((mergers(&scene), scene.bodies().len()), (1, 1));
    assert_eq!(pushes(&scene)[0].0, "e".repeat(40));
    assert_eq!((&scene.run.outcome, paused_for(&scene.run)), (&None, None));
}

#[test]
fn conflicts_go_on_after_a_budget_that_came_before_its_limit_was_posted() {
    let mut scene = out_of_budget_in_conflict();
    scene.answer("postComment", failed());
    scene.sees(shows(theirs()));
    assert_eq!(mergers(&scene), 0);
    scene.ask(more(5_000));
    assert_eq!(mergers(&scene), 0, "the comment is still being posted");
    scene.wake(Timer::Retry);
    assert_eq!(mergers(&scene), 1);
    assert_eq!(pushes(&scene)[0].0, "e".repeat(40));
}

#[test]
fn a_budget_that_ends_the_resolution_of_conflicts_costs_no_try() {
    let mut request = crate::common::cruise::request_with(terms());
    request.budget = Budget {
        tokens: Some(9_000),
        cost: None,
    };
    let mut scene = Scene::with(request);
    scene.settle();
    scene.jobs.clear();
    for _ in 0..4 {
        scene.answer("integrate", conflicted());
    }
    scene.answer("concludeMerge", integrated('e'));
    for _ in 0..3 {
        scene.agent(Role::Fixer, over_budget());
    }
    scene.sees(shows(theirs()));
    for merges in 1..4 {
        assert_eq!((mergers(&scene), &scene.run.outcome), (merges, &None));
        scene.ask(more(1_000));
    }
    assert_eq!(mergers(&scene), 4);
    let rounds: Vec<u32> = scene.jobs.iter().map(|job| job.round).take(4).collect();
    assert_eq!(rounds, [1, 1, 1, 1]);
    assert!(pushes(&scene).iter().any(|push| push.0 == "e".repeat(40)));
}

fn away() -> EffectResult {
    agent_ended(Some(Failure::Model { status: None }))
}

/// A cruise whose branch a person moved, in conflict with it, while the model is unavailable.
fn held_in_conflict() -> Scene {
    let mut scene = Scene::watching(terms());
    scene.answer("integrate", conflicted());
    scene.answer("integrate", conflicted());
    scene.answer("concludeMerge", integrated('e'));
    scene.agent(Role::Fixer, away());
    scene.sees(shows(theirs()));
    scene
}

fn mergers(scene: &Scene) -> usize {
    let all = scene.jobs.iter();
    all.filter(|job| !job.input.conflicts.is_empty()).count()
}

#[test]
fn conflicts_wait_for_a_model_that_is_away_and_the_wait_is_shown() {
    let mut scene = held_in_conflict();
    let status = cruise_status(&scene.run).unwrap();
    let waits = status.waiting_for.unwrap();
    assert!(waits.contains("could not use its model"), "{waits}");
    let paused = paused_for(&scene.run).unwrap();
    assert!(paused.starts_with("a retry at "), "{paused}");
    scene.wake(Timer::Inactivity);
    assert_eq!(scene.run.outcome, None, "a pause is not silence");
    assert_eq!(mergers(&scene), 1);
    scene.wake(Timer::Hold);
    assert_eq!(mergers(&scene), 2);
    assert_eq!(pushes(&scene)[0].0, "e".repeat(40));
    assert_eq!((&scene.run.outcome, paused_for(&scene.run)), (&None, None));
}

#[test]
fn a_person_who_asks_ends_the_wait_of_conflicts_for_a_model() {
    let mut scene = held_in_conflict();
    scene.ask(Ask::Poll);
    assert_eq!(mergers(&scene), 2);
    assert_eq!(pushes(&scene)[0].0, "e".repeat(40));
}

#[test]
fn no_agent_resolves_conflicts_while_the_model_is_away() {
    let mut scene = Scene::watching(terms());
    scene.agent(Role::Fixer, away());
    scene.answer("integrate", conflicted());
    scene.answer("concludeMerge", integrated('e'));
    scene.sees(PollResult {
        comments: vec![comment(5, "check the name")],
        ..PollResult::default()
    });
    assert_eq!(scene.jobs.len(), 1);
    scene.sees(shows(theirs()));
    assert_eq!((scene.jobs.len(), mergers(&scene)), (1, 0));
    scene.wake(Timer::Hold);
    assert_eq!(mergers(&scene), 1);
    assert_eq!(pushes(&scene)[0].0, "e".repeat(40));
}
