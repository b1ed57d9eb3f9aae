//! Tests every command from another terminal, with and without a living owner of the cruise.

use crate::cruise::crew::{fixes, kill, local, on_local, sandbox, status, until, until_quiet};
use crate::stage::{Ended, Stage, ended, said};
use serde_json::Value;

fn kind(ended: &Ended) -> (Option<i32>, &str) {
    let kind = ended.document["failure"]["kind"].as_str();
    (ended.code, kind.unwrap_or_default())
}

fn answers(stage: &Stage) -> usize {
    fixes(said(&stage.pull_request())).len()
}

fn listed(stage: &Stage) -> (Value, Value) {
    let list = stage.drive(&["cruise", "list"]).document;
    let cruise = &list["cruises"][0];
    (cruise["id"].clone(), cruise["state"].clone())
}

#[test]
fn every_command_reaches_a_living_owner() {
    let (stage, owner) = on_local();
    let pid = Value::from(owner.id());
    let now = status(&stage);
    assert_eq!(now["ownerPid"], pid);
    assert_eq!(listed(&stage), (now["id"].clone(), "polling".into()));
    let again = stage.drive(&["cruise", "resume"]);
    assert_eq!(kind(&again), (Some(3), "runOwned"));
    let all = stage.drive(&["cruise", "resume", "--all"]);
    assert_eq!(
        (all.code, &all.document["owned"][0]["pid"]),
        (Some(0), &pid)
    );
    let log = stage.drive(&["cruise", "logs"]);
    assert!(
        log.document["log"].as_str().unwrap().contains("verdict"),
        "{log:?}"
    );
    let follower = stage.start(&["cruise", "logs", "-f"]);
    stage.drive(&["pr", "comment", "1", "Who owns the login?"]);
    for (args, rounds) in [
        (&["cruise", "fix"][..], 1),
        (&["cruise", "fix", "--comment", "And the tests"], 2),
    ] {
        let asked = stage.drive(args);
        assert_eq!(
            (asked.code, &asked.document["pid"]),
            (Some(0), &pid),
            "{asked:?}"
        );
        until_quiet(&stage, rounds);
    }
    assert_eq!(answers(&stage), 2);
    let cleaned = stage.drive(&["cruise", "cleanup"]);
    assert_eq!(
        (cleaned.code, &cleaned.document["status"]),
        (Some(0), &"cancelled".into()),
        "{cleaned:?}"
    );
    assert_eq!(ended(owner).document["status"], "cancelled");
    assert_eq!(ended(follower).code, Some(0));
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
}

#[test]
fn a_cruise_is_stopped_for_good_and_only_with_yes() {
    let (stage, owner) = on_local();
    let id = status(&stage)["id"].as_str().unwrap().to_owned();
    let unsure = stage.drive(&["runs", "stop", &id]);
    assert_eq!(kind(&unsure), (Some(2), "notConfirmed"));
    let hint = unsure.document["failure"]["hint"].as_str().unwrap();
    assert!(
        hint.contains(&format!("`drive cruise pause {id}`")),
        "{hint}"
    );
    let stopped = stage.drive(&["runs", "stop", &id, "--yes"]);
    assert_eq!(
        (stopped.code, &stopped.document["status"]),
        (Some(0), &"cancelled".into()),
        "{stopped:?}"
    );
    assert_eq!(ended(owner).document["status"], "cancelled");
    assert_eq!(stage.sandboxes(), Vec::<String>::new());
    assert_eq!(stage.pull_request()["state"], "open");
}

#[test]
fn every_command_works_where_nobody_lives() {
    let (stage, owner) = on_local();
    let id = status(&stage)["id"].as_str().unwrap().to_owned();
    kill(owner);
    assert_eq!(status(&stage)["ownerPid"], Value::Null);
    assert_eq!(listed(&stage), (id.as_str().into(), "polling".into()));
    assert_eq!(stage.drive(&["cruise", "logs"]).code, Some(0));
    stage.drive(&["pr", "comment", "1", "Who owns the login?"]);
    for (args, rounds) in [
        (&["cruise", "fix"][..], 1),
        (&["cruise", "fix", "--comment", "And the tests"], 2),
    ] {
        let asked = stage.drive(args);
        assert_eq!(
            (asked.code, &asked.document["rounds"]),
            (Some(0), &rounds.into()),
            "{asked:?}"
        );
    }
    assert_eq!(answers(&stage), 2);
    let follower = stage.start(&["cruise", "logs", "-f"]);
    let approved = stage.drive(&["cruise", "approve"]);
    assert_eq!(
        (approved.code, &approved.document["status"]),
        (Some(0), &"succeeded".into()),
        "{approved:?}"
    );
    assert_eq!(ended(follower).code, Some(0));
    for command in ["fix", "approve", "cleanup", "resume"] {
        let late = stage.drive(&["cruise", command, &id]);
        assert_eq!(kind(&late), (Some(2), "cruiseOver"), "{command}");
    }
    assert_eq!(stage.drive(&["cruise", "logs"]).code, Some(0));
    assert_eq!(status(&stage)["status"], "succeeded");
}

#[test]
fn a_detached_cruise_is_steered_from_any_terminal() {
    let stage = local();
    let started = stage.drive(&["cruise", "run", "--plan-only", "Add user auth", "--detach"]);
    assert_eq!(started.code, Some(0), "{started:?}");
    let pid = started.document["pid"].clone();
    until("the pull request", || status(&stage)["prNumber"] == 1);
    assert_eq!(status(&stage)["ownerPid"], pid);
    until_quiet(&stage, 0);
    let asked = stage.drive(&["cruise", "fix", "--comment", "Mention tests"]);
    assert_eq!((asked.code, &asked.document["pid"]), (Some(0), &pid));
    until_quiet(&stage, 1);
    assert_eq!(answers(&stage), 1);
    let approved = stage.drive(&["cruise", "approve"]);
    assert_eq!((approved.code, &approved.document["pid"]), (Some(0), &pid));
    until("the end", || status(&stage)["status"] == "succeeded");
    until("the end of its process", || {
        !std::path::Path::new(&format!("/proc/{pid}/stat")).exists()
    });
}

#[test]
fn a_cruise_whose_planner_still_works_can_be_ended() {
    let stage = local();
    let waits = "cat > /dev/null; [ $DRIVE_ROLE = planner ] || exit 0; touch half.txt; sleep 300";
    stage.script("primary", waits);
    let owner = stage.start(&["cruise", "run", "--plan-only", "Add user auth"]);
    until("the planner", || {
        status(&stage)["id"].is_string() && sandbox(&stage).join("half.txt").is_file()
    });
    let cleaned = stage.drive(&["cruise", "cleanup"]);
    assert_eq!(
        (cleaned.code, &cleaned.document["status"]),
        (Some(0), &"cancelled".into()),
        "{cleaned:?}"
    );
    assert_eq!(ended(owner).document["status"], "cancelled");
}
