//! Tests that `notify.command` receives important events immediately, each once.

use crate::cruise::building::{args, stage, task};
use crate::cruise::crew::{kill, status, until};
use crate::stage::{APPROVES, PRIMARY, Stage, ended};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Configures a program in the user's own settings that runs this script with its input.
fn notify(stage: &Stage, script: &str) {
    let program = stage.path("notify");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let folder = stage.path("home/.config/infinite-improbability-drive");
    fs::create_dir_all(&folder).unwrap();
    let settings = format!("[notify]\ncommand = [{program:?}, \"--now\"]\n");
    fs::write(folder.join("config.toml"), settings).unwrap();
}

fn to_a_file(stage: &Stage) {
    notify(stage, &format!("cat >> {:?}", stage.path("told")));
}

fn told(stage: &Stage) -> Vec<Value> {
    let text = fs::read_to_string(stage.path("told")).unwrap_or_default();
    // The last line may be incomplete.
    let whole = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    whole
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn events(stage: &Stage) -> Vec<String> {
    let told = told(stage);
    let event = |one: &Value| match one["task"].as_str() {
        Some(task) => format!("{} {task}", one["event"].as_str().unwrap()),
        None => one["event"].as_str().unwrap().to_owned(),
    };
    told.iter().map(event).collect()
}

#[test]
fn a_killed_and_resumed_cruise_tells_a_landing_a_block_a_wait_and_its_end_once() {
    let stage = stage(&[
        task("a", "Write a.txt one", &[], "a.txt"),
        task("b", "Write b.txt bad", &["a"], "b.txt"),
    ]);
    to_a_file(&stage);
    let args = args(&stage);
    let cruise = stage.start(&args.iter().map(String::as_str).collect::<Vec<_>>());
    until("the wait", || {
        events(&stage).contains(&"needsYou".to_owned())
    });
    kill(cruise);
    let so_far = ["landed a", "blocked b", "needsYou"];
    assert_eq!(events(&stage), so_far);
    let all = told(&stage);
    let id = all[0]["runId"].as_str().unwrap().to_owned();
    for notice in &all {
        assert_eq!(notice["schema"], "drive.notice/1", "{notice}");
        assert_eq!(notice["runId"], *id, "{notice}");
        assert_eq!(notice["kind"], "cruise", "{notice}");
    }
    assert_eq!(all[0]["reason"], "1 of 2 tasks landed");
    assert_eq!(
        all[1]["command"],
        format!("drive cruise retry b --cruise {id}")
    );
    assert_eq!(all[1]["title"], "task `b` is blocked: Build it all");
    assert_eq!(
        all[2]["reason"],
        "task `b` is blocked; nothing else can continue"
    );
    let skipped = stage.drive(&["cruise", "skip", "b"]);
    assert_eq!(skipped.code, Some(0), "{skipped:?}");
    // A command that skips a task of a cruise without an owner may execute it to its end.
    if status(&stage)["state"] != "ended" {
        let ended = ended(stage.start(&["cruise", "resume"]));
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    assert_eq!(events(&stage), [&so_far[..], &["done"]].concat());
    assert_eq!(
        told(&stage)[3]["reason"],
        "1 of 2 tasks implemented; 1 left out"
    );
}

#[test]
fn a_plan_that_waits_for_an_approval_is_told_once_with_the_command() {
    let stage = stage(&[task("a", "Write a.txt one", &[], "a.txt")]);
    to_a_file(&stage);
    let cruise = stage.start(&["cruise", "run", "Build it all", "--merge", "auto"]);
    until("the notice", || !told(&stage).is_empty());
    kill(cruise);
    let all = told(&stage);
    assert_eq!(all[0]["event"], "needsYou");
    assert_eq!(
        all[0]["reason"],
        "the plan waits for your approval or comments"
    );
    let command = all[0]["command"].as_str().unwrap().to_owned();
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let approved = stage.drive(&words);
    assert_eq!(approved.code, Some(0), "{command}: {approved:?}");
    let ended = ended(stage.start(&["cruise", "resume"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(events(&stage), ["needsYou", "landed a", "done"]);
}

#[test]
fn a_cruise_that_is_ready_names_the_merge() {
    let stage = stage(&[task("a", "Write a.txt one", &[], "a.txt")]);
    to_a_file(&stage);
    let cruise = stage.start(&["cruise", "run", "Build it all", "--auto-approve"]);
    let ready = || {
        let mut all = told(&stage).into_iter();
        all.find(|one| one["event"] == "needsYou")
    };
    until("the notice", || ready().is_some());
    let ready = ready().unwrap();
    let reason =
        "the built commits are ready to merge: merge or close the pull request, or comment on it";
    assert_eq!(ready["reason"], reason);
    assert_eq!(ready["command"], "drive pr merge 1");
    let listed = stage.drive(&["cruise", "status"]).document;
    assert!(
        listed["waitingFor"].as_str().unwrap().contains(reason),
        "{listed}"
    );
    let merged = stage.drive(&["pr", "merge", "1"]);
    assert_eq!(merged.code, Some(0), "{merged:?}");
    let ended = ended(cruise);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_program_that_fails_costs_a_run_one_warning() {
    let stage = Stage::new(PRIMARY, APPROVES);
    notify(&stage, "echo 'no network' >&2; exit 1");
    let ended = stage.team("sequential");
    assert_eq!(ended.document["status"], "succeeded", "{ended:?}");
    let warnings = ended.document["warnings"].as_array().unwrap();
    let about: Vec<&str> = warnings
        .iter()
        .filter_map(Value::as_str)
        .filter(|text| text.contains("notify"))
        .collect();
    assert_eq!(
        about,
        ["could not notify you: `notify.command` failed: exit code 1, no network"]
    );
}
