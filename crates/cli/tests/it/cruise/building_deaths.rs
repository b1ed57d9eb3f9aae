//! A cruise that builds, on the simulated GitHub and under an owner that is killed again and again.

use super::building::{CHECK, CODER, plan_of, report, stage, states, task};
use crate::cruise::crew::{REPO, kill, status, until};
use crate::stage::{APPROVES, Ended, Stage, ended};
use drive_core::forge::Permission;
use drive_testkit::github::Simulator;
use serde_json::Value;
use std::fs;
use std::thread::sleep;
use std::time::Duration;

fn diamond() -> Vec<Value> {
    vec![
        task("top", "Write top.txt one", &[], "top.txt"),
        task("west", "Write west.txt bad then two", &["top"], "west.txt"),
        task("east", "Write east.txt three", &["top"], "east.txt"),
        task("end", "Write end.txt four", &["west", "east"], "end.txt"),
    ]
}

/// A clone of a repository on the simulated GitHub whose base says how it is verified.
fn on_github(tasks: &[Value]) -> (Simulator, Stage) {
    let simulator = Simulator::start();
    simulator.add_repo("acme", "widgets");
    simulator.add_person(REPO, "ann", Permission::Write);
    let settings = format!(
        "[cruise]\npoll_initial = \"200ms\"\npoll_max = \"400ms\"\n\
         [forge]\nkind = \"github\"\nrepo = {REPO:?}\napi_url = {:?}\n",
        simulator.api_url()
    );
    let coder = CODER.replace("@PLAN@", &plan_of(tasks));
    let stage = Stage::clone_of(&simulator.git_url(REPO), &settings, &coder, APPROVES);
    let path = stage.path("repo/drive.toml");
    let settings = fs::read_to_string(&path).unwrap();
    let rule =
        format!("[verify]\nbaseline = \"off\"\n[[verify.routes]]\npaths = [\"**\"]\n{CHECK}\n");
    fs::write(&path, format!("{settings}\n{rule}")).unwrap();
    stage.git(&["add", "drive.toml"]);
    stage.git(&["commit", "--quiet", "--message=Rules"]);
    stage.git(&["push", "--quiet", "origin", "main"]);
    (simulator, stage)
}

const ARGS: [&str; 6] = [
    "cruise",
    "run",
    "Build it all",
    "--auto-approve",
    "--merge",
    "auto",
];

/// Lets a cruise fly under owners that are killed so often, at moments that a seed chooses.
fn fly(stage: &Stage, kills: u32, mut seed: u64) -> Ended {
    let mut owner = stage.start(&ARGS);
    until("the cruise", || status(stage)["id"].is_string());
    for _ in 0..kills {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        sleep(Duration::from_millis(50 + (seed >> 33) % 900));
        if owner.try_wait().unwrap().is_some() {
            break;
        }
        kill(owner);
        owner = stage.start(&["cruise", "resume"]);
    }
    ended(owner)
}

/// Everything is on the base, once, and nothing that fails ever was on a branch that people see.
fn require_landed(stage: &Stage, base: &str) {
    for (file, word) in [
        ("top", "one"),
        ("west", "two"),
        ("east", "three"),
        ("end", "four"),
    ] {
        assert_eq!(stage.git(&["show", &format!("{base}:{file}.txt")]), word);
    }
    assert!(
        stage
            .try_git(&["show", &format!("{base}:plan.md")])
            .is_err()
    );
    let merges = stage.git(&["log", "--format=%s", base, "--grep=^Merge task"]);
    let mut merges: Vec<&str> = merges.lines().collect();
    merges.sort_unstable();
    let known = merges.len();
    merges.dedup();
    assert_eq!(merges.len(), known, "no task landed twice: {merges:#?}");
    assert_eq!(known, 4, "{merges:#?}");
    let audit = report(stage);
    for task in audit["tasks"].as_array().unwrap() {
        assert_eq!(task["evidence"][0]["result"], "proven", "{audit}");
    }
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
}

#[test]
fn a_cruise_on_github_plans_builds_and_merges_one_pull_request() {
    let (_simulator, stage) = on_github(&diamond());
    let ended = fly(&stage, 0, 1);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    stage.git(&["fetch", "--quiet", "origin"]);
    require_landed(&stage, "origin/main");
    assert_eq!(
        states(&status_of(&stage, &ended)),
        ["top landed", "west landed", "east landed", "end landed"]
    );
}

fn status_of(stage: &Stage, ended: &Ended) -> Value {
    let id = ended.document["runId"].as_str().unwrap();
    stage.drive(&["cruise", "status", id]).document
}

#[test]
fn a_cruise_whose_owner_is_killed_again_and_again_lands_each_task_once() {
    let stage = stage(&diamond());
    let ended = fly(&stage, 25, 7);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    require_landed(&stage, "main");
}

#[test]
fn the_same_holds_on_github() {
    let (_simulator, stage) = on_github(&diamond());
    let ended = fly(&stage, 25, 11);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    stage.git(&["fetch", "--quiet", "origin"]);
    require_landed(&stage, "origin/main");
}
