//! Tests the remains of a verification that is stopped, killed, or runs in parallel with others.

use crate::verify::support::{Answer, Scene};
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Child, Output, Stdio};

/// A verification whose stage waits for a long time.
fn hanging(scene: &Scene) -> Child {
    scene.compile("echo started; touch \"$TMPDIR/started\"; sleep 300");
    start(scene)
}

fn start(scene: &Scene) -> Child {
    let mut command = scene.drive(&["verify", "--base", "base", "--json"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    scene.wait_for("the stage", || is_running(scene));
    child
}

fn is_running(scene: &Scene) -> bool {
    let entries = std::fs::read_dir(scene.path("state/verify"))
        .into_iter()
        .flatten()
        .flatten();
    entries
        .map(|e| e.path())
        .any(|path| path.join("started").exists())
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap()
}

/// The worker of a caller, which is its only child.
fn worker(caller: &Child) -> Pid {
    let id = caller.id();
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
    Pid::from_raw(children.trim().parse().unwrap()).unwrap()
}

/// Kills the caller and the worker at once; returns the name of their workspace.
fn kill_everything(scene: &Scene) -> String {
    let mut child = hanging(scene);
    let worker = worker(&child);
    kill_process(pid(&child), Signal::KILL).unwrap();
    kill_process(worker, Signal::KILL).unwrap();
    child.wait().unwrap();
    assert_eq!(scene.survivors(), Vec::<String>::new());
    let entries = std::fs::read_dir(scene.path("state/sandboxes")).unwrap();
    let mut names = entries
        .flatten()
        .map(|entry| entry.file_name().into_string().unwrap());
    names.find(|name| name.starts_with("verify-")).unwrap()
}

fn ended(scene: &Scene, child: Child) -> (Answer, Output) {
    let output = child.wait_with_output().unwrap();
    (scene.answer(&output), output)
}

everyone! {
    fn the_callers_checkout_is_untouched_byte_for_byte(scene) {
        scene.compile("echo x > src/new; git status >/dev/null; mkdir -p target; exit 0");
        scene.shell("cd repo && echo dirty >> tests/t && echo untracked > note && git add tests/t");
        let before = scene.fingerprint(&scene.path("repo"));
        let answer = scene.verify();
        assert_eq!(answer.text("/overall"), "pass", "{}", answer.report);
        assert_eq!(scene.fingerprint(&scene.path("repo")), before);
    }

    fn term_ends_it_cleanly_with_an_envelope(scene) {
        let child = hanging(&scene);
        kill_process(pid(&child), Signal::TERM).unwrap();
        let (answer, output) = ended(&scene, child);
        assert_eq!(answer.verdict(), ("error", "error", "aborted", "infra"));
        assert_eq!(output.status.code(), Some(130));
        scene.assert_nothing_is_left();
    }

    fn a_killed_verifier_is_answered_for_by_its_caller(scene) {
        let child = hanging(&scene);
        kill_process(worker(&child), Signal::KILL).unwrap();
        let (answer, output) = ended(&scene, child);
        assert_eq!((answer.text("/overall"), answer.text("/failure/category")), ("error", "infra"));
        assert_eq!(answer.text("/failure/reason"), "the verifier ended without a report: killed by signal 9");
        assert_eq!(output.status.code(), Some(3));
        scene.assert_nothing_is_left();
    }

    fn a_killed_caller_takes_its_verifier_along(scene) {
        let mut child = hanging(&scene);
        kill_process(pid(&child), Signal::KILL).unwrap();
        child.wait().unwrap();
        assert_eq!(scene.survivors(), Vec::<String>::new());
        scene.assert_nothing_is_left();
    }

    fn what_a_kill_of_everything_leaves_is_removed_by_the_next_start(scene) {
        kill_everything(&scene);
        scene.settings(&scene.text_of("repo/drive.toml").replace("sleep 300", "exit 0"));
        scene.change();
        assert_eq!(scene.verify().text("/overall"), "pass");
    }

    fn what_a_kill_of_everything_leaves_is_removed_by_any_next_command(scene) {
        let workspace = kill_everything(&scene);
        let next = scene.drive(&["pr", "list"]).output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&next.stderr),
            format!("warning: removed `{workspace}`, left by an earlier verification\n")
        );
        scene.assert_nothing_is_left();
        let again = scene.drive(&["pr", "list"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&again.stderr), "");
    }
}

#[test]
fn a_limit_holds_for_all_verifications_of_the_machine() {
    let scene = Scene::me();
    scene.compile_with("max_parallel = 1", "date +%s%N; sleep 0.25; date +%s%N");
    let start = || {
        let mut command = scene.drive(&["verify", "--base", "base", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let children: Vec<Child> = (0..4).map(|_| start()).collect();
    let mut times: Vec<Vec<u64>> = Vec::new();
    for child in children {
        let (answer, _) = ended(&scene, child);
        let said = answer.text("/stages/0/stdoutTail");
        times.push(said.lines().map(|time| time.parse().unwrap()).collect());
    }
    times.sort();
    let in_turn = times.concat();
    assert!(
        in_turn.len() == 8 && in_turn.is_sorted(),
        "two ran at once: {times:?}"
    );
    scene.assert_nothing_is_left();
}

#[test]
fn a_seed_is_a_copy_that_no_candidate_shares() {
    let scene = Scene::me();
    scene.settings("[sandbox]\nseed = [\"target\"]\n[[verify.routes]]\npaths = [\"**\"]\ncompile = [\"sh\", \"-c\", \"cat target/cache; echo poison > target/cache; chmod 777 target/cache\"]\nskip = \"not tested here\"\n");
    scene.shell("cd repo && echo target/ > .gitignore && git add -A && git commit -qm ignore && mkdir target && echo clean > target/cache");
    scene.change();
    for _ in 0..2 {
        let answer = scene.verify();
        assert_eq!(
            answer.text("/stages/0/stdoutTail"),
            "clean\n",
            "{}",
            answer.report
        );
    }
    assert_eq!(scene.text_of("repo/target/cache"), "clean\n");
}

#[test]
fn private_files_of_the_user_cannot_be_read() {
    let scene = Scene::me();
    scene.shell("mkdir -p home/.ssh && echo secret > home/.ssh/id && echo secret > home/.netrc");
    scene.compile(&format!(
        "cat '{0}/.ssh/id' '{0}/.netrc'; exit 0",
        scene.path("home").display()
    ));
    let answer = scene.verify();
    assert!(
        !answer.report.to_string().contains("secret"),
        "{}",
        answer.report
    );
}
