//! Tests the checks of a plan with the real worker on real repositories.

use crate::verify::support::Scene;
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;

/// The answer of the worker to a request to check `revision` by the rules of `base`. The caller
/// keeps its input open as long as it lives.
fn ask(scene: &Scene, revision: &str, checks: &Value) -> Value {
    let request = json!({
        "run": "r20261118-0500-aaaaa",
        "revision": revision,
        "base": "base",
        "judges": { "head_only": false, "trusting_rules": false, "fresh": false },
        "quiet": true,
        "verbose": false,
        "is_check": true,
    });
    let mut worker = scene
        .drive(&["__verify-worker", &request.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = worker.stdin.take().unwrap();
    writeln!(input, "{checks}").unwrap();
    let output = worker.wait_with_output().unwrap();
    drop(input);
    scene.assert_nothing_is_left();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Result, exit code and reason of each check.
fn check(scene: &Scene, revision: &str, checks: &[Value]) -> Vec<(String, Value, String)> {
    let checks: Vec<Value> = checks
        .iter()
        .enumerate()
        .map(|(at, check)| {
            let mut check = check.clone();
            check["task"] = json!("t");
            check["shows"] = json!("claim");
            check["id"] = json!(format!("a{at}"));
            check
        })
        .collect();
    let answer = ask(scene, revision, &json!(checks));
    let receipts = answer["receipts"].as_array();
    let receipts = receipts.unwrap_or_else(|| panic!("{answer:#}"));
    assert_eq!(receipts.len(), checks.len());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    receipts
        .iter()
        .map(|one| {
            let why = text(&one["why"]);
            (text(&one["result"]), one["exit"].clone(), why)
        })
        .collect()
}

fn shell(script: &str) -> Value {
    json!({ "command": ["sh", "-c", script], "exit": 0 })
}

everyone! {
    fn a_contract_is_checked_on_what_the_rules_of_the_base_build(scene) {
        // The build creates a program from the commit's own file.
        scene.compile("mkdir -p out && { echo '#!/bin/sh'; echo \"echo $(cat src/a | tail -n 1)\"; } > out/program && chmod +x out/program");
        let prints_two = json!({ "command": ["out/program"], "exit": 0, "contains": "two" });
        let fails = json!({ "command": ["sh", "-c", "exit 3"], "exit": 3 });
        let found = check(&scene, "HEAD", &[prints_two.clone(), fails]);
        let proven = |exit| ("proven".to_owned(), json!(exit), String::new());
        assert_eq!(found, [proven(0), proven(3)]);
        let found = check(&scene, "base", &[prints_two]);
        let why = "its output does not contain `two`".to_owned();
        assert_eq!(found, [("failed".to_owned(), json!(0), why)]);
    }

    fn a_check_is_isolated_and_limited_like_a_stage(scene) {
        scene.compile("true");
        let outside = scene.path("outside");
        let escape = shell(&format!("echo x > {}/x", outside.display()));
        let large = shell("head -c 8000000 /dev/zero | tr '\\0' x");
        let tampers = shell("echo three > src/a");
        let missing = json!({ "command": ["out/none"], "exit": 0 });
        let absent = json!({ "command": ["no-such-program"], "exit": 0 });
        let server = shell("sleep 300 & exit 0");
        let checks = [escape, large, missing, absent, server, tampers, shell("true")];
        let found = check(&scene, "HEAD", &checks);
        let results: Vec<&str> = found.iter().map(|one| one.0.as_str()).collect();
        assert_eq!(
            results,
            ["failed", "failed", "failed", "failed", "proven", "failed", "unproven"],
            "{found:#?}"
        );
        assert!(!outside.join("x").exists());
        let said = ["exit code", "output limit", "could not start `out/none`", "could not start `no-such-program`", "", "changed tracked files: `src/a`", "not run: check a5 of t changed tracked files"];
        for (one, said) in found.iter().zip(said) {
            assert!(one.2.contains(said), "{one:?}");
        }
    }
}

#[test]
fn what_the_checkout_has_built_before_does_not_stand_for_the_commit() {
    let scene = Scene::me();
    scene.compile("true");
    scene.shell("cd repo && mkdir -p target && echo stale > target/program && echo target > .git/info/exclude");
    let found = check(&scene, "HEAD", &[shell("test ! -e target/program")]);
    assert_eq!(found[0].0, "proven", "{found:?}");
}

#[test]
fn more_checks_than_an_argument_can_hold_are_run() {
    let scene = Scene::me();
    scene.compile("true");
    let long = format!("true {}", "x".repeat(100_000));
    let checks: Vec<Value> = (0..3).map(|_| shell(&long)).collect();
    let found = check(&scene, "HEAD", &checks);
    assert!(found.iter().all(|one| one.0 == "proven"), "{found:?}");
}

#[test]
fn nothing_runs_on_a_commit_that_does_not_build() {
    let scene = Scene::me();
    scene.compile("exit 4");
    let found = check(&scene, "HEAD", &[shell("true")]);
    let why = "not run: compile of route `all` failed: exit code 4".to_owned();
    assert_eq!(found, [("failed".to_owned(), Value::Null, why)]);
}

#[test]
fn a_revision_that_does_not_exist_has_no_receipts() {
    let scene = Scene::me();
    scene.compile("true");
    let answer = ask(&scene, "no-such-commit", &json!([]));
    assert_eq!(answer["receipts"], Value::Null);
    assert_eq!(answer["problem"]["kind"], "unknownRevision", "{answer}");
}
