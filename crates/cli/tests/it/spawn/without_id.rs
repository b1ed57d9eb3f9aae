//! Tests commands on runs without an id: they choose the only run that fits, and name it; if there
//! are several, they list them.

use crate::spawn::support::{Ended, World, text};
use serde_json::Value;

/// A world whose agent fails a task that says so, and writes a file for every other task.
fn world() -> World {
    let world = World::with_agent("");
    world.program(
        "script",
        "if grep -q fail; then exit 1; fi\nif [ -e one.txt ]; then echo two > two.txt; else echo one > one.txt; fi",
    );
    world.settings("[sandbox]\nisolation = \"off\"\n");
    world
}

fn failed(world: &World, args: &[&str]) -> (Option<i32>, Value) {
    let ended = world.drive(&[args, &["--json"]].concat());
    (ended.code, ended.document())
}

fn names(ended: &Ended, run: &Value, task: &str) {
    let told = format!("run {} ({task})", text(&run["runId"]));
    assert!(ended.stderr.contains(&told), "{}", ended.stderr);
}

#[test]
fn the_only_run_that_fits_is_taken_and_named_and_several_are_listed() {
    let world = world();
    let (code, first) = world.spawn(&["Write one"]);
    assert_eq!(code, Some(0), "{first:#}");
    let (code, second) = world.spawn(&["Please fail"]);
    assert_eq!(code, Some(1), "{second:#}");
    // Commands that only show something choose the newest.
    let shown = world.drive(&["runs", "show"]);
    names(&shown, &second, "Please fail");
    assert!(shown.stdout.contains("failed"), "{}", shown.stdout);
    // Commands that change something choose the only one.
    let more = world.drive(&["runs", "continue", "Write two"]);
    assert_eq!(more.code, Some(0), "{}", more.stderr);
    names(&more, &first, "Write one");
    let retried = world.drive(&["runs", "retry"]);
    names(&retried, &second, "Please fail");
    assert_eq!(retried.code, Some(1), "{}", retried.stderr);
    // Now two have failed.
    let (code, error) = failed(&world, &["runs", "retry"]);
    assert_eq!((code, &error["kind"]), (Some(2), &"severalRuns".into()));
    let hint = text(&error["hint"]);
    assert!(hint.contains(&text(&second["runId"])), "{hint}");
    assert!(hint.contains("(failed: Please fail)"), "{hint}");
    // No run is active.
    for command in ["stop", "resume"] {
        let (code, error) = failed(&world, &["runs", command]);
        let kind = &error["kind"];
        assert_eq!((code, kind), (Some(2), &"noRunFits".into()), "{command}");
    }
    let id = text(&first["runId"]);
    let (code, error) = failed(&world, &["runs", "continue", &id]);
    assert_eq!((code, &error["kind"]), (Some(2), &"taskEmpty".into()));
}

#[test]
fn bash_completes_the_ids_that_a_command_takes() {
    let world = world();
    let (_, good) = world.spawn(&["Write one", "--keep"]);
    let (_, bad) = world.spawn(&["Please fail"]);
    let (good, bad) = (text(&good["runId"]), text(&bad["runId"]));
    let script = world.drive(&["completions", "bash"]).stdout;
    std::fs::write(world.path("complete.bash"), script).unwrap();
    let drive = env!("CARGO_BIN_EXE_drive");
    std::os::unix::fs::symlink(drive, world.path("bin/drive")).unwrap();
    let typed = |words: &str, last: &str| {
        let path = format!("{}:{}", world.path("bin").display(), "/usr/bin:/bin");
        let state = world.path("state");
        let shown = world.shell(&format!(
            "export PATH={path} DRIVE_STATE_DIR={state:?}; cd repo; exec bash --norc -c '
             source ../complete.bash
             COMP_WORDS=(drive {words} \"{last}\"); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
             _drive_with_ids drive \"{last}\" \"\"
             printf \"%s\\n\" \"${{COMPREPLY[@]}}\"'"
        ));
        shown.lines().map(str::to_owned).collect::<Vec<String>>()
    };
    assert_eq!(typed("runs show", ""), [bad.clone(), good.clone()]);
    assert_eq!(typed("runs show", &good), std::slice::from_ref(&good));
    assert_eq!(typed("runs retry", ""), [bad]);
    assert_eq!(typed("sandbox open", ""), [good]);
    // What is no id is completed as before.
    let list = typed("runs list", "--st");
    assert_eq!(list, ["--state"]);
}

#[test]
fn only_runs_of_this_repository_are_meant() {
    let world = world();
    let (code, run) = world.spawn(&["Please fail"]);
    assert_eq!(code, Some(1), "{run:#}");
    world.shell("mkdir other && cd other && git init -q -b main && git commit -qm a --allow-empty");
    let other = world.path("other");
    let other = other.to_str().unwrap();
    for (command, kind) in [
        ("show", "noRuns"),
        ("logs", "noRuns"),
        ("retry", "noRunFits"),
    ] {
        let (code, error) = failed(&world, &["runs", command, "--repo", other]);
        assert_eq!((code, &error["kind"]), (Some(2), &kind.into()), "{command}");
    }
}

#[test]
fn the_only_sandbox_is_opened_and_the_only_saved_work_restored() {
    let world = world();
    let (code, error) = failed(&world, &["sandbox", "open", "--print"]);
    assert_eq!((code, &error["kind"]), (Some(2), &"unknownSandbox".into()));
    let (code, run) = world.spawn(&["Write one", "--keep"]);
    assert_eq!(code, Some(0), "{run:#}");
    let path = world.drive(&["sandbox", "open", "--print"]);
    assert_eq!(path.stdout.trim(), text(&run["sandbox"]), "{}", path.stderr);
    assert!(
        path.stderr.contains(&text(&run["runId"])),
        "{}",
        path.stderr
    );
    let (code, second) = world.spawn(&["Write one", "--keep"]);
    assert_eq!(code, Some(0), "{second:#}");
    let (code, error) = failed(&world, &["sandbox", "open", "--print"]);
    assert_eq!(
        (code, &error["kind"]),
        (Some(2), &"severalSandboxes".into())
    );
    let hint = text(&error["hint"]);
    for one in [&run, &second] {
        assert!(hint.contains(&text(&one["runId"])), "{hint}");
    }
    let (code, error) = failed(&world, &["kept", "restore"]);
    assert_eq!((code, &error["kind"]), (Some(2), &"unknownKeptWork".into()));
}
