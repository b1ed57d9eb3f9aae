//! Tests what passes, what fails, and why, according to the report and the exit code.

use crate::verify::support::Scene;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

const PASS: (&str, &str, &str, &str) = ("pass", "pass", "exited", "-");

/// A route over `src/**` with these lines, which fails on the base like on the candidate.
fn route(lines: &str) -> String {
    let skip = if lines.contains("targeted_tests") {
        ""
    } else {
        "skip = \"not tested here\"\n"
    };
    format!(
        "[verify]\nbaseline = \"off\"\n[[verify.routes]]\nname = \"all\"\npaths = [\"src/**\"]\n{lines}\n{skip}"
    )
}

fn prepared(settings: &str) -> Scene {
    let scene = Scene::me();
    scene.settings(settings);
    scene.change();
    scene
}

fn smoke(script: &str, rest: &str) -> Scene {
    let script = toml::Value::from(script.to_owned());
    prepared(&route(&format!(
        "startup_smoke = [\"sh\", \"-c\", {script}]\n{rest}"
    )))
}

/// Status, end and reason of the startup smoke test.
fn smoked(scene: &Scene) -> (String, String, String) {
    let answer = scene.verify();
    let text = |key: &str| answer.text(&format!("/stages/2/{key}")).to_owned();
    (text("status"), text("ended"), text("reason"))
}

#[test]
fn three_stages_in_order_make_a_pass() {
    let scene = prepared(&route(
        "compile = [\"sh\", \"-c\", \"echo 1 >> order\"]\ntargeted_tests = [\"sh\", \"-c\", \"echo 2 >> order; echo 1 passed in 0.1s\"]\nstartup_smoke = [\"sh\", \"-c\", \"cat order\"]",
    ));
    let answer = scene.verify();
    assert_eq!(answer.verdict(), PASS, "{}", answer.stderr);
    assert_eq!(answer.text("/stages/2/stdoutTail"), "1\n2\n");
    assert_eq!(
        answer.report["candidate"]["headSha"],
        scene.shell("cd repo && git rev-parse HEAD")
    );
    assert_eq!(
        answer.report["candidate"]["baseSha"],
        scene.shell("cd repo && git rev-parse base")
    );
    let kept = scene.text_of(&format!(
        "state/verifications/{}.json",
        answer.text("/runId")
    ));
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&kept).unwrap(),
        answer.report
    );
}

#[test]
fn a_repository_and_settings_whose_names_are_no_text_are_verified() {
    let scene = prepared("");
    scene.shell("mv repo \"$(printf 'rz\\377')\"");
    let repo = scene.path("").join(OsStr::from_bytes(b"rz\xff"));
    let config = scene.path("").join(OsStr::from_bytes(b"more\xff.toml"));
    std::fs::write(&config, route("compile = [\"true\"]")).unwrap();
    let mut command = scene.drive(&["verify", "--base", "base", "--json"]);
    command.current_dir(scene.path("home"));
    command
        .arg("--repo")
        .arg(&repo)
        .arg("--config")
        .arg(&config);
    let answer = scene.answer(&command.output().unwrap());
    assert_eq!(answer.verdict(), PASS, "{:#}", answer.report);
}

#[test]
fn the_first_failure_stops_the_rest() {
    let scene = prepared(&route(
        "compile = [\"true\"]\ntargeted_tests = [\"false\"]\nstartup_smoke = [\"touch\", \"started\"]",
    ));
    let answer = scene.verify();
    assert_eq!(answer.text("/failure/category"), "test");
    assert_eq!(answer.text("/failure/stage"), "targetedTests");
    assert_eq!(answer.text("/stages/2/status"), "skipped");
    assert_eq!(
        answer.text("/stages/2/reason"),
        "targeted tests of route `all` failed"
    );
    assert_eq!(answer.code, Some(1));
}

#[test]
fn a_path_no_route_covers_fails_closed_and_is_named() {
    let scene = Scene::me();
    scene.settings(&route("compile = [\"true\"]"));
    scene.shell("cd repo && echo x > tools.sh && git mv tests/t src/t && git add -A && git commit -qm change");
    let answer = scene.verify();
    assert_eq!(
        (answer.text("/overall"), answer.text("/failure/category")),
        ("fail", "policy")
    );
    assert_eq!(
        answer.text("/failure/reason"),
        "`tests/t`, `tools.sh` are not covered by any route"
    );
    assert_eq!(answer.code, Some(1));
}

