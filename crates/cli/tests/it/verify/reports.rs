//! Tests reports for other programs: JUnit, SARIF, GitHub's annotations and summary, and the commit status.

use crate::verify::support::Scene;
use drive_adapters::forge::local::LocalForge;
use drive_adapters::git::Git;
use drive_adapters::process::BoundedRunner;
use drive_adapters::store::Database;
use drive_adapters::{Environment, SystemClock};
use drive_engine::ports::StatusState;
use drive_testkit::github::{Fault, FaultKind, LOGIN, Simulator};
use serde_json::Value;
use std::process::Output;
use std::sync::Arc;

const REPO: &str = "acme/widgets";

/// A route whose tests run this script, in a repository with one changed file.
fn tested_with(more: &str, script: &str) -> Scene {
    let scene = Scene::me();
    let script = toml::Value::from(script.to_owned());
    scene.settings(&format!(
        "{more}\n[verify]\nbaseline = \"off\"\n[[verify.routes]]\nname = \"all\"\npaths = [\"**\"]\ntargeted_tests = [\"sh\", \"-c\", {script}]\n"
    ));
    scene.change();
    scene
}

fn tested(script: &str) -> Scene {
    tested_with("", script)
}

const GREEN: &str = "echo '1 passed in 0.1s'";
const RED: &str = "echo 'FAILED tests/test_a.py::test_b - no'; echo 'src/a:1:2: no' >&2; exit 1";

