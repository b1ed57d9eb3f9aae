//! Tests the world of a stage: variables, set-up, services, and known verdicts.

use crate::verify::support::{Answer, Scene};
use serde_json::json;

/// One route for everything with these settings, and a candidate.
fn scene(route: &str) -> Scene {
    let scene = Scene::me();
    settle(&scene, route);
    scene
}

fn settle(scene: &Scene, route: &str) {
    scene.settings(&format!(
        "[verify]\nbaseline = \"off\"\n[[verify.routes]]\nname = \"all\"\npaths = [\"**\"]\n{route}\n"
    ));
    scene.change();
}

/// The output of the last command.
fn printed(answer: &Answer) -> &str {
    answer.text("/stages/1/stdoutTail")
}

fn reason(answer: &Answer) -> &str {
    answer.text("/failure/reason")
}

everyone! {
    fn a_route_sets_and_passes_variables_and_hides_all_others(scene) {
        settle(&scene, "env = { MODE = \"test\", CI = \"no\" }\npass_env = [\"WANTED\", \"ABSENT\"]\ntargeted_tests = [\"sh\", \"-c\", \"echo $MODE $CI $WANTED [$HIDDEN] [$NO_COLOR] $SSL_CERT_FILE; echo 1 passed\"]");
        let output = scene
            .drive(&["verify", "--base", "base", "--json"])
            .env("WANTED", "given")
            .env("HIDDEN", "x")
            .env("SSL_CERT_FILE", "/etc/company.pem")
            .output()
            .unwrap();
        let answer = scene.answer(&output);
        assert_eq!(printed(&answer), "test no given [] [] /etc/company.pem\n1 passed\n");
        let notes = answer.report["notes"].to_string();
        assert!(notes.contains("`ABSENT` (in `pass_env`) is not set in your environment"), "{notes}");
    }

    fn a_strict_umask_of_the_caller_changes_no_verdict(scene) {
        settle(&scene, "targeted_tests = [\"sh\", \"-c\", \"umask; echo 1 passed\"]");
        let drive = scene.drive(&["verify", "--base", "base", "--json"]);
        let mut command = scene.command("sh");
        command
            .current_dir(scene.path("repo"))
            .args(["-c", "umask 077; exec \"$@\"", "sh"])
            .arg(drive.get_program())
            .args(drive.get_args());
        let answer = scene.answer(&command.output().unwrap());
        assert_eq!(printed(&answer), "0077\n1 passed\n", "{:#}", answer.report);
    }

    fn a_proxy_is_passed_to_a_stage_that_has_the_network(scene) {
        for (network, expected) in [("open", "http://127.0.0.1:9\n1 passed\n"), ("off", "\n1 passed\n")] {
            settle(&scene, &format!("network = {network:?}\ntargeted_tests = [\"sh\", \"-c\", \"echo $HTTPS_PROXY; echo 1 passed\"]"));
            let mut drive = scene.drive(&["verify", "--base", "base", "--json"]);
            let output = drive.env("HTTPS_PROXY", "http://127.0.0.1:9").output().unwrap();
            assert_eq!(printed(&scene.answer(&output)), expected);
        }
    }

    fn a_service_runs_beside_the_tests_on_their_own_loopback_and_is_ended(scene) {
        // A server that answers each connection with a word, and a child that it leaves running.
        let server = "import socket, subprocess; subprocess.Popen(['sleep', '600']); s = socket.create_server(('127.0.0.1', 3000)); print('listening', flush=True)\nwhile True:\n  c, _ = s.accept(); c.sendall(b'pong'); c.close()";
        let client = "import socket; c = socket.create_connection(('127.0.0.1', 3000)); print(c.recv(9).decode()); print('1 passed')";
        let server = toml::Value::from(server);
        let client = toml::Value::from(client);
        for ready in ["port = 3000", "line = \"listening\""] {
            settle(&scene, &format!(
                "targeted_tests = [\"python3\", \"-c\", {client}]\nservices = [{{ name = \"pong\", command = [\"python3\", \"-c\", {server}], ready = {{ {ready} }} }}]"
            ));
            let answer = scene.verify();
            assert_eq!(answer.text("/overall"), "pass", "{:#}", answer.report);
            assert_eq!(printed(&answer), "pong\n1 passed\n");
            // Its output is not part of the tests' output.
            assert_eq!(answer.text("/stages/1/stderrTail"), "");
        }
    }
}