#[test]
fn a_skipping_route_passes_with_its_reason() {
    let scene = Scene::me();
    scene.settings(&format!(
        "{}[[verify.routes]]\npaths = [\"docs/**\"]\nskip = \"prose\"\n",
        route("compile = [\"true\"]")
    ));
    scene.shell("cd repo && mkdir docs && echo x > docs/a.md && git add -A && git commit -qm docs");
    let answer = scene.verify();
    assert_eq!(answer.text("/overall"), "pass");
    assert_eq!(answer.text("/stages/0/status"), "skipped");
    assert_eq!(
        answer.text("/stages/0/reason"),
        "skipped by its route: prose"
    );
}

#[test]
fn a_commit_that_is_not_there_is_wrong_usage_with_an_envelope() {
    let scene = prepared(&route("compile = [\"true\"]"));
    for arguments in [
        ["verify", "no-such-commit", "--base", "base", "--json"],
        ["verify", "HEAD", "--base", "no-such-commit", "--json"],
    ] {
        let answer = scene.verify_args(&arguments);
        assert_eq!(
            (answer.text("/overall"), answer.text("/failure/category")),
            ("error", "policy")
        );
        assert!(answer.text("/failure/reason").contains("no-such-commit"));
        assert_eq!(answer.code, Some(2));
    }
}

#[test]
fn a_merge_that_does_not_apply_is_found_before_anything_runs() {
    let scene = prepared(&route("compile = [\"touch\", \"/tmp/never\"]"));
    scene.shell("cd repo && git checkout -qb other base && echo other >> src/a && git commit -qam other && git checkout -q main");
    let before = scene.fingerprint(&scene.path("repo/.git/objects"));
    let answer = scene.verify_args(&["verify", "--base", "other", "--json"]);
    assert_eq!(
        (answer.text("/overall"), answer.text("/failure/category")),
        ("fail", "policy")
    );
    assert_eq!(
        answer.text("/failure/reason"),
        "cannot be merged into its base: conflict in `src/a`"
    );
    assert_eq!(
        scene.fingerprint(&scene.path("repo/.git/objects")),
        before,
        "a trial merge leaves no object"
    );
}

#[test]
fn nothing_changed_is_nothing_to_promote() {
    let scene = Scene::me();
    scene.settings(&route("compile = [\"true\"]"));
    let answer = scene.verify();
    assert_eq!(
        (answer.text("/overall"), answer.text("/failure/category")),
        ("fail", "policy")
    );
}

#[test]
fn tests_that_did_not_run_fail() {
    let scene = prepared(&route(
        "targeted_tests = [\"echo\", \"test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out\"]",
    ));
    let answer = scene.verify();
    assert_eq!(
        (answer.text("/overall"), answer.text("/failure/category")),
        ("fail", "test")
    );
    assert!(
        answer.text("/failure/reason").contains("no test ran"),
        "{}",
        answer.report
    );
}

#[test]
fn a_command_that_resolves_outside_is_refused() {
    let scene = Scene::me();
    scene.settings(&route("compile = [\"./tool\"]").replace("src/**", "**"));
    scene.shell("cd repo && ln -s /bin/true src/link && ln -s src/link tool && git add -A && git commit -qm link");
    let answer = scene.verify();
    assert_eq!(answer.verdict(), ("error", "error", "infra", "infra"));
    assert!(
        answer
            .text("/failure/reason")
            .contains("outside the workspace"),
        "{}",
        answer.report
    );
}

#[test]
fn the_deadline_is_for_all_stages_together() {
    let route = route("compile = [\"sleep\", \"30\"]\ntargeted_tests = [\"true\"]");
    let settings = route.replacen("[verify]\n", "[verify]\ndeadline = \"1s\"\n", 1);
    let scene = prepared(&settings);
    let answer = scene.verify();
    assert_eq!(
        answer.verdict(),
        ("timeout", "timeout", "timedOut", "timeout")
    );
    assert_eq!(answer.code, Some(1));
}

#[test]
fn a_smoke_that_exits_0_by_itself_passes() {
    let scene = smoke("echo started; exit 0", "ready = { line = \"never\" }");
    assert_eq!(smoked(&scene).0, "pass");
}

#[test]
fn a_smoke_that_prints_its_line_and_ends_on_term_passes() {
    let scene = smoke(
        "trap 'echo bye; exit 0' TERM; echo listening on 80; while :; do sleep 0.05; done",
        "ready = { line = \"listening\" }",
    );
    let answer = scene.verify();
    assert_eq!(answer.text("/stages/2/status"), "pass", "{}", answer.report);
    assert_eq!(
        answer.text("/stages/2/stdoutTail"),
        "listening on 80\nbye\n"
    );
}

