//! Tests that a stopped or killed team can be continued.

use crate::common::{
    agent_ended, at, identity, over_budget, problem, request, run_id, team_request,
};
use crate::team_step::scene::{APPROVED, OBJECTS, Scene, end, team};
use drive_core::agent::{Budget, Cost, Failure, Role};
use drive_core::problem::Kind;
use drive_core::review::LastWord;
use drive_core::run::{
    AfterEnd, Ask, Effect, EffectResult, Event, ForgeAct, NotResumable, OutcomeStatus, Publish,
    Request, Run, fold, require_resumable, step, waits_for_person,
};
use drive_core::settings::TeamMode;
use proptest::prelude::*;
use std::collections::BTreeMap;

pub(super) const RESUMED: Event = Event::Resumed { granted: None };

pub(super) fn begin(request: Request) -> Run {
    let requested = Event::Requested {
        request: Box::new(request),
    };
    fold(run_id(), [(requested, at(0))]).unwrap()
}

pub(super) fn tell(run: Run, event: Event) -> Run {
    step(run, event, at(5)).unwrap().0
}

/// Performs one effect. A sandbox on an existing branch has nothing to commit.
fn perform(scene: &mut Scene, effect: &Effect) -> EffectResult {
    let is_reading = matches!(effect, Effect::CommitWork { message, .. }
        if message == "Save uncommitted changes of the sandbox");
    if !is_reading {
        return scene.perform(effect);
    }
    scene.performed.push(effect.clone());
    EffectResult::WorkCommitted {
        head_sha: drive_core::ids::CommitSha::new(scene.head.clone().unwrap()),
        commits: scene.commits.clone(),
        warnings: Vec::new(),
        changed: Vec::new(),
    }
}

pub(super) fn perform_one(scene: &mut Scene, run: Run) -> Run {
    let (key, effect) = run.pending.first_key_value().unwrap();
    let ended = Event::EffectEnded {
        key: key.clone(),
        result: perform(scene, effect),
    };
    tell(run, ended)
}

pub(super) fn to_the_end(scene: &mut Scene, mut run: Run) -> Run {
    for _ in 0..1_000 {
        if run.outcome.is_some() {
            return run;
        }
        if run.pending.is_empty() {
            let (&timer, &due) = run.timers.iter().min_by_key(|(_, due)| **due).unwrap();
            run = step(run, Event::Woken { timer }, due).unwrap().0;
            continue;
        }
        run = perform_one(scene, run);
    }
    panic!("no end: {:?}", scene.told);
}

/// Every post with its key, and how often it was performed.
fn posts(scene: &Scene) -> BTreeMap<String, u32> {
    let mut posts = BTreeMap::new();
    for effect in &scene.performed {
        if let Effect::OnForge {
            act: ForgeAct::Reply { .. } | ForgeAct::PostReview { .. } | ForgeAct::PostComment { .. },
            idempotency_key,
            ..
        } = effect
        {
            let key = idempotency_key.as_ref().unwrap().to_string();
            *posts.entry(key).or_default() += 1;
        }
    }
    posts
}

