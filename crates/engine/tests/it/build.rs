//! Tests a cruise that builds the tasks of a plan and lands them on its branch, with a crash at every step.

use crate::support::{Crashes, Scene, team_request};
use drive_core::agent::Role;
use drive_core::forge::PullRequest;
use drive_core::forge::checks::{Check, CheckSource, CheckState};
use drive_core::ids::RunId;
use drive_core::plan::Plan;
use drive_core::run::{
    BuildTerms, Effect, EffectResult, Event, Level, LineAct, LineAnswer, LineTerms, OutcomeStatus,
    PerTask, PlanFrom, Request, Run, RunKind, WatchTerms, fold,
};
use drive_engine::fakes::{AgentTurn, AgentWork, FakeForge, FakeWorld, REPOSITORY_PATH};
use drive_engine::ports::{Entry, Place, Store, VersionControl};
use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

/// The tasks of the plan, and the file that each one writes. The second depends on the first.
const TASKS: [(&str, &str); 2] = [("one", "one.txt"), ("two", "two.txt")];

const PLAN: &str = r#"Two steps.

```json tasks
[
  {"id": "one", "title": "Write one.txt", "description": "",
   "acceptance": [{"id": "one-is-there", "kind": "command", "text": "it is there",
                   "command": ["test", "-f", "one.txt"]}],
   "depends_on": [], "paths": ["one.txt"]},
  {"id": "two", "title": "Write two.txt", "description": "",
   "acceptance": [{"id": "two-is-there", "kind": "command", "text": "it is there",
                   "command": ["test", "-f", "two.txt"]}],
   "depends_on": ["one"], "paths": ["two.txt"]}
]
```
"#;

fn scene() -> Scene {
    let scene = Scene::new();
    scene.world.agents.script(Role::Coder, |turn: &AgentTurn| {
        let (_, path) = TASKS
            .into_iter()
            // The prompt also mentions tasks that landed before.
            .rfind(|(_, path)| turn.prompt.contains(&format!("Write {path}")))
            .unwrap_or_else(|| panic!("whose task is this? {}", turn.prompt));
        AgentWork::answer("Done.").write(path, "written\n")
    });
    scene
}

fn build_request(world: &FakeWorld) -> Request {
    let RunKind::Team(task) = team_request(world).kind else {
        panic!("a team");
    };
    let line = LineTerms {
        plan: PlanFrom::File {
            plan: Plan::parse(PLAN).unwrap(),
        },
        task,
        per_task: None,
        named: false,
        slots: NonZeroU32::MIN,
        patience: Duration::from_secs(3600),
        max_age: Duration::from_secs(7 * 24 * 3600),
        level: Level::Functional,
        finish: None,
    };
    let terms = BuildTerms {
        tasks: Vec::new(),
        max_parallel: NonZeroU32::MIN,
        line: Some(Box::new(line)),
    };
    Request {
        kind: RunKind::Build(Box::new(terms)),
        ..team_request(world)
    }
}

fn load(scene: &Scene, id: &RunId) -> Run {
    scene.world.store.load(id).unwrap().unwrap()
}