#[test]
fn a_smoke_that_serves_passes_also_without_a_network() {
    let serve = "exec perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(LocalAddr => \"127.0.0.1:39173\", Listen => 5, ReuseAddr => 1) or die; while ($c = $s->accept) { $l = <$c>; print $c ($l =~ m{ /health } ? \"HTTP/1.1 200 OK\\r\\n\\r\\nok\" : \"HTTP/1.1 404 Not Found\\r\\n\\r\\n\"); close $c }'";
    let table = [
        ("ready = { port = 39173 }\nnetwork = \"off\"", "pass"),
        (
            "ready = { port = 39173, path = \"/health\" }\nnetwork = \"off\"",
            "pass",
        ),
        ("ready = { port = 39173, path = \"/health\" }", "pass"),
        (
            "ready = { port = 39173, path = \"/other\" }\ntimeout = { startup_smoke = \"2s\" }",
            "timeout",
        ),
    ];
    for (rest, expected) in table {
        assert_eq!(smoked(&smoke(serve, rest)).0, expected, "{rest}");
    }
}

#[test]
fn a_smoke_that_never_is_ready_says_what_was_waited_for() {
    let scene = smoke(
        "while :; do sleep 0.05; done",
        "ready = { line = \"listening\" }\ntimeout = { startup_smoke = \"1s\" }",
    );
    let (status, ended, reason) = smoked(&scene);
    assert_eq!((status.as_str(), ended.as_str()), ("timeout", "timedOut"));
    assert!(
        reason.starts_with("not ready: no line contains `listening` within"),
        "{reason}"
    );
}

#[test]
fn a_smoke_that_fails_says_how() {
    let table = [
        ("echo no; exit 3", "exited with code 3 before it was ready"),
        ("kill -9 $$", "killed by signal 9 before it was ready"),
        (
            "trap 'exit 4' TERM; echo listening; while :; do sleep 0.05; done",
            "ready, but exited with code 4 on SIGTERM",
        ),
    ];
    for (script, expected) in table {
        let (status, ended, reason) = smoked(&smoke(script, "ready = { line = \"listening\" }"));
        assert_eq!(
            (status.as_str(), ended.as_str(), reason.as_str()),
            ("fail", "exited", expected),
            "{script}"
        );
    }
}

#[test]
fn no_network_means_only_an_own_loopback() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!(
        "perl -MIO::Socket::INET -e 'exit(IO::Socket::INET->new(PeerAddr => \"127.0.0.1:{port}\") ? 0 : 7)'"
    );
    let script = toml::Value::from(connect);
    let compile = format!("compile = [\"sh\", \"-c\", {script}]");
    let open = prepared(&route(&format!("{compile}\nnetwork = \"open\"")));
    assert_eq!(open.verify().verdict(), PASS);
    let answer = prepared(&route(&compile)).verify();
    assert_eq!(
        answer.report["stages"][0]["exitCode"], 7,
        "{}",
        answer.report
    );
}

#[test]
fn a_stage_that_fails_offline_says_which_host_it_wanted_and_what_allows_it() {
    let script = "perl -e 'exit(gethostbyname(\"registry.npmjs.org\") ? 0 : 7)'";
    let compile = format!("compile = [\"sh\", \"-c\", {}]", toml::Value::from(script));
    let scene = prepared(&route(&compile));
    let note = "compile of route `all` wanted `registry.npmjs.org`: set `network = \"registries\"` in its route";
    let answer = scene.verify();
    assert_eq!(
        answer.report["stages"][0]["exitCode"], 7,
        "{}",
        answer.report
    );
    assert_eq!(answer.report["notes"], serde_json::json!([note]));
    let output = scene.drive(&["verify", "--base", "base"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).replace("\n  ", " ");
    assert!(text.contains(&format!("note: {note}")), "{text}");
}

#[test]
fn people_get_a_text_and_a_pull_request_gets_markdown() {
    let scene = prepared(&route(
        "compile = [\"sh\", \"-c\", \"echo broken >&2; exit 1\"]",
    ));
    let text = |arguments: &[&str]| {
        let output = scene.drive(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stdout).unwrap()
    };
    let human = text(&["verify", "--base", "base"]);
    assert!(human.starts_with("verification of "), "{human}");
    assert!(
        human.contains("    broken\n") && human.contains("hint: "),
        "{human}"
    );
    let markdown = text(&["verify", "--base", "base", "--markdown"]);
    assert!(
        markdown.starts_with("### Verification: fail\n")
            && markdown.contains("```text\nbroken\n```"),
        "{markdown}"
    );
}