proptest! {
    /// Whenever and however often it is stopped or killed: it continues, ends approved with the
    /// same reviews and answers, and every approval is for its last commit.
    #[test]
    fn a_team_that_is_stopped_anywhere_goes_on_to_the_same_end(
        stops in proptest::collection::vec((0_usize..45, any::<bool>()), 1..4),
        mode in proptest::sample::select(vec![TeamMode::Pingpong, TeamMode::Github]),
    ) {
        let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
        let mut run = begin(team_request(mode));
        for (steps, is_killed) in stops {
            for _ in 0..steps {
                if run.pending.is_empty() || run.outcome.is_some() { break }
                run = perform_one(&mut scene, run);
            }
            if run.outcome.is_some() { break }
            if is_killed {
                if let Some(key) = run.pending.keys().next().cloned() {
                    let started = Event::ProcessStarted { key, identity: identity(42) };
                    run = tell(run, started);
                }
                run = tell(run, Event::OwnerLost);
            } else {
                run = tell(run, Event::CancelAsked);
            }
            while let Some((key, effect)) = run.pending.first_key_value() {
                let result = match effect {
                    Effect::RunAgent { .. } => agent_ended(Some(Failure::Cancelled)),
                    effect => perform(&mut scene, effect),
                };
                run = tell(run.clone(), Event::EffectEnded { key: key.clone(), result });
            }
            let ended = run.outcome.clone().unwrap();
            if ended.status == OutcomeStatus::Succeeded { break }
            run = tell(run, RESUMED);
            prop_assert!(run.outcome.is_none());
        }
        let run = to_the_end(&mut scene, run);
        prop_assert_eq!(end(&run), (OutcomeStatus::Succeeded, None, Some(LastWord::Approved)));
        let reviews = &team(&run).record.reviews;
        let last = reviews.last().unwrap();
        prop_assert_eq!(&last.head, &run.work.head_sha);
        let opened = scene.performed_as("openPullRequest").len();
        prop_assert!(opened >= 1);
        if mode == TeamMode::Github {
            let replies = posts(&scene).into_keys().filter(|key| key.starts_with("reply/")).count();
            prop_assert_eq!(replies, 1, "{:?}", posts(&scene));
        }
    }
}

fn posts_next(run: &Run, name: &str, key: &str) -> bool {
    run.pending.values().any(|effect| match effect {
        Effect::OnForge {
            idempotency_key, ..
        } => {
            let its = idempotency_key.as_ref().map(ToString::to_string);
            effect.name() == name && its.is_some_and(|its| its.starts_with(key))
        }
        _ => false,
    })
}

/// Kills its owner; the next command ends it.
fn killed(scene: &mut Scene, run: Run) -> Run {
    let mut run = tell(run, Event::OwnerLost);
    while run.outcome.is_none() {
        run = perform_one(scene, run);
    }
    run
}

#[test]
fn findings_outlive_a_kill_while_they_are_posted_and_another_while_the_team_goes_on() {
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
    let mut run = begin(team_request(TeamMode::Github));
    while !posts_next(&run, "postReview", "review/") {
        run = perform_one(&mut scene, run);
    }
    run = tell(killed(&mut scene, run), RESUMED);
    while !posts_next(&run, "postComment", "resumed/") {
        run = perform_one(&mut scene, run);
    }
    run = tell(killed(&mut scene, run), RESUMED);
    let run = to_the_end(&mut scene, run);
    assert_eq!(
        end(&run),
        (OutcomeStatus::Succeeded, None, Some(LastWord::Approved))
    );
    let replies = posts(&scene).into_keys();
    let replies = replies.filter(|key| key.starts_with("reply/")).count();
    assert_eq!(replies, 1, "{:?}", posts(&scene));
}

/// A team that was stopped while its reviewer was working.
fn stopped_in_review(scene: &mut Scene) -> Run {
    let mut run = begin(team_request(TeamMode::Github));
    while !scene
        .roles()
        .iter()
        .any(|role| role.starts_with("reviewer"))
    {
        run = perform_one(scene, run);
    }
    // Another domain is under review; a stop ends that.
    run = tell(run, Event::CancelAsked);
    to_the_end(scene, run)
}

#[test]
fn a_stopped_team_says_once_on_its_pull_request_how_it_goes_on_and_that_it_does() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let run = stopped_in_review(&mut scene);
    assert_eq!(end(&run).1, Some(Kind::Interrupted));
    let hint = run.outcome.clone().unwrap().failure.unwrap().hint.unwrap();
    let command = format!("`drive runs resume {}`", run.id);
    assert!(hint.contains(&command), "{hint}");
    let said: Vec<&String> = scene
        .told
        .iter()
        .filter(|one| one.contains(&command))
        .collect();
    assert_eq!(said.len(), 1, "{:?}", scene.told);
    let run = to_the_end(&mut scene, tell(run, RESUMED));
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
    let continues = format!("Run `{}` continues.", run.id);
    let said = scene.told.iter().filter(|one| **one == continues);
    assert_eq!(said.count(), 1, "{:?}", scene.told);
    let created = scene.performed_as("createSandbox");
    let existing: Vec<bool> = created
        .iter()
        .map(|effect| matches!(effect, Effect::CreateSandbox { spec } if spec.on_existing_branch))
        .collect();
    assert_eq!(existing, [false, true]);
}

