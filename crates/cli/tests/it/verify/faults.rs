//! Tests who caused a failure: the candidate, its base, the machine or a flaky test.

use crate::verify::support::{Answer, Scene};
use serde_json::json;

/// A script in the repository tests everything.
fn scene(verify: &str, script: &str) -> Scene {
    let scene = Scene::me();
    std::fs::write(scene.path("repo/check.sh"), script).unwrap();
    scene.settings(&format!(
        "[verify]\n{verify}\n[[verify.routes]]\nname = \"all\"\npaths = [\"**\"]\ntargeted_tests = [\"sh\", \"check.sh\"]\n"
    ));
    scene
}

fn failure(answer: &Answer) -> (&str, &str, &str) {
    (
        answer.text("/overall"),
        answer.text("/failure/category"),
        answer.text("/failure/reason"),
    )
}

#[test]
fn what_is_red_on_the_base_as_well_is_told_apart_and_is_no_pass() {
    let scene = scene("", "echo 'test adds ... FAILED'; exit 3");
    scene.change();
    let answer = scene.verify();
    let (overall, category, reason) = failure(&answer);
    assert_eq!(
        (overall, category),
        ("fail", "baseline"),
        "{}",
        answer.report
    );
    assert_eq!(
        reason,
        "targeted tests (all): exit code 3; it fails on the base as well: exit code 3"
    );
    assert_eq!(answer.report["stages"][1]["failedTests"], json!(["adds"]));
    let hint = answer.text("/failure/hint");
    assert_eq!(hint, "fix the base, then run `drive verify` again");
}

#[test]
fn what_passes_on_the_base_is_the_candidates_fault_whatever_it_prints() {
    let scene = scene("", "exit 0");
    std::fs::write(
        scene.path("repo/check.sh"),
        "echo 'listen EADDRINUSE: address already in use'; exit 1",
    )
    .unwrap();
    scene.change();
    let answer = scene.verify();
    let (overall, category, reason) = failure(&answer);
    assert_eq!((overall, category), ("fail", "test"), "{}", answer.report);
    assert_eq!(
        reason,
        "targeted tests (all): exit code 1; it passes on the base"
    );
}

#[test]
fn a_limit_that_the_base_reaches_as_well_is_not_the_candidates_fault() {
    let slow = "sleep 30";
    let route = "[[verify.routes]]\nname = \"all\"\npaths = [\"**\"]\ntargeted_tests = [\"sh\", \"check.sh\"]\ntimeout = { targeted_tests = \"2s\" }\n";
    for (script, category) in [(slow, "baseline"), ("echo 1 passed", "timeout")] {
        let scene = Scene::me();
        std::fs::write(scene.path("repo/check.sh"), script).unwrap();
        scene.settings(route);
        std::fs::write(scene.path("repo/check.sh"), slow).unwrap();
        scene.change();
        let answer = scene.verify();
        let (overall, found, reason) = failure(&answer);
        assert_eq!((overall, found), ("timeout", category), "{reason}");
        assert_eq!(answer.code, Some(1));
    }
}

#[test]
fn a_fault_of_the_machine_that_is_gone_at_the_second_try_is_no_verdict() {
    // Each attempt has its own workspace, whose name identifies it.
    let script = "case \"$PWD\" in *again*|*base*) echo 1 passed; exit 0;; esac; echo 'listen EADDRINUSE: address already in use'; exit 1";
    let scene = scene("", script);
    scene.change();
    let answer = scene.verify();
    let (overall, category, reason) = failure(&answer);
    assert_eq!((overall, category), ("error", "infra"), "{}", answer.report);
    assert!(reason.ends_with("passed when retried"), "{reason}");
    assert_eq!(answer.code, Some(3));
}

#[test]
fn a_failure_of_which_not_every_test_is_named_is_not_blamed_on_the_base() {
    let scene = scene(
        "",
        "echo 'test a ... FAILED'; echo 'test result: FAILED. 0 passed; 2 failed; 0 ignored'; exit 1",
    );
    scene.change();
    let answer = scene.verify();
    let (overall, category, reason) = failure(&answer);
    assert_eq!((overall, category), ("fail", "test"), "{}", answer.report);
    let told = "its output names 1 of 2 failing tests";
    assert!(reason.ends_with(told), "{reason}");
}

#[test]
fn what_the_base_does_not_have_is_not_compared() {
    let scene = Scene::me();
    scene.settings("[[verify.routes]]\nname = \"new\"\npaths = [\"new/**\"]\ntargeted_tests = [\"sh\", \"new/check.sh\"]\n");
    scene.shell(
        "cd repo && mkdir new && echo exit 1 > new/check.sh && git add -A && git commit -qm new",
    );
    let answer = scene.verify();
    let (overall, category, reason) = failure(&answer);
    assert_eq!((overall, category), ("fail", "test"), "{}", answer.report);
    assert!(
        reason.ends_with("not compared with the base: the base has no such stage"),
        "{reason}"
    );
}

