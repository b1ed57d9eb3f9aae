//! Tests who must act on a run.

use crate::common::cruise::{terms, terms_with_rounds};
use crate::common::{agent_ended, agent_said, at, build_request, child_report, comment};
use crate::cruise_step::scene::Scene;
use drive_core::agent::{Failure, Role};
use drive_core::ids::{PrNumber, RunId, TaskId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{
    Ask, ChangeDone, ChildReport, ChildState, Effect, EffectResult, Event, Group, Makes, Objected,
    Outcome, OutcomeStatus, Parent, PhaseTerms, PollResult, Published, Request, Run, Standing,
    State, Timer, Wants, standing, step, waiting_for,
};
use drive_core::timeline::describe_state;
use std::sync::Arc;

fn told(run: &Run) -> (Group, Option<String>, Option<String>) {
    let Standing {
        group,
        reason,
        command,
    } = standing(run, &[]);
    (group, reason, command)
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// A cruise with two tasks, of which `r1+login` builds the first.
fn root() -> Run {
    let request = Box::new(build_request());
    let run = Run::new(RunId::new("r1"));
    let mut run = step(run, Event::Requested { request }, at(0)).unwrap().0;
    while let Some(key) = run.pending.keys().next().cloned() {
        let result = EffectResult::Delivered;
        run = step(run, Event::EffectEnded { key, result }, at(0))
            .unwrap()
            .0;
    }
    run
}

/// The run of a scene as a child of a cruise.
fn child(scene: &Scene, of: &str) -> Run {
    let mut run = scene.run.clone();
    run.id = RunId::new("r1+login");
    let request = Request {
        parent: Some(Parent {
            run: RunId::new(of),
            task: TaskId::new("login"),
        }),
        ..run.request.as_deref().unwrap().clone()
    };
    run.request = Some(Arc::new(request));
    run
}

#[test]
fn a_plan_that_waits_for_approval_needs_you() {
    let scene = Scene::watching(terms());
    let id = &scene.run.id;
    assert_eq!(
        told(&scene.run),
        (
            Group::NeedsYou,
            some("the plan waits for your approval or comments"),
            Some(format!("drive cruise approve {id}")),
        )
    );
    assert_eq!(describe_state(&scene.run), "waiting for you");
}

#[test]
fn a_cruise_whose_planning_child_waits_for_a_person_needs_you() {
    let root = root();
    assert_eq!(standing(&root, &[]).group, Group::Working);
    let scene = Scene::watching(terms());
    let its = standing(&root, &[child(&scene, "r1")]);
    assert_eq!(its.group, Group::NeedsYou);
    assert_eq!(its.command, some("drive cruise approve r1"));
    // A child of another cruise does not matter for this one.
    assert_eq!(
        standing(&root, &[child(&scene, "r2")]).group,
        Group::Working
    );
}

#[test]
fn a_cruise_with_one_task_that_needs_a_person_needs_you_though_others_work() {
    let report = Box::new(ChildReport {
        number: 1,
        state: ChildState::NeedsPerson {
            why: "3 rounds are used".into(),
            wants: Wants::Limit,
        },
        ..child_report()
    });
    let child = RunId::new("r1+login");
    let event = Event::ChildReported { child, report };
    let run = step(root(), event, at(1)).unwrap().0;
    let its = standing(&run, &[]);
    assert_eq!(its.group, Group::NeedsYou);
    assert!(its.reason.unwrap().contains("3 rounds are used"));
    assert_eq!(its.command, some("drive runs extend r1+login --rounds 3"));
}

#[test]
fn a_cruise_that_is_ready_names_the_merge() {
    let told = |id: &str, url: &str, wants| {
        let mut run = root();
        let child = run.children.values().next().unwrap().clone();
        run.children.clear();
        let id = RunId::new(id);
        run.children.insert(id.clone(), child);
        let state = ChildState::NeedsPerson {
            why: "merge or close the pull request, or comment on it".into(),
            wants,
        };
        let report = Box::new(ChildReport {
            number: 1,
            state,
            pull_request: Some(Published {
                number: PrNumber::new(7),
                url: url.into(),
            }),
            ..child_report()
        });
        let event = Event::ChildReported { child: id, report };
        told(&step(run, event, at(1)).unwrap().0)
    };
    let (whole, task) = ("r1++validate", "r1+login");
    let (link, reason) = (
        "https://h/7",
        "merge or close the pull request, or comment on it",
    );
    let ready = format!("the built commits are ready to merge: {reason}");
    let on_link = told(whole, link, Wants::Merge);
    assert_eq!(
        on_link,
        (Group::NeedsYou, Some(format!("{ready} ({link})")), None)
    );
    let here = told(whole, "local:7", Wants::Merge);
    assert_eq!(
        here,
        (Group::NeedsYou, Some(ready), some("drive pr merge 7"))
    );
    let left = told(whole, "local:7", Wants::Decision);
    assert_eq!(
        left,
        (
            Group::NeedsYou,
            some(reason),
            some("drive cruise report r1")
        )
    );
    let approval = told(task, "local:7", Wants::Approval).2;
    assert_eq!(approval, some("drive pr approve 7"));
    let limit = told(whole, link, Wants::Limit).2;
    assert_eq!(limit, some("drive runs extend r1++validate --rounds 3"));
}

#[test]
fn a_pause_between_polls_with_nothing_to_do_is_waiting() {
    let scene = Scene::watching(PhaseTerms {
        makes: Makes::Change {
            done: ChangeDone::Landed { approve: false },
        },
        ..terms()
    });
    let (group, reason, command) = told(&scene.run);
    assert_eq!((group, command), (Group::Waiting, None));
    assert!(reason.unwrap().contains("comments"));
    assert_eq!(describe_state(&scene.run), "waiting");
}

#[test]
fn an_agent_at_work_is_working_and_named() {
    let mut scene = Scene::begin(terms());
    scene.settle_until(
        |effect| matches!(effect, Effect::RunAgent { job, .. } if job.role == Role::Planner),
    );
    assert_eq!(
        told(&scene.run),
        (
            Group::Working,
            some("the planner `claude-code` works"),
            None
        )
    );
    assert_eq!(describe_state(&scene.run), "running");
}

#[test]
fn a_run_without_an_owner_needs_you_unless_it_has_ended() {
    let mut scene = Scene::begin(terms());
    let id = scene.run.id.clone();
    let its = standing(&scene.run, &[]).without_owner(&scene.run);
    assert_eq!(its.group, Group::NeedsYou);
    assert_eq!(its.command, Some(format!("drive cruise resume {id}")));
    scene.run.outcome = Some(Outcome {
        status: OutcomeStatus::Succeeded,
        failure: None,
        ended_at: at(9),
    });
    let its = standing(&scene.run, &[]);
    assert_eq!(its.clone().without_owner(&scene.run), its);
    assert_eq!(its.group, Group::Done);
}

#[test]
fn a_failed_run_is_done_and_tells_its_cause_and_the_next_command() {
    let mut run = Scene::begin(terms()).run;
    let id = run.id.clone();
    let mut fails = |problem: Problem| {
        run.outcome = Some(Outcome {
            status: OutcomeStatus::Failed,
            failure: Some(problem),
            ended_at: at(9),
        });
        told(&run)
    };
    let problem = Problem::new(Kind::AgentFailed, "agent `x` failed (exit code 1)");
    assert_eq!(
        fails(problem.clone()),
        (
            Group::Done,
            some("agent `x` failed (exit code 1)"),
            Some(format!("drive runs show {id}"))
        )
    );
    let hinted = problem.hint("run `git gc`, then `drive doctor`");
    assert_eq!(fails(hinted).2, some("drive doctor"));
}

fn says(id: u64) -> PollResult {
    PollResult {
        comments: vec![comment(id, "check the name")],
        ..PollResult::default()
    }
}

/// For each phase and wait of a watched run: a scene, its state, and a part of the text about its wait.
#[test]
fn every_wait_is_shown_as_what_it_is() {
    type Case = (&'static str, fn() -> Scene, State, Option<&'static str>);
    let cases: [Case; 11] = [
        (
            "just asked for",
            || Scene::begin(terms()),
            State::Running,
            None,
        ),
        (
            "a reviewer works",
            || {
                let mut scene = Scene::begin(terms());
                scene.settle_until(
                    |one| matches!(one, Effect::RunAgent { job, .. } if job.role == Role::Reviewer),
                );
                scene
            },
            State::Running,
            None,
        ),
        (
            "a plan to approve",
            || Scene::watching(terms()),
            State::NeedsYou,
            Some("`drive cruise approve"),
        ),
        (
            "a plan to approve, while the pull request is polled",
            || {
                let mut scene = Scene::watching(terms());
                scene.tell(Event::Woken { timer: Timer::Poll });
                scene
            },
            State::NeedsYou,
            Some("`drive cruise approve"),
        ),
        (
            "a person requested changes",
            || {
                let mut scene = Scene::watching(terms());
                scene.sees(PollResult {
                    objections: Some(vec![Objected {
                        by: "bob".into(),
                        head: None,
                        url: Some("https://h/7#review".into()),
                    }]),
                    ..PollResult::default()
                });
                scene
            },
            State::NeedsYou,
            Some(
                "bob requested changes, and approves or dismisses that review (https://h/7#review)",
            ),
        ),
        (
            "a fixer asked back",
            || {
                let mut scene = Scene::watching(terms());
                let asks =
                    r#"{"comments": [{"id": "inline-5", "action": "question", "note": "Which?"}]}"#;
                scene.agent(Role::Fixer, agent_said(asks));
                scene.sees(says(5));
                scene
            },
            State::NeedsYou,
            Some("ann was asked a question (inline-5)"),
        ),
        (
            "no round is left",
            || {
                let mut scene = Scene::watching(terms_with_rounds(1));
                scene.sees(says(5));
                scene.sees(says(6));
                scene
            },
            State::NeedsYou,
            Some("`drive runs extend"),
        ),
        (
            "an agent failed and is tried again",
            || {
                let mut scene = Scene::watching(terms());
                scene.agent(Role::Fixer, agent_ended(Some(Failure::Reported)));
                scene.sees(says(5));
                scene
            },
            State::Waiting,
            Some("a retry at"),
        ),
        (
            "the forge does not answer",
            || {
                let mut scene = Scene::watching(terms());
                scene.answer("poll", super::scene::failed());
                scene.answer("onForge", super::scene::failed());
                scene.wake(Timer::Poll);
                scene
            },
            State::Waiting,
            Some("the forge:"),
        ),
        (
            "comments may come",
            || {
                Scene::watching(PhaseTerms {
                    makes: Makes::Change {
                        done: ChangeDone::Landed { approve: false },
                    },
                    ..terms()
                })
            },
            State::Waiting,
            Some("comments"),
        ),
        (
            "a person ended it, and its sandbox is not removed yet",
            || {
                let mut scene = Scene::watching(terms());
                scene.tell(Event::Asked { ask: Ask::Cleanup });
                scene
            },
            State::Running,
            None,
        ),
    ];
    for (name, scene, state, wait) in cases {
        let run = scene().run;
        let its = standing(&run, &[]);
        assert_eq!(State::of(&run, &its), state, "{name}: {its:?}");
        let told = waiting_for(&run, &its);
        let is_told = match wait {
            Some(part) => told.as_ref().is_some_and(|told| told.contains(part)),
            None => told.is_none(),
        };
        assert!(is_told, "{name}: {told:?}");
        // Without an owner, nothing of that happens.
        let idle = its.clone().without_owner(&run);
        assert_eq!(State::of(&run, &idle), State::NeedsYou, "{name}");
        let told = waiting_for(&run, &idle).unwrap();
        match its.group {
            Group::NeedsYou => assert_eq!(idle, its, "{name}"),
            Group::Working | Group::Waiting | Group::Done => {
                assert!(told.contains("`drive cruise resume"), "{name}: {told}");
            }
        }
    }
}

#[test]
fn a_run_that_has_ended_is_shown_as_it_ended() {
    let cases = [
        (OutcomeStatus::Succeeded, State::Succeeded),
        (OutcomeStatus::Failed, State::Failed),
        (OutcomeStatus::TimedOut, State::TimedOut),
        (OutcomeStatus::Cancelled, State::Cancelled),
        (OutcomeStatus::NeedsHuman, State::NeedsYou),
    ];
    for (status, state) in cases {
        let mut run = Scene::watching(terms()).run;
        run.outcome = Some(Outcome {
            status,
            failure: None,
            ended_at: at(9),
        });
        let its = standing(&run, &[]);
        assert_eq!(State::of(&run, &its), state);
        assert_eq!(describe_state(&run), state.as_str());
        assert_eq!(waiting_for(&run, &its), None);
    }
}

#[test]
fn a_cruise_that_is_being_ended_asks_nobody() {
    let scene = Scene::watching(terms());
    let children = [child(&scene, "r1")];
    let mut root = root();
    let shown = |root: &Run| State::of(root, &standing(root, &children));
    assert_eq!(shown(&root), State::NeedsYou);
    root = step(root, Event::Asked { ask: Ask::Cleanup }, at(1))
        .unwrap()
        .0;
    assert!(root.shutdown.is_some());
    assert_ne!(shown(&root), State::NeedsYou);
}