#[test]
fn a_closing_comment_that_cannot_be_posted_is_a_warning() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut run = begin(team_request(TeamMode::Pingpong));
    while run.work.pull_request.is_none() {
        run = perform_one(&mut scene, run);
    }
    scene.fails = Some("postComment");
    let run = to_the_end(&mut scene, tell(run, Event::OwnerLost));
    assert_eq!(end(&run).1, Some(Kind::OwnerLost));
    let warning = format!("could not post the closing comment: {}", problem());
    assert!(run.warnings.contains(&warning), "{:?}", run.warnings);
}

/// A regression test: a team merged a commit that was only on its local branch.
#[test]
fn a_commit_that_a_stop_left_unpublished_is_pushed_before_it_is_reviewed() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let run = stopped_in_review(&mut scene);
    let theirs = "f".repeat(40);
    scene.head = Some(theirs.clone());
    scene.performed.clear();
    let run = to_the_end(&mut scene, tell(run, RESUMED));
    assert_eq!(end(&run).2, Some(LastWord::Approved));
    let next = scene.performed.iter().find(|effect| match effect {
        Effect::Push { .. } => true,
        Effect::RunAgent { job, .. } => job.role == Role::Reviewer,
        _ => false,
    });
    assert!(
        matches!(
            next,
            Some(Effect::Push {
                published: Some(_),
                ..
            })
        ),
        "{next:?}"
    );
}

#[test]
fn a_run_that_succeeded_or_still_runs_cannot_be_resumed() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let run = begin(team_request(TeamMode::Pingpong));
    assert_eq!(require_resumable(&run, None), Err(NotResumable::Active));
    assert!(step(run.clone(), RESUMED, at(1)).is_err());
    let run = to_the_end(&mut scene, run);
    let over = NotResumable::Over(OutcomeStatus::Succeeded);
    assert_eq!(require_resumable(&run, None), Err(over));
    assert!(step(run, RESUMED, at(1)).is_err());
}

#[test]
fn a_second_stop_is_a_stop_as_the_first_one_was() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut run = stopped_in_review(&mut scene);
    for lives in 1..4 {
        run = tell(run, RESUMED);
        assert_eq!(run.resumption.as_ref().unwrap().count, lives);
        run = to_the_end(&mut scene, tell(run, Event::CancelAsked));
        assert_eq!(end(&run).1, Some(Kind::Interrupted), "{lives}");
    }
    let run = to_the_end(&mut scene, tell(run, RESUMED));
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
}

#[test]
fn a_sandbox_that_cannot_be_made_again_ends_the_run_and_it_can_be_resumed_again() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let run = stopped_in_review(&mut scene);
    scene.fails = Some("createSandbox");
    let run = to_the_end(&mut scene, tell(run, RESUMED));
    assert_eq!(end(&run).1, Some(problem().kind));
    scene.fails = None;
    let run = to_the_end(&mut scene, tell(run, RESUMED));
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
}

/// A team whose owner died while an agent worked, and whose agent cannot be ended.
fn with_an_agent_that_does_not_end(scene: &mut Scene) -> Run {
    let mut run = begin(team_request(TeamMode::Pingpong));
    while !matches!(run.pending.values().next(), Some(Effect::RunAgent { job, .. }) if job.role == Role::Coder)
    {
        run = perform_one(scene, run);
    }
    let key = run.pending.keys().next().unwrap().clone();
    let started = Event::ProcessStarted {
        key,
        identity: identity(42),
    };
    scene.fails = Some("endProcess");
    let run = tell(tell(run, started), Event::OwnerLost);
    let run = to_the_end(scene, run);
    assert_eq!(end(&run).1, Some(Kind::OwnerLost));
    assert!(run.warnings[0].starts_with("could not stop a process"));
    run
}

