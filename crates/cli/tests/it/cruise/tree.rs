//! Tests runs that start other runs, with real git and real processes.

use crate::spawn::deaths::kill;
use crate::spawn::support::{World, contents};
use drive_adapters::SystemClock;
use drive_adapters::store::{Database, SqliteStore};
use drive_core::agent::Budget;
use drive_core::ids::{BranchName, CommitSha, DedupeKey, RunId, TaskId};
use drive_core::run::{AfterEnd, BuildTerms, Event, Publish, Request, Run, RunKind, TaskOrder};
use drive_engine::journal::Journal;
use drive_engine::ports::Store;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

const ROOT: &str = "r20261116-0900-tree1";
/// The task is the name of the file to write.
const WRITER: &str = "read -r name; echo done > \"$name.txt\"";
/// Writes half of the file, and never ends.
const ENDLESS: &str = "read -r name; echo half > \"$name.txt\"; while :; do sleep 60; done";

/// A world whose agent is this shell script, with the task on its standard input.
fn world(script: &str) -> World {
    let world = World::with_agent("");
    world.program("script", script);
    world
}

fn store(world: &World) -> SqliteStore {
    let files = contents(&world.path("state")).into_iter();
    let is_database = |path: &std::path::Path| {
        path.extension()
            .is_some_and(|e| e == "db" || e == "sqlite3")
    };
    let mut files = files.map(|(path, _)| path);
    let file = files.find(|path| is_database(path)).unwrap();
    SqliteStore::new(Arc::new(Database::open(&file).unwrap()))
}

/// Enters a root with these tasks, each with its dependencies.
fn enter(world: &World, tasks: &[(&str, &[&str])]) {
    assert_eq!(world.drive(&["runs", "list"]).code, Some(0));
    let request = |task: &str| Request {
        kind: RunKind::Spawn,
        task: task.to_owned(),
        repo: world.path("repo").canonicalize().unwrap(),
        base_sha: CommitSha::new(world.git("rev-parse HEAD")),
        base_branch: Some(BranchName::parse("main").unwrap()),
        branch: BranchName::parse(&format!("task-{task}")).unwrap(),
        agent: "script".into(),
        model: None,
        idle_timeout: Duration::from_secs(120),
        total_timeout: Duration::from_secs(300),
        budget: Budget::default(),
        max_escalations: 0,
        publish: Publish::BranchOnly,
        after_end: AfterEnd::Remove,
        copy: Vec::new(),
        seed: Vec::new(),
        notify: false,
        prompts: None,
        parent: None,
        git_dir: None,
    };
    let order = |(id, after): &(&str, &[&str])| TaskOrder {
        id: TaskId::new(*id),
        after: after.iter().map(|id| TaskId::new(*id)).collect(),
        request: request(id),
    };
    let terms = BuildTerms {
        tasks: tasks.iter().map(order).collect(),
        max_parallel: NonZeroU32::new(4).unwrap(),
        line: None,
    };
    let event = Event::Requested {
        request: Box::new(Request {
            kind: RunKind::Build(Box::new(terms)),
            ..request("all")
        }),
    };
    let store = store(world);
    let journal = Journal {
        store: &store,
        clock: &SystemClock,
    };
    let name = DedupeKey::new("request");
    journal
        .deliver(&RunId::new(ROOT), &event, &name, None)
        .unwrap();
}

fn run(world: &World, id: &str) -> Run {
    store(world).load(&RunId::new(id)).unwrap().unwrap()
}

#[test]
fn a_root_builds_its_tasks_and_runs_list_shows_the_tree() {
    let world = world(WRITER);
    enter(
        &world,
        &[("one", &[]), ("two", &[]), ("three", &["one", "two"])],
    );
    let built = world.drive(&["cruise", "resume", ROOT, "--json"]);
    assert_eq!(built.code, Some(0), "{built:?}");
    for task in ["one", "two", "three"] {
        let branch = format!("task-{task}");
        assert_eq!(world.git(&format!("show {branch}:{task}.txt")), "done");
    }
    let listed = world.drive(&["runs", "list"]);
    let ids: Vec<&str> = listed
        .stdout
        .lines()
        .skip(1)
        .map(|line| &line[..line.find(" succeeded").unwrap()])
        .collect();
    let ids: Vec<&str> = ids.iter().map(|id| id.trim_end()).collect();
    assert_eq!(ids[0], ROOT, "{}", listed.stdout);
    let mut below = ids[1..].to_vec();
    below.sort_unstable();
    let expected = ["one", "three", "two"].map(|task| format!("  {ROOT}+{task}"));
    assert_eq!(below, expected);
    let documents = world.drive(&["runs", "list", "--json"]).document();
    let runs = documents["runs"].as_array().unwrap();
    let parents = runs.iter().filter(|run| run["parentRunId"] == ROOT).count();
    assert_eq!((runs.len(), parents), (4, 3));
    let shown = world.drive(&["runs", "show", ROOT]);
    assert!(
        shown
            .stdout
            .contains(&format!("succeeded  (run {ROOT}+one)")),
        "{}",
        shown.stdout
    );
    // A budget belongs to the root.
    let child = format!("{ROOT}+one");
    let refused = world.drive(&["runs", "extend", &child, "--cost", "5", "--json"]);
    assert_eq!(refused.document()["kind"], "nothingToExtend", "{refused:?}");
    assert!(
        refused
            .stderr
            .contains(&format!("drive runs extend {ROOT} ")),
        "{refused:?}"
    );
    world.assert_nothing_is_left();
}

#[test]
fn a_tree_whose_drive_was_killed_goes_on_with_its_next_owner() {
    let world = world(ENDLESS);
    enter(&world, &[("one", &[]), ("two", &["one"])]);
    let mut owner = world.start(&["cruise", "resume", ROOT]);
    world.wait_for_file("one.txt");
    kill(&mut owner);
    // Another command does not take the child for an orphan.
    let listed = world.drive(&["runs", "list"]);
    assert_eq!((listed.code, listed.stderr.as_str()), (Some(0), ""));
    assert!(run(&world, &format!("{ROOT}+one")).is_active());
    world.program("script", WRITER);
    let ended = world.drive(&["cruise", "resume", ROOT, "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for task in ["one", "two"] {
        let file = format!("show task-{task}:{task}.txt");
        assert_eq!(world.git(&file), "done");
    }
    // The unfinished work of the killed agent is saved.
    assert_eq!(run(&world, &format!("{ROOT}+one")).kept.len(), 1);
    world.assert_nothing_is_left();
}

#[test]
fn a_root_that_is_cleaned_up_from_another_terminal_ends_its_children() {
    let world = world(ENDLESS);
    enter(&world, &[("one", &[]), ("two", &[])]);
    let owner = world.start(&["cruise", "resume", ROOT, "--json"]);
    world.wait_for_file("one.txt");
    world.wait_for_file("two.txt");
    let asked = world.drive(&["cruise", "cleanup", ROOT]);
    assert_eq!(asked.code, Some(0), "{asked:?}");
    let output = owner.wait_with_output().unwrap();
    assert!(!output.status.success());
    for task in ["one", "two"] {
        let child = run(&world, &format!("{ROOT}+{task}"));
        let status = child.outcome.unwrap().status;
        assert_eq!(status, drive_core::run::OutcomeStatus::Cancelled);
    }
    world.assert_nothing_is_left();
}