/// Asserts that each task was done once, and that its work is on the branch once.
fn assert_landed(scene: &Scene, root: &Run, when: &str) {
    let (world, store) = (&scene.world, &scene.world.store);
    let outcome = root.outcome.as_ref();
    assert_eq!(
        outcome.map(|outcome| (outcome.status, outcome.failure.clone())),
        Some((OutcomeStatus::Succeeded, None)),
        "{when}"
    );
    assert_eq!(world.machine.overlaps(), Vec::<String>::new(), "{when}");
    assert_eq!(world.machine.running_agents(), 0, "{when}");
    assert_eq!(world.repository.sandboxes(), Vec::new(), "{when}");
    assert_eq!(
        world.repository.lost_commits(),
        Vec::<String>::new(),
        "{when}"
    );
    for id in root.children.keys().chain([&root.id]) {
        let run = load(scene, id);
        assert!(!run.is_active(), "{when}: {id} did not end");
        assert!(store.outbox(id).is_empty(), "{when}: {id}");
        let entries = store.journal(id).unwrap();
        let is_request = |entry: &&Entry| matches!(entry.event, Event::Requested { .. });
        let requests = entries.iter().filter(is_request).count();
        assert_eq!(requests, 1, "{when}: {id} was started twice");
        let events = entries.into_iter().map(|entry| (entry.event, entry.at));
        assert_eq!(fold(id.clone(), events).unwrap(), run, "{when}: {id}");
    }
    let branch = root.work.branch.as_deref().unwrap();
    let tip = world.repository.remote_branch("origin", branch).unwrap();
    let files = world.repository.files_of(&tip).unwrap();
    assert_eq!(world.repository.branch(branch), Some(tip), "{when}");
    for (task, path) in TASKS {
        let text = files.get(path).map(String::as_str);
        assert_eq!(text, Some("written\n"), "{when}: {task}");
        assert_eq!(times_landed(scene, root, task), 1, "{when}: {task} landed");
    }
}

/// The number of merges of a task on the branch.
fn times_landed(scene: &Scene, root: &Run, task: &str) -> usize {
    let repository = &scene.world.repository;
    let branch = root.work.branch.as_deref().unwrap();
    let tip = repository.branch(branch).unwrap();
    let main = repository.branch("main").unwrap();
    let place = Place::Checkout(Path::new(REPOSITORY_PATH));
    let commits = repository.commits(place, &main, &tip).unwrap();
    let merge = format!("Merge task `{task}`");
    let merges = commits.iter().filter(|one| one.subject.starts_with(&merge));
    merges.count()
}

#[test]
fn a_cruise_that_builds_lands_the_tasks_of_its_plan() {
    let scene = scene();
    let request = build_request(&scene.world);
    let root = scene.cruise(&request, None).unwrap();
    assert_landed(&scene, &root, "without a crash");
    assert_eq!(root.children.len(), TASKS.len());
}

/// A cruise whose tasks have their own pull requests. `meanwhile` acts on that of the first task
/// while its tree is verified.
fn per_task(meanwhile: impl FnOnce(&FakeForge, &PullRequest) + Send + 'static) -> (Scene, Run) {
    let scene = scene();
    let forge = scene.world.forge.clone();
    scene
        .world
        .gate
        .during(move || meanwhile(&forge, &first(&forge)));
    fly_per_task(scene)
}

/// The pull request of the first task.
fn first(forge: &FakeForge) -> PullRequest {
    let all = forge.pull_requests();
    let first = all.into_iter().find(|one| one.title.contains("one.txt"));
    first.expect("the first task has a pull request")
}