#[test]
fn without_its_service_the_same_test_fails() {
    let client = "import socket; socket.create_connection(('127.0.0.1', 3000))";
    let client = toml::Value::from(client);
    let scene = scene(&format!("targeted_tests = [\"python3\", \"-c\", {client}]"));
    assert_eq!(scene.verify().text("/failure/category"), "test");
}

#[test]
fn ten_verifications_at_once_all_have_port_3000_for_themselves() {
    let serve = "import socket, time; s = socket.create_server(('127.0.0.1', 3000)); time.sleep(1); print('1 passed')";
    let serve = toml::Value::from(serve);
    let scene = Scene::me();
    scene.settings(&format!(
        "[verify]\nmax_parallel = 10\nbaseline = \"off\"\n[[verify.routes]]\nname = \"all\"\npaths = [\"**\"]\ntargeted_tests = [\"python3\", \"-c\", {serve}]\n"
    ));
    scene.change();
    std::thread::scope(|threads| {
        let verify = || {
            let arguments = ["verify", "--base", "base", "--json", "--fresh"];
            scene.drive(&arguments).output().unwrap()
        };
        let running: Vec<_> = (0..10).map(|_| threads.spawn(verify)).collect();
        for one in running {
            let answer = scene.answer(&one.join().unwrap());
            assert_eq!(answer.text("/overall"), "pass", "{:#}", answer.report);
            assert!(answer.report.get("cachedFrom").is_none());
        }
    });
    scene.assert_nothing_is_left();
}

#[test]
fn a_service_that_does_not_come_up_is_named_with_what_it_printed() {
    let table = [
        (
            "command = [\"sh\", \"-c\", \"echo no config; exit 3\"]\nready = { port = 3000 }",
            "test",
            "service `db`: exited with code 3 before it was ready",
            "[db] no config\n",
        ),
        (
            "command = [\"sleep\", \"600\"]\nready = { port = 3000 }\ntimeout = \"300ms\"",
            "test",
            "service `db`: not ready within 300ms: port 3000 on loopback accepts no connection",
            "",
        ),
        (
            "command = [\"no-such-server\"]\nready = { port = 3000 }",
            "infra",
            "exit code 127: a program it needs is not installed",
            "service `db`: `no-such-server`: command not found\n",
        ),
        (
            "command = [\"/etc/passwd\"]\nready = { port = 3000 }",
            "infra",
            "`/etc/passwd` resolves to `/etc/passwd`, outside the workspace",
            "",
        ),
    ];
    for (service, category, expected, shown) in table {
        let scene = scene(&format!(
            "targeted_tests = [\"echo\", \"1 passed\"]\n[[verify.routes.services]]\nname = \"db\"\n{service}"
        ));
        let answer = scene.verify();
        assert_eq!(
            answer.text("/failure/category"),
            category,
            "{:#}",
            answer.report
        );
        assert!(reason(&answer).contains(expected), "{}", reason(&answer));
        let stderr = answer.text("/stages/1/stderrTail");
        assert!(stderr.contains(shown), "{stderr}");
    }
}

#[test]
fn what_a_service_prints_is_no_test_result() {
    let service = "command = [\"sh\", \"-c\", \"echo test result: ok. 5 passed; 0 failed; echo up; exec sleep 600\"]\nready = { line = \"up\" }";
    let scene = scene(&format!(
        "targeted_tests = [\"echo\", \"test result: ok. 0 passed; 0 failed\"]\n[[verify.routes.services]]\n{service}"
    ));
    let answer = scene.verify();
    assert_eq!(answer.text("/overall"), "fail", "{:#}", answer.report);
    assert!(
        reason(&answer).contains("no test ran"),
        "{}",
        reason(&answer)
    );
}