fn run(scene: &Scene, arguments: &[&str]) -> Output {
    let all = [&["verify", "--base", "base"], arguments].concat();
    scene.drive(&all).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn junit_and_sarif_are_written_besides_the_report() {
    let scene = tested(RED);
    let output = run(
        &scene,
        &["--junit", "out/junit.xml", "--sarif", "drive.sarif"],
    );
    assert_eq!(output.status.code(), Some(1));
    let junit = scene.text_of("repo/out/junit.xml");
    assert!(
        junit.contains("<testsuite name=\"targeted tests (all)\" tests=\"2\" failures=\"2\""),
        "{junit}"
    );
    assert!(
        junit.contains("name=\"tests/test_a.py::test_b\""),
        "{junit}"
    );
    let sarif: Value = serde_json::from_str(&scene.text_of("repo/drive.sarif")).unwrap();
    let run = &sarif["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "drive");
    assert_eq!(run["tool"]["driver"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(run["results"][0]["ruleId"], "test");
    assert!(
        !scene
            .text_of("repo/drive.sarif")
            .contains(scene.path("").to_str().unwrap())
    );
}

#[test]
fn the_text_ends_with_the_verdict_and_says_the_reason_once() {
    let scene = tested(RED);
    let output = run(&scene, &[]);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(
        stdout
            .lines()
            .last()
            .unwrap()
            .starts_with("verification: fail (1 failed, 2 skipped) in "),
        "{stdout}"
    );
    let both = format!("{stdout}{stderr}");
    assert_eq!(both.matches("exit code 1").count(), 1, "{both}");
    assert_eq!(both.matches("hint: ").count(), 1, "{both}");
    assert!(
        stdout.contains("1 failing test in targeted tests (all):\n    tests/test_a.py::test_b\n")
    );
    assert!(
        stdout.lines().all(|line| line.chars().count() <= 80),
        "{stdout}"
    );
}

#[test]
fn a_report_that_cannot_be_written_is_named_and_hides_no_verdict() {
    for (script, verdict, code) in [(RED, "fail", 1), (GREEN, "pass", 3)] {
        let scene = tested(script);
        let output = run(
            &scene,
            &["--junit", "src/a/junit.xml", "--sarif", "ok.sarif"],
        );
        assert_eq!(output.status.code(), Some(code));
        let stdout = text(&output.stdout);
        assert!(
            stdout.contains(&format!("\nverification: {verdict} ")),
            "{stdout}"
        );
        let stderr = text(&output.stderr);
        assert!(
            stderr.contains("error: cannot write the report `src/a/junit.xml`"),
            "{stderr}"
        );
        assert!(scene.path("repo/ok.sarif").exists());
    }
}

#[test]
fn github_gets_annotations_and_a_summary_and_no_command_of_a_candidate() {
    let hostile = "echo '::error::from stdout'; echo '  ::add-mask::x' >&2; echo 'a ##[error]v1' >&2; echo '::stop-commands::x'; exit 1";
    let scene = tested(hostile);
    std::fs::write(scene.path("summary.md"), "before\n").unwrap();
    let mut command = scene.drive(&["verify", "--base", "base", "--github"]);
    command
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", scene.path("summary.md"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    let is_command = |line: &&str| line.trim_start().starts_with("::") || line.contains("##[");
    let commands: Vec<&str> = stdout.lines().filter(is_command).collect();
    let [annotation, stop, resume] = commands[..] else {
        panic!("{stdout}");
    };
    assert!(
        annotation.starts_with(
            "::error title=drive verify%3A test::targeted tests (all): exit code 1%0Ahint: "
        ),
        "{stdout}"
    );
    let token = stop.strip_prefix("::stop-commands::").unwrap();
    assert_eq!(token.len(), 32);
    assert_eq!(resume, format!("::{token}::"));
    assert!(stdout.contains("| ::add-mask::x") && stdout.ends_with(&format!("{resume}\n")));
    assert_eq!(stderr.lines().filter(is_command).count(), 0, "{stderr}");
    let summary = scene.text_of("summary.md");
    assert!(
        summary.starts_with("before\n### Verification: fail\n"),
        "{summary}"
    );
    let again = text(&run(&scene, &["--github"]).stdout);
    assert!(!again.contains(token), "a token is used once");
}

#[test]
fn json_with_github_stays_one_document_and_annotations_go_to_stderr() {
    let scene = tested("echo 'a ##[error]v1' >&2; exit 1");
    let mut command = scene.drive(&["verify", "--base", "base", "--github", "--json"]);
    let output = command.env("GITHUB_ACTIONS", "true").output().unwrap();
    assert!(!text(&output.stdout).contains("##["));
    let answer = scene.answer(&output);
    assert_eq!(answer.text("/stages/1/stderrTail"), "a ##[error]v1\n");
    let commands = answer.stderr.lines().filter(|line| line.starts_with("::"));
    assert_eq!(commands.count(), 1, "{}", answer.stderr);
}

#[test]
fn a_summary_has_a_bound_over_all_steps_and_a_missing_folder_is_named() {
    let scene = tested(GREEN);
    let full = "x".repeat((1 << 20) - 100);
    std::fs::write(scene.path("summary.md"), &full).unwrap();
    let summarised = |file: &str| {
        let mut command = scene.drive(&["verify", "--base", "base", "--github"]);
        command.env("GITHUB_STEP_SUMMARY", scene.path(file));
        command.output().unwrap()
    };
    assert_eq!(summarised("summary.md").status.code(), Some(0));
    let summary = scene.text_of("summary.md");
    assert!(summary.len() <= 1 << 20);
    assert!(summary.ends_with("*This summary was cut: a step may write 1 MiB.*\n"));
    let output = summarised("none/summary.md");
    assert_eq!(output.status.code(), Some(3));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("none/summary.md`"), "{stderr}");
}

fn head(scene: &Scene) -> String {
    scene.shell("cd repo && git rev-parse HEAD")
}

#[test]
fn the_local_forge_gets_the_status_of_the_exact_head() {
    for (script, expected) in [
        (GREEN, StatusState::Success),
        (RED, StatusState::Failure),
        // A full disk proves nothing about the candidate.
        (
            "echo 'No space left on device' >&2; exit 1",
            StatusState::Error,
        ),
    ] {
        let scene = tested_with("[forge]\nkind = \"local\"", script);
        run(&scene, &["--status"]);
        let environment = Environment::from_pairs([
            ("PATH", std::env::var("PATH").unwrap()),
            ("HOME", scene.path("home").to_str().unwrap().to_owned()),
        ]);
        let git = Git::new(Arc::new(BoundedRunner::new()), &environment);
        let database = Arc::new(Database::open(&scene.path("state/drive.sqlite3")).unwrap());
        let folder = scene.path("repo/.git");
        let forge = LocalForge::open(database, git, Arc::new(SystemClock), &folder).unwrap();
        let statuses = forge.statuses(&head(&scene)).unwrap();
        assert_eq!(
            statuses,
            [("drive/verify".to_owned(), expected)],
            "{script}"
        );
    }
}

/// A repository on the simulated GitHub, and settings for it.
fn on_github(script: &str) -> (Simulator, Scene) {
    let hub = Simulator::start();
    hub.add_repo("acme", "widgets");
    let forge = format!(
        "[forge]\nkind = \"github\"\nrepo = {REPO:?}\napi_url = {:?}",
        hub.api_url()
    );
    let scene = tested_with(&forge, script);
    scene.shell(&format!(
        "cd repo && git remote add origin {} && git push -q origin HEAD:refs/heads/work",
        hub.git_url(REPO)
    ));
    hub.forget_requests();
    (hub, scene)
}

fn verify_on_github(scene: &Scene, token: &str) -> Output {
    scene
        .drive(&["verify", "--base", "base", "--status"])
        .env("GITHUB_TOKEN", token)
        .output()
        .unwrap()
}

#[test]
fn github_gets_a_pending_status_and_then_the_verdict() {
    for (script, expected, code) in [(GREEN, "success", 0), (RED, "failure", 1)] {
        let (hub, scene) = on_github(script);
        let output = verify_on_github(&scene, Simulator::TOKEN);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        let head = head(&scene);
        assert_eq!(
            hub.statuses(REPO, &head),
            [("drive/verify".to_owned(), expected.to_owned())]
        );
        let posts = hub.requests().into_iter().filter(|request| {
            request.method == "POST" && request.target.ends_with(&format!("/statuses/{head}"))
        });
        assert_eq!(posts.count(), 2, "pending, then the verdict");
    }
}

#[test]
fn an_app_gets_a_check_run_with_the_report() {
    for (script, expected) in [(GREEN, "success"), (RED, "failure")] {
        let (hub, scene) = on_github(script);
        hub.make_app(REPO, LOGIN);
        verify_on_github(&scene, Simulator::TOKEN);
        let head = head(&scene);
        let runs = hub.check_runs(REPO, &head);
        assert_eq!(runs.len(), 1, "pending and the verdict are one check run");
        let (name, status, conclusion, _) = &runs[0];
        assert_eq!(
            (name.as_str(), status.as_str()),
            ("drive/verify", "completed")
        );
        assert_eq!(conclusion.as_deref(), Some(expected));
        assert_eq!(hub.statuses(REPO, &head), []);
        assert_eq!(hub.violations(), Vec::<String>::new());
    }
}

#[test]
fn a_status_links_to_the_pull_request_of_the_branch() {
    for is_app in [false, true] {
        let (hub, scene) = on_github(GREEN);
        if is_app {
            hub.make_app(REPO, LOGIN);
        }
        scene.shell("cd repo && git checkout -q -B work");
        let opened = hub.open_pull(REPO, "ann", "work");
        verify_on_github(&scene, Simulator::TOKEN);
        let links = hub.check_links(REPO, &head(&scene));
        assert!(!links.is_empty());
        for link in links {
            let link = link.expect("a link");
            assert!(link.ends_with(&format!("/pull/{opened}")), "{link}");
        }
        assert_eq!(hub.violations(), Vec::<String>::new());
    }
}

#[test]
fn a_status_that_github_does_not_take_is_a_warning_only() {
    let (hub, scene) = on_github(GREEN);
    hub.inject(Fault {
        method: "POST",
        path: "/statuses/".to_owned(),
        skip: 0,
        times: 1_000,
        kind: FaultKind::Unavailable,
    });
    hub.stop_judging();
    for token in ["wrong", Simulator::TOKEN] {
        let output = verify_on_github(&scene, token);
        assert_eq!(output.status.code(), Some(0));
        let stderr = text(&output.stderr);
        assert!(
            stderr.contains("warning: could not set the commit status `drive/verify`: "),
            "{stderr}"
        );
        assert!(text(&output.stdout).contains("\nverification: pass ("));
    }
}

#[test]
fn a_candidate_cannot_choose_the_server_that_gets_the_token() {
    let (hub, scene) = on_github(GREEN);
    let thief = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    thief.set_nonblocking(true).unwrap();
    let port = thief.local_addr().unwrap().port();
    scene.shell(&format!(
        "cd repo && sed -i 's|^api_url.*|api_url = \"http://127.0.0.1:{port}\"|' drive.toml && git commit -qam steal && git push -q origin HEAD:refs/heads/work"
    ));
    verify_on_github(&scene, Simulator::TOKEN);
    assert_eq!(hub.statuses(REPO, &head(&scene)).len(), 1);
    assert!(thief.accept().is_err(), "somebody called");
}
