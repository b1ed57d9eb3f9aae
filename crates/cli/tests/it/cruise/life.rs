//! Tests a cruise from its task to its end, controlled from other terminals.

use crate::cruise::crew::{local as stage, status, until, until_quiet};
use crate::stage::{Stage, ended, said};
use drive_engine::ports::Clock as _;
use std::fs;

#[test]
fn a_late_comment_is_answered_once_with_a_commit_and_an_approval_ends_the_cruise() {
    let stage = stage();
    let cruise = stage.start(&["cruise", "run", "--plan-only", "Add user auth"]);
    until("the pull request", || status(&stage)["prNumber"] == 1);
    until_quiet(&stage, 0);
    stage.drive(&["pr", "comment", "1", "Who owns the login?"]);
    until_quiet(&stage, 1);
    let head = stage.git(&["rev-parse", "user-auth"]);
    let texts = said(&stage.pull_request());
    assert_eq!(
        &texts[1..],
        [
            "Who owns the login?".to_owned(),
            format!(
                "> Ann: Who owns the login?\n\nFixed in {}. done",
                &head[..10]
            )
        ]
    );
    let state = fs::read_to_string(
        fs::read_dir(stage.path("home/.local/state"))
            .ok()
            .and_then(|_| find_state(&stage))
            .unwrap(),
    )
    .unwrap();
    let state: serde_json::Value = serde_json::from_str(&state).unwrap();
    assert_eq!(
        (
            &state["phase"],
            &state["pr_number"],
            &state["completed_rounds"],
            &state["branch_name"]
        ),
        (
            &"planning".into(),
            &1.into(),
            &1.into(),
            &"user-auth".into()
        )
    );
    let approved = stage.drive(&["cruise", "approve"]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    let ended = ended(cruise);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.document["status"], "succeeded");
    assert_eq!(ended.document["headSha"], head);
    let last = said(&stage.pull_request()).pop().unwrap();
    assert!(
        last.starts_with(&format!("The plan is approved at {} by ", &head[..10])),
        "{last}"
    );
    assert_eq!(find_state(&stage), None, "the sandbox is gone");
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
}

fn find_state(stage: &Stage) -> Option<std::path::PathBuf> {
    let root = stage.path("home/.local/state/infinite-improbability-drive/sandboxes");
    let mut found = fs::read_dir(root).ok()?.filter_map(|one| {
        let file = one.ok()?.path().join(".cruise/phase-state.json");
        file.is_file().then_some(file)
    });
    found.next()
}

#[test]
fn a_comment_from_the_command_line_is_shown_and_answered_with_and_without_an_owner() {
    let stage = stage();
    let mut cruise = stage.start(&["cruise", "run", "--plan-only", "Add user auth"]);
    until("the pull request", || status(&stage)["prNumber"] == 1);
    until_quiet(&stage, 0);
    let asked = stage.drive(&["cruise", "fix", "--comment", "Mention tests"]);
    assert_eq!(
        (asked.code, &asked.document["pid"]),
        (Some(0), &cruise.id().into()),
        "{asked:?}"
    );
    until_quiet(&stage, 1);
    cruise.kill().unwrap();
    cruise.wait().unwrap();
    assert_eq!(status(&stage)["ownerPid"], serde_json::Value::Null);
    let asked = stage.drive(&["cruise", "fix", "--comment", "And the docs"]);
    assert_eq!(asked.code, Some(0), "{asked:?}");
    let texts = said(&stage.pull_request());
    let fixed = texts
        .iter()
        .filter(|text| text.contains("\n\nFixed in "))
        .count();
    assert_eq!(fixed, 2, "{texts:#?}");
    let cleaned = stage.drive(&["cruise", "cleanup"]);
    assert_eq!(
        (cleaned.code, &cleaned.document["status"]),
        (Some(0), &"cancelled".into()),
        "{cleaned:?}"
    );
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
    let pr = stage.pull_request();
    assert_eq!(pr["state"], "open");
    let body = pr["body"].as_str().unwrap();
    assert_eq!(
        body.lines().nth(1).unwrap().find("**Stopped** at "),
        Some(0)
    );
    assert!(body.contains(": cleaned up on request."), "{body}");
}

#[test]
fn a_merge_ends_the_cruise_at_once_and_ctrl_c_only_lets_go_of_it() {
    let stage = stage();
    let cruise = stage.start(&["cruise", "run", "--plan-only", "Add user auth"]);
    until("the pull request", || status(&stage)["prNumber"] == 1);
    until_quiet(&stage, 0);
    let pid = rustix::process::Pid::from_raw(cruise.id().try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let let_go = ended(cruise);
    assert_eq!(let_go.code, Some(130), "{let_go:?}");
    assert_eq!(
        stage.drive(&["cruise", "list"]).document["cruises"][0]["state"],
        "polling"
    );
    let resumed = stage.start(&["cruise", "resume"]);
    let merged = stage.drive(&["pr", "merge", "1", "--unverified"]);
    assert_eq!(merged.code, Some(0), "{merged:?}");
    let ended = ended(resumed);
    assert_eq!(
        (ended.code, &ended.document["status"]),
        (Some(0), &"succeeded".into()),
        "{ended:?}"
    );
    assert_eq!(
        stage.drive(&["cruise", "list"]).document["cruises"],
        serde_json::json!([])
    );
}

#[test]
fn a_detached_cruise_goes_on_without_its_starter() {
    let stage = stage();
    let started = stage.drive(&[
        "cruise",
        "run",
        "--plan-only",
        "Add user auth",
        "--auto-approve",
        "--detach",
    ]);
    assert_eq!(started.code, Some(0), "{started:?}");
    until("the end", || status(&stage)["status"] == "succeeded");
}

#[test]
fn silence_that_lasted_while_nobody_watched_ends_the_cruise_of_the_next_owner() {
    let stage = stage();
    let settings = fs::read_to_string(stage.path("repo/drive.toml")).unwrap();
    let settings = settings.replace("[cruise]\n", "[cruise]\ninactivity_timeout = \"4s\"\n");
    fs::write(stage.path("repo/drive.toml"), settings).unwrap();
    let mut owner = stage.start(&["cruise", "run", "--plan-only", "Add user auth"]);
    until("the pull request", || status(&stage)["prNumber"] == 1);
    until_quiet(&stage, 0);
    owner.kill().unwrap();
    owner.wait().unwrap();
    let ends_at = status(&stage)["endsAt"].as_str().unwrap().to_owned();
    let ends_at: drive_core::time::Timestamp = ends_at.parse().unwrap();
    until("the end of its time", || {
        drive_adapters::SystemClock.now() > ends_at
    });
    let ended = stage.drive(&["cruise", "resume"]);
    assert_eq!(
        (
            &ended.document["status"],
            &ended.document["failure"]["kind"]
        ),
        (&"timedOut".into(), &"inactive".into()),
    );
    let pull_request = stage.pull_request();
    assert_eq!(
        (
            said(&pull_request).pop().unwrap().as_str(),
            &pull_request["state"]
        ),
        (
            "Cruise-control session timed out after 4s of inactivity",
            &"open".into()
        ),
    );
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
}