fn fly_per_task(scene: Scene) -> (Scene, Run) {
    scene.world.agents.script(Role::Fixer, |turn: &AgentTurn| {
        let one = |id: &str| format!(r#"{{"id": "{id}", "action": "fixed", "note": "done"}}"#);
        let all = turn.input.comments.iter().map(|comment| one(&comment.id));
        let all: Vec<String> = all.collect();
        AgentWork::answer(format!(r#"{{"comments": [{}]}}"#, all.join(", ")))
            .write("said.txt", "so\n")
    });
    let mut request = build_request(&scene.world);
    if let RunKind::Build(terms) = &mut request.kind
        && let Some(line) = &mut terms.line
    {
        line.per_task = Some(PerTask {
            watch: WatchTerms {
                poll_initial: Duration::from_secs(5),
                poll_max: Duration::from_secs(300),
                inactivity_timeout: Duration::from_secs(24 * 3600),
                max_rounds: 5,
            },
            approve: false,
        });
    }
    let root = scene.cruise(&request, None).unwrap();
    (scene, root)
}

#[test]
fn a_comment_while_its_tree_is_verified_is_answered_before_a_task_lands() {
    let (scene, root) = per_task(|forge, pr| {
        forge.person_comments("ann", pr.number, "STOP, say why");
    });
    let outcome = root.outcome.as_ref().unwrap();
    assert_eq!(outcome.status, OutcomeStatus::Succeeded, "{outcome:?}");
    // Her comment is read before the line moves, by the run of the task or right before the move.
    assert_eq!(times_landed(&scene, &root, "one"), 1);
    assert!(
        has_answer(&scene, &root),
        "what she asked for landed with it"
    );
}

#[test]
fn a_comment_after_the_move_was_decided_keeps_the_branch_where_it_is() {
    let scene = scene();
    let forge = scene.world.forge.clone();
    scene.world.store.once(move |run| {
        let is_land = |effect: &Effect| {
            matches!(effect, Effect::OnLine { act: LineAct::Land { offers, .. } } if !offers.is_empty())
        };
        let lands = run.pending.values().any(is_land);
        if lands {
            forge.person_comments("ann", first(&forge).number, "STOP, say why");
        }
        lands
    });
    let (scene, root) = fly_per_task(scene);
    assert_eq!(times_landed(&scene, &root, "one"), 1);
    let is_held = |entry: &Entry| {
        matches!(
            &entry.event,
            Event::EffectEnded {
                result: EffectResult::OnLine {
                    answer: LineAnswer::Unheard { .. },
                },
                ..
            }
        )
    };
    let journal = scene.world.store.journal(&root.id).unwrap();
    assert!(journal.iter().any(is_held), "the decided move is not made");
    assert!(has_answer(&scene, &root));
}

/// Whether a fixer's commit is on the branch.
fn has_answer(scene: &Scene, root: &Run) -> bool {
    let branch = root.work.branch.as_deref().unwrap();
    let tip = scene.world.repository.branch(branch).unwrap();
    let files = scene.world.repository.files_of(&tip).unwrap();
    files.contains_key("said.txt")
}

#[test]
fn a_check_that_fails_while_its_tree_is_verified_keeps_a_task_from_landing() {
    let (scene, root) = per_task(|forge, pr| {
        let failed = Check {
            name: "build".to_owned(),
            source: CheckSource::CheckRun,
            state: CheckState::Failed,
            required: false,
            url: None,
            summary: None,
            failure: None,
        };
        forge.set_checks(&pr.head_sha, vec![failed]);
    });
    // The run of the task may read the check first and have a fixer change the commit.
    let landed = times_landed(&scene, &root, "one");
    assert!(landed == 0 || (landed == 1 && has_answer(&scene, &root)));
}

#[test]
fn tasks_that_nobody_stands_against_land_once() {
    let (scene, root) = per_task(|_, _| {});
    assert_eq!(
        root.outcome.as_ref().unwrap().status,
        OutcomeStatus::Succeeded
    );
    for (task, _) in TASKS {
        assert_eq!(times_landed(&scene, &root, task), 1, "{task}");
    }
}

#[test]
fn a_cruise_that_builds_killed_after_any_append_lands_each_task_once() {
    kill_everywhere(Crashes::AfterAppend);
}

#[test]
fn a_cruise_that_builds_killed_before_any_append_lands_each_task_once() {
    kill_everywhere(Crashes::BeforeAppend);
}

#[test]
fn a_cruise_that_builds_killed_after_any_claim_lands_each_task_once() {
    kill_everywhere(Crashes::AfterClaim);
}

fn kill_everywhere(crashes: Crashes) {
    for number in 1.. {
        let scene = scene();
        let request = build_request(&scene.world);
        let when = format!("{crashes:?} {number}");
        if scene.cruise(&request, Some(crashes.at(number))).is_some() {
            assert!(number > 30, "{crashes:?}: only {number} crashes");
            break;
        }
        scene.recover(None).unwrap();
        let root = scene.cruise(&request, None).unwrap();
        // The next command ends a child that died after its last report.
        scene.recover(None).unwrap();
        assert_landed(&scene, &root, &when);
    }
}