#[test]
fn a_process_that_could_not_be_ended_is_ended_before_the_run_goes_on() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let run = with_an_agent_that_does_not_end(&mut scene);
    assert_eq!(run.processes.values().collect::<Vec<_>>(), [&identity(42)]);
    scene.fails = None;
    let run = tell(run, RESUMED);
    let names: Vec<&str> = run.pending.values().map(Effect::name).collect();
    assert_eq!(names, ["endProcess"], "nothing is made beside it");
    let run = perform_one(&mut scene, run);
    assert!(run.processes.is_empty());
    let run = to_the_end(&mut scene, run);
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
}

#[test]
fn a_process_that_still_cannot_be_ended_keeps_its_run_from_going_on() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let run = with_an_agent_that_does_not_end(&mut scene);
    let agents = scene.jobs.len();
    let run = to_the_end(&mut scene, tell(run, RESUMED));
    assert_eq!(end(&run).1, Some(problem().kind));
    assert_eq!(run.processes.len(), 1, "it stays known");
    assert_eq!(scene.jobs.len(), agents);
    scene.fails = None;
    let run = to_the_end(&mut scene, tell(run, RESUMED));
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
}

#[test]
fn a_team_over_its_budget_goes_on_once_more_is_granted() {
    let mut asked = team_request(TeamMode::Github);
    asked.budget.tokens = Some(1);
    let mut scene = Scene::reviews(&[APPROVED]);
    let run = to_the_end(&mut scene, begin(asked));
    assert_eq!(end(&run).0, OutcomeStatus::NeedsHuman);
    assert_eq!(end(&run).1, Some(Kind::BudgetExceeded));
    let hint = run.outcome.clone().unwrap().failure.unwrap().hint.unwrap();
    let command = format!("`drive runs extend {} --tokens 1000000`", run.id);
    assert!(hint.contains(&command), "{hint}");
    let waits = waits_for_person(&run).unwrap();
    assert!(waits.ends_with(&command), "{waits}");
    assert_eq!(require_resumable(&run, None), Err(NotResumable::OverBudget));
    let granted = Some(Budget {
        tokens: Some(1_000_000),
        cost: Some(Cost::default()),
    });
    let run = to_the_end(&mut scene, tell(run, Event::Resumed { granted }));
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
}

fn extend(tokens: u64) -> Event {
    let budget = Budget {
        tokens: Some(tokens),
        cost: None,
    };
    Event::Asked {
        ask: Ask::Extend { budget, rounds: 0 },
    }
}

/// A team whose namer, coder and first five reviewers use up its budget.
fn poor_team() -> Run {
    let mut asked = team_request(TeamMode::Github);
    asked.budget.tokens = Some(8_800);
    begin(asked)
}

#[test]
fn a_fixer_that_the_budget_stops_gets_the_same_finding_again_once_more_is_granted() {
    let mut scene = Scene::reviews(&[OBJECTS, APPROVED]);
    scene.agents = [over_budget()].into();
    let run = to_the_end(&mut scene, poor_team());
    assert_eq!(end(&run).1, Some(Kind::BudgetExceeded));
    assert_eq!(team(&run).ledger.open().count(), 1);
    let run = tell(run, extend(1_000_000));
    assert_eq!(waits_for_person(&run), None);
    let run = to_the_end(&mut scene, tell(run, RESUMED));
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
    let fixers: Vec<_> = scene
        .jobs
        .iter()
        .filter(|job| job.role == Role::Fixer)
        .collect();
    assert_eq!(fixers.len(), 2);
    assert_eq!(fixers[0].input.comments, fixers[1].input.comments);
    let saved = crate::common::kept().sha;
    assert!(
        fixers[1].prompt.contains(saved.as_str()),
        "{}",
        fixers[1].prompt
    );
}

