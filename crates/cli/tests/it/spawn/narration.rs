//! Tests what a person sees during a run.

use crate::spawn::support::World;

const TALKS: &str = "echo 'I look around.'; echo new > new.txt";

/// Progress lines without their times.
fn lines(stderr: &str) -> Vec<String> {
    let plain = |line: &str| match line.split_once("] ") {
        Some((clock, rest)) if clock.starts_with('[') => rest.to_owned(),
        _ => line.to_owned(),
    };
    stderr.lines().map(plain).collect()
}

#[test]
fn without_a_terminal_progress_is_plain_lines() {
    let world = World::with_agent(TALKS);
    let ended = world.drive(&["spawn", "Add a file", "--branch", "b"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let id = world.drive(&["runs", "list", "--json"]).document()["runs"][0]["runId"].clone();
    let id = id.as_str().unwrap();
    assert_eq!(
        lines(&ended.stderr),
        [
            format!("creating sandbox {id}"),
            "script: coding".to_owned(),
            "I look around.".to_owned(),
            "committing changes".to_owned(),
            "opening a pull request from b to main".to_owned(),
            format!("removing sandbox {id}"),
        ]
    );
    assert!(!ended.stderr.contains('\u{1b}'), "{ended:?}");
}

#[test]
fn what_happened_is_told_afterwards_in_the_same_words_and_without_names_of_events() {
    let world = World::with_agent(TALKS);
    let ended = world.drive(&["spawn", "Add a file", "--branch", "b"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let shown = world.drive(&["runs", "show"]).stdout;
    let id = world.drive(&["runs", "list", "--json"]).document()["runs"][0]["runId"].clone();
    let id = id.as_str().unwrap();
    let url = world.drive(&["pr", "show", "1", "--json"]).document()["url"].clone();
    let url = url.as_str().unwrap();
    let lines = shown.lines().skip(1);
    let moments = lines.filter(|line| !line.starts_with("held by layers: "));
    let told: Vec<&str> = moments.map(|line| &line[11..]).collect();
    assert_eq!(
        told,
        [
            "requested: Add a file",
            &format!("creating sandbox {id}"),
            "script: coding",
            "script: done (tokens unknown)",
            "committing changes",
            "opening a pull request from b to main",
            &format!("pull request #1 is open: {url}"),
            &format!("removing sandbox {id}"),
            "succeeded",
        ],
        "{shown}"
    );
}

#[test]
fn an_answer_in_json_is_no_progress() {
    let world =
        World::with_agent("echo '{\"a\": 1}'; echo '```json'; echo I am done.; echo new > new.txt");
    let ended = world.drive(&["spawn", "Add a file"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        !ended.stderr.contains("\"a\"") && !ended.stderr.contains("```"),
        "{ended:?}"
    );
}

#[test]
fn quiet_means_the_answer_only() {
    let world = World::with_agent(TALKS);
    let ended = world.drive(&["spawn", "Add a file", "-q"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(
        ended.stdout.starts_with("branch   drive/add-a-file-"),
        "{ended:?}"
    );
}

#[test]
fn with_json_standard_output_is_one_document_and_progress_goes_to_the_other_stream() {
    let world = World::with_agent(TALKS);
    let ended = world.drive(&["spawn", "Add a file", "--json"]);
    assert_eq!(ended.run()["schema"], "drive.run/1");
    assert!(ended.stderr.contains("script: coding"), "{ended:?}");
}

#[test]
fn on_a_terminal_one_line_is_rewritten_and_gone_at_the_end() {
    let world = World::with_agent(
        "echo 'I look around.'; while [ ! -e .cruise/go ]; do sleep 0.05; done; echo new > new.txt",
    );
    if !std::path::Path::new("/usr/bin/script").exists() {
        eprintln!("skipped: there is no `script` to make a terminal with");
        return;
    }
    let line = format!("{} spawn 'Add a file' --no-pr", env!("CARGO_BIN_EXE_drive"));
    let mut watched = world.command("script");
    watched
        .args(["--quiet", "--return", "--flush", "--log-out"])
        .arg(world.path("typescript"))
        .args(["--command", &line])
        .env("TERM", "xterm")
        .current_dir(world.path("repo"))
        .stdout(std::process::Stdio::null());
    let mut child = watched.spawn().unwrap();
    let seen = || std::fs::read_to_string(world.path("typescript")).unwrap_or_default();
    // The time advances although the agent prints nothing more.
    crate::spawn::support::wait_for("a second look at the clock", || {
        seen().matches("] I look around.").count() >= 3
    });
    for sandbox in world.sandboxes() {
        std::fs::create_dir(sandbox.join(".cruise")).unwrap();
        std::fs::write(sandbox.join(".cruise/go"), "").unwrap();
    }
    assert!(child.wait().unwrap().success(), "{}", seen());
    let screen = seen();
    assert!(screen.contains("\r\u{1b}[2K"), "{screen}");
    let last_live = screen.rfind("I look around.").unwrap();
    assert!(
        screen[last_live..].contains("\u{1b}[2K"),
        "the line is cleared: {screen}"
    );
}