#[test]
fn the_code_of_a_failing_test_is_kept_and_its_services_output_is_shown() {
    let scene = scene(
        "targeted_tests = [\"sh\", \"-c\", \"exit 7\"]\n[[verify.routes.services]]\ncommand = [\"sh\", \"-c\", \"echo query failed; echo up; exec sleep 600\"]\nready = { line = \"up\" }",
    );
    let answer = scene.verify();
    assert_eq!(answer.report["stages"][1]["exitCode"], 7);
    let stderr = answer.text("/stages/1/stderrTail");
    assert!(stderr.contains("[sh] query failed\n"), "{stderr}");
}

#[test]
fn a_startup_smoke_test_has_its_services_as_well() {
    let scene = scene(
        "skip = \"no tests\"\nstartup_smoke = [\"sh\", \"-c\", \"test -e up && echo serving && exec sleep 600\"]\nready = { line = \"serving\" }\n[[verify.routes.services]]\ncommand = [\"sh\", \"-c\", \"touch up; echo up; exec sleep 600\"]\nready = { line = \"up\" }",
    );
    let answer = scene.verify();
    assert_eq!(answer.text("/overall"), "pass", "{:#}", answer.report);
    assert_eq!(answer.text("/stages/2/stdoutTail"), "serving\n");
}

#[test]
fn a_set_up_runs_before_the_stages_and_its_failure_is_one_of_compile() {
    let setup = "setup = [[\"touch\", \"one\"], [\"sh\", \"-c\", \"test -e one && touch two\"]]\ntargeted_tests = [\"sh\", \"-c\", \"test -e two && echo 1 passed\"]";
    let good = scene(setup);
    let answer = good.verify();
    assert_eq!(answer.text("/overall"), "pass", "{:#}", answer.report);
    assert_eq!(answer.report["stages"][1]["name"], "compile");
    let bad = scene("setup = [[\"false\"]]\ntargeted_tests = [\"echo\", \"1 passed\"]");
    let answer = bad.verify();
    assert_eq!(
        answer.text("/failure/category"),
        "compile",
        "{:#}",
        answer.report
    );
}

#[test]
fn a_passed_secret_reaches_the_test_and_no_report() {
    let scene = scene(
        "pass_env = [\"DB_PASSWORD\"]\ntargeted_tests = [\"sh\", \"-c\", \"echo got $DB_PASSWORD; echo $DB_PASSWORD | wc -c; echo 1 passed\"]",
    );
    let output = scene
        .drive(&["verify", "--base", "base", "--json"])
        .env("DB_PASSWORD", "swordfish-77")
        .output()
        .unwrap();
    let answer = scene.answer(&output);
    assert!(printed(&answer).contains("\n13\n"), "{}", printed(&answer));
    // The repository requests variables of the user, who is told so.
    assert!(
        answer
            .stderr
            .contains("this repository passes `DB_PASSWORD` of your environment to verification"),
        "{}",
        answer.stderr
    );
    let left = scene.shell("grep -rl swordfish-77 state || true");
    assert_eq!(left, "");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("swordfish"));
}

#[test]
fn a_passed_secret_is_hidden_where_output_is_cut_and_where_another_route_prints_it() {
    let scene = Scene::me();
    let fill = "head -c 65530 /dev/zero | tr '\\0' x";
    let writes = format!("echo $API_TOKEN > secret; echo 1 passed; echo $API_TOKEN; {fill}");
    let reads = "cat secret; getent hosts $(cat secret).example; echo 1 passed";
    let route = |name: &str, more: &str, script: &str| {
        let script = toml::Value::from(script);
        format!(
            "[[verify.routes]]\nname = {name:?}\npaths = [\"**\"]\n{more}\ntargeted_tests = [\"sh\", \"-c\", {script}]\n"
        )
    };
    let writes = route("a", "pass_env = [\"API_TOKEN\"]", &writes);
    let reads = route("b", "", reads);
    scene.settings(&format!("[verify]\nbaseline = \"off\"\n{writes}{reads}"));
    scene.change();
    let mut drive = scene.drive(&["verify", "--base", "base", "--json"]);
    let output = drive.env("API_TOKEN", "swordfish-77").output().unwrap();
    let answer = scene.answer(&output);
    assert_eq!(answer.text("/overall"), "pass", "{:#}", answer.report);
    let told = format!("{}{}", answer.report, answer.stderr);
    assert!(
        told.contains("[redacted]"),
        "the other route prints it: {told}"
    );
    for part in ["swordfish", "ish-77", "fish-7"] {
        assert!(!told.contains(part), "{part}: {told}");
    }
}

