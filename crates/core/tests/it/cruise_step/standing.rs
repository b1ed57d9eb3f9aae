//! Who must act on a run.

use crate::common::cruise::terms;
use crate::common::{at, build_request, child_report};
use crate::cruise_step::scene::Scene;
use drive_core::agent::Role;
use drive_core::ids::{PrNumber, RunId, TaskId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{
    ChildReport, ChildState, DoneWhen, Effect, EffectResult, Event, Group, Outcome, OutcomeStatus,
    Parent, PhaseTerms, Published, Request, Run, Standing, Wants, standing, step,
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

/// A cruise of two tasks whose first one is built by `r1+login`.
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

/// The run of a scene, as a child of a cruise.
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
    // A child of another cruise says nothing about this one.
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
    let ready = format!("what was built is ready: {reason}");
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
        done: DoneWhen::Asked,
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