#[test]
fn a_reviewer_that_the_budget_stops_gives_its_verdict_once_more_is_granted() {
    let mut scene = Scene::reviews(&[APPROVED]);
    scene.reviews.push_front(over_budget());
    let mut asked = team_request(TeamMode::Pingpong);
    asked.budget.tokens = Some(3_000);
    let run = to_the_end(&mut scene, begin(asked));
    assert_eq!(end(&run).1, Some(Kind::BudgetExceeded));
    assert!(team(&run).record.reviews.is_empty());
    let granted = Some(Budget {
        tokens: Some(1_000_000),
        cost: None,
    });
    let run = to_the_end(&mut scene, tell(run, Event::Resumed { granted }));
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
    assert_eq!(team(&run).record.reviews.len(), 1);
}

#[test]
fn a_budget_that_is_raised_while_an_agent_works_is_there_for_the_next_one() {
    let mut asked = request(Publish::BranchOnly, AfterEnd::Remove);
    asked.budget.tokens = Some(1_100);
    let mut scene = Scene::default();
    scene.answers("runAgent", [over_budget()]);
    let run = perform_one(&mut scene, begin(asked));
    let run = tell(run, extend(50_000));
    let run = to_the_end(&mut scene, run);
    assert_eq!(
        run.outcome.as_ref().unwrap().status,
        OutcomeStatus::Succeeded
    );
    let job = scene.jobs.last().unwrap();
    assert_eq!(job.budget.tokens, Some(1_100 + 50_000 - 1_200));
    let saved = crate::common::kept().sha;
    assert!(job.prompt.contains(saved.as_str()), "{}", job.prompt);
}

#[test]
fn a_budget_that_is_raised_on_the_way_out_is_there_when_the_run_is_resumed() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let mut asked = team_request(TeamMode::Github);
    asked.budget.tokens = Some(1);
    let mut run = begin(asked);
    while run.shutdown.is_none() {
        run = perform_one(&mut scene, run);
    }
    let run = to_the_end(&mut scene, tell(run, extend(1_000_000)));
    let hint = run.outcome.clone().unwrap().failure.unwrap().hint.unwrap();
    let command = format!("`drive runs resume {}`", run.id);
    assert!(hint.contains(&command), "{hint}");
    let run = to_the_end(&mut scene, tell(run, RESUMED));
    assert_eq!(end(&run).0, OutcomeStatus::Succeeded);
}

#[test]
fn a_run_that_ended_for_good_is_granted_nothing() {
    let mut scene = Scene::reviews(&[APPROVED]);
    let run = to_the_end(&mut scene, begin(team_request(TeamMode::Pingpong)));
    let after = tell(run.clone(), extend(1_000_000));
    assert_eq!(after, run);
}

#[test]
fn a_spawn_that_lost_its_owner_starts_its_agent_again_and_tells_it_where_the_work_is() {
    let mut scene = Scene::default();
    let mut run = begin(request(Publish::BranchOnly, AfterEnd::Remove));
    run = perform_one(&mut scene, run);
    run = tell(run, Event::OwnerLost);
    let run = to_the_end(&mut scene, run);
    assert_eq!(
        run.outcome.as_ref().unwrap().failure.as_ref().unwrap().kind,
        Kind::OwnerLost
    );
    let run = to_the_end(&mut scene, tell(run, RESUMED));
    assert_eq!(
        run.outcome.as_ref().unwrap().status,
        OutcomeStatus::Succeeded
    );
    let told = &scene.jobs.last().unwrap().prompt;
    let saved = crate::common::kept().sha;
    assert!(told.starts_with("Fix the login"), "{told}");
    assert!(told.contains(&format!("`git show {saved}`")), "{told}");
}