#[test]
fn a_test_that_ends_its_own_group_is_judged_beside_services_as_without() {
    let scene = scene(
        "targeted_tests = [\"sh\", \"-c\", \"trap '' TERM; kill 0; echo 1 passed\"]\n[[verify.routes.services]]\ncommand = [\"sh\", \"-c\", \"echo up; exec sleep 600\"]\nready = { line = \"up\" }",
    );
    let answer = scene.verify();
    assert_eq!(answer.text("/overall"), "pass", "{:#}", answer.report);
}

#[test]
fn a_service_that_is_not_ready_when_the_time_is_up_is_named() {
    let scene = scene(
        "targeted_tests = [\"true\"]\ntimeout = { targeted_tests = \"3s\" }\n[[verify.routes.services]]\nname = \"db\"\ncommand = [\"sleep\", \"600\"]\nready = { port = 3000 }",
    );
    let answer = scene.verify();
    assert_eq!(
        answer.text("/failure/category"),
        "timeout",
        "{:#}",
        answer.report
    );
    let told = "service `db`: port 3000 on loopback accepts no connection within 3s";
    assert!(reason(&answer).ends_with(told), "{}", reason(&answer));
}

#[test]
fn what_passed_is_answered_by_its_known_verdict_and_fresh_runs_it_again() {
    let scene = scene("targeted_tests = [\"echo\", \"1 passed\"]");
    let first = scene.verify();
    let known = first.text("/runId").to_owned();
    let second = scene.verify();
    assert_eq!(second.report["cachedFrom"], json!(known));
    assert_ne!(second.text("/runId"), known);
    assert_eq!(second.text("/overall"), "pass");
    assert_eq!(second.report["stages"], first.report["stages"]);
    // Another commit with the same tree is verified again: a test can read its message.
    scene.shell("cd repo && git commit -q --amend -m other");
    assert!(scene.verify().report.get("cachedFrom").is_none());
    // So is one with a new tag, which a test can read as well.
    assert!(scene.verify().report.get("cachedFrom").is_some());
    scene.shell("cd repo && git tag v2");
    assert!(scene.verify().report.get("cachedFrom").is_none());
    let fresh = scene.verify_args(&["verify", "--base", "base", "--json", "--fresh"]);
    assert!(
        fresh.report.get("cachedFrom").is_none(),
        "{:#}",
        fresh.report
    );
}

#[test]
fn another_tree_another_rule_another_tool_and_a_failure_are_judged_anew() {
    let scene = scene("targeted_tests = [\"sh\", \"-c\", \"own-tool && echo 1 passed\"]");
    scene.shell(
        "mkdir tools && printf '#!/bin/sh\\nexit 0' > tools/own-tool && chmod +x tools/own-tool",
    );
    let verify = || {
        let path = format!("{}:/usr/bin:/bin", scene.path("tools").display());
        let output = scene
            .drive(&["verify", "--base", "base", "--json"])
            .env("PATH", path)
            .output()
            .unwrap();
        scene.answer(&output)
    };
    let is_cached = |answer: &Answer| answer.report.get("cachedFrom").is_some();
    assert!(!is_cached(&verify()));
    assert!(is_cached(&verify()));
    // With another tool, the verdict changes.
    scene.shell("printf '#!/bin/sh\\nexit 1' > tools/own-tool");
    let broken = verify();
    assert_eq!(broken.text("/overall"), "fail", "{:#}", broken.report);
    // A failure is never reused.
    assert_eq!(verify().text("/overall"), "fail");
    scene.shell("printf '#!/bin/sh\\nexit 0' > tools/own-tool");
    assert!(!is_cached(&verify()), "the tool was written again");
    assert!(is_cached(&verify()));
    // Another tree.
    scene.change();
    assert!(!is_cached(&verify()));
    // With other rules: a tag that moves with the settings.
    scene.settings("[[verify.routes]]\nname = \"all\"\npaths = [\"**\"]\ntargeted_tests = [\"sh\", \"-c\", \"own-tool; echo 2 passed\"]\n");
    scene.change();
    assert!(!is_cached(&verify()));
}