#[test]
fn a_test_that_passes_at_another_try_is_flaky_and_passes_only_where_allowed() {
    // A retry has its own workspace, whose name identifies it.
    let script = "case \"$PWD\" in *retry*) echo 1 passed; exit 0;; esac; echo 'test once ... FAILED'; exit 1";
    for (policy, overall, code) in [("fail", "fail", 1), ("allow", "pass", 0)] {
        let scene = scene(&format!("retries = 1\nflaky = {policy:?}"), script);
        scene.change();
        let answer = scene.verify();
        assert_eq!(answer.text("/overall"), overall, "{}", answer.report);
        assert_eq!(answer.code, Some(code));
        assert_eq!(answer.text("/stages/1/fault"), "flaky");
        let told = "exit code 1 (`once`), then passed on the same tree";
        assert_eq!(answer.text("/stages/1/reason"), told);
        if policy == "fail" {
            assert_eq!(answer.text("/failure/category"), "flaky");
        } else {
            assert!(
                answer.report["notes"].to_string().contains(told),
                "{}",
                answer.report
            );
        }
    }
    // The control: without a retry it is a failing test.
    let scene = scene("baseline = \"off\"", script);
    scene.change();
    assert_eq!(scene.verify().text("/failure/category"), "test");
}

#[test]
fn what_a_failed_try_leaves_behind_does_not_make_the_next_one_pass() {
    let script =
        "[ -e left ] && echo 1 passed && exit 0; touch left; echo 'test a ... FAILED'; exit 1";
    let scene = scene("retries = 2\nflaky = \"allow\"\nbaseline = \"off\"", script);
    scene.change();
    let answer = scene.verify();
    assert_eq!(failure(&answer).1, "test", "{}", answer.report);
}

#[test]
fn a_test_that_the_candidate_breaks_is_its_fault_on_a_red_base_too() {
    let scene = scene("", "echo 'test a ... FAILED'; exit 1");
    let more = "echo 'test a ... FAILED'; echo 'test b ... FAILED'; exit 1";
    std::fs::write(scene.path("repo/check.sh"), more).unwrap();
    scene.change();
    let answer = scene.verify();
    let (_, category, reason) = failure(&answer);
    assert_eq!(category, "test", "{}", answer.report);
    assert!(reason.ends_with("not failing on the base: `b`"), "{reason}");
    assert_eq!(answer.report["protectedChanges"], json!(["check.sh"]));
}

#[test]
fn what_the_machine_lacks_is_no_verdict_on_the_candidate() {
    let scene = scene("", "no-such-tool --version");
    scene.change();
    let answer = scene.verify();
    let (overall, category, reason) = failure(&answer);
    assert_eq!((overall, category), ("error", "infra"), "{}", answer.report);
    assert!(
        reason.ends_with("a program it needs is not installed"),
        "{reason}"
    );
    // The exit code of a problem of the environment.
    assert_eq!(answer.code, Some(3));
}

#[test]
fn the_workspace_of_the_base_is_removed_as_well() {
    let scene = scene("", "exit 1");
    scene.change();
    let answer = scene.verify();
    // It was run, otherwise there would be no verdict of the base.
    assert_eq!(failure(&answer).1, "baseline", "{}", answer.report);
    // Locks remain: removing one could take it from a process that waits for it.
    let left = scene.shell("find state -name '*-base*' ! -name '*.lock'");
    assert_eq!(left, "");
}

#[test]
fn a_port_that_another_program_holds_is_no_fault_of_the_candidate() {
    let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = held.local_addr().unwrap().port();
    let script = format!(
        "python3 -c \"import socket; socket.create_server(('127.0.0.1', {port}))\" && echo 1 passed"
    );
    for (network, overall, category) in [("open", "error", "infra"), ("off", "pass", "-")] {
        let scene = scene(&format!("network = {network:?}"), &script);
        scene.change();
        let answer = scene.verify();
        let found = (answer.text("/overall"), answer.text("/failure/category"));
        // If its ports are private, no other process can occupy one.
        assert_eq!(found, (overall, category), "{:#}", answer.report);
        if overall == "error" {
            let reason = failure(&answer).2;
            assert!(
                reason.ends_with("a port that it needs is taken"),
                "{reason}"
            );
        }
    }
}

#[test]
fn a_full_disk_is_no_fault_of_the_candidate() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: not root: no small disk can be mounted");
        return;
    }
    let scene = scene(
        "",
        "head -c 200000000 /dev/zero > big && rm big && echo 1 passed",
    );
    scene.change();
    scene.shell("mkdir state");
    let verify = |size: &str| {
        let drive = scene.drive(&["verify", "--base", "base", "--json", "--fresh"]);
        let mut command = scene.command("unshare");
        command
            .current_dir(scene.path("repo"))
            .args(["--mount", "sh", "-c"])
            .arg("mount -t tmpfs -o size=$1 none ../state && shift && exec \"$@\"")
            .args(["sh", size])
            .arg(drive.get_program())
            .args(drive.get_args());
        scene.answer(&command.output().unwrap())
    };
    let answer = verify("64m");
    let (overall, category, reason) = failure(&answer);
    assert_eq!(
        (overall, category),
        ("error", "infra"),
        "{:#}",
        answer.report
    );
    assert!(reason.contains("disk"), "{reason}");
    assert_eq!(scene.survivors(), Vec::<String>::new());
    // The control: with enough space, the same candidate passes.
    assert_eq!(verify("1g").text("/overall"), "pass");
}

#[test]
fn a_script_that_the_candidate_deletes_is_its_own_fault() {
    let scene = Scene::me();
    scene.shell("cd repo && printf '#!/bin/sh\\necho 1 passed\\n' > check.sh && chmod +x check.sh");
    scene.settings(
        "[[verify.routes]]\nname = \"all\"\npaths = [\"**\"]\ntargeted_tests = [\"./check.sh\"]\n",
    );
    scene.shell("cd repo && git rm -q check.sh && git commit -qm deleted");
    let answer = scene.verify();
    let (overall, category, reason) = failure(&answer);
    assert_eq!((overall, category), ("fail", "test"), "{}", answer.report);
    assert!(reason.ends_with("it passes on the base"), "{reason}");
}