#[test]
fn verifications_are_listed_and_shown_among_the_runs() {
    let scene = scene("targeted_tests = [\"false\"]");
    let failed = scene.verify();
    let id = failed.text("/runId");
    let list = scene.drive(&["runs", "list"]).output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(list.contains(id) && list.contains("verify fail"), "{list}");
    let list = scene.drive(&["runs", "list", "--json"]).output().unwrap();
    let list = crate::document::read(std::str::from_utf8(&list.stdout).unwrap());
    assert_eq!(list["verifications"][0]["runId"], id);
    assert_eq!(list["verifications"][0]["failure"]["category"], "test");
    let shown = scene.drive(&["runs", "show", id]).output().unwrap();
    assert!(String::from_utf8_lossy(&shown.stdout).contains("exit code 1"));
    let shown = scene
        .drive(&["runs", "show", id, "--json"])
        .output()
        .unwrap();
    let shown = crate::document::read(std::str::from_utf8(&shown.stdout).unwrap());
    assert_eq!(shown, failed.report);
    // Without an id it shows the newest, because there is no run.
    let newest = scene.drive(&["runs", "show", "--json"]).output().unwrap();
    let newest = crate::document::read(std::str::from_utf8(&newest.stdout).unwrap());
    assert_eq!(newest["runId"], id);
    let logs = scene.drive(&["runs", "logs", id]).output().unwrap();
    let told = String::from_utf8_lossy(&logs.stderr).into_owned();
    assert!(told.contains(&format!("`drive runs show {id}`")), "{told}");
    // A mistyped id is not used as a path.
    let odd = scene
        .drive(&["runs", "show", "../../etc/passwd"])
        .output()
        .unwrap();
    assert_eq!(odd.status.code(), Some(2));
}

#[test]
fn a_quarantined_test_gets_a_second_chance_until_its_day_and_is_named() {
    // A retry has its own workspace, whose name identifies it.
    let script = "case \\\"$PWD\\\" in *retry*) echo 1 passed; exit 0;; esac; echo 'test once ... FAILED'; exit 1";
    for (expires, overall, told) in [
        (
            "2999-01-01",
            "pass",
            "quarantined: `once` until 2999-01-01 (owner ann)",
        ),
        (
            "2020-01-01",
            "fail",
            "quarantine of `once` expired on 2020-01-01 (owner ann)",
        ),
    ] {
        let scene = scene(&format!(
            "targeted_tests = [\"sh\", \"-c\", \"{script}\"]\n[[verify.quarantine]]\ntest = \"once\"\nowner = \"ann\"\nexpires = \"{expires}\""
        ));
        let answer = scene.verify();
        assert_eq!(answer.text("/overall"), overall, "{:#}", answer.report);
        assert!(
            answer.text("/stages/1/reason").ends_with(told),
            "{:#}",
            answer.report
        );
        // A verdict after a retry is not reused.
        assert!(scene.verify().report.get("cachedFrom").is_none());
    }
    // A failure of the retry counts: only the first failure was the quarantined one.
    let other = "case \\\"$PWD\\\" in *retry*) echo 'test other ... FAILED'; exit 1;; esac; echo 'test once ... FAILED'; exit 1";
    // A test that fails each time is not let through.
    let always = "echo 'test once ... FAILED'; exit 1";
    for script in [other, always] {
        let scene = scene(&format!(
            "targeted_tests = [\"sh\", \"-c\", \"{script}\"]\n[[verify.quarantine]]\ntest = \"once\"\nowner = \"ann\"\nexpires = \"2999-01-01\""
        ));
        assert_eq!(scene.verify().text("/failure/category"), "test");
    }
}
