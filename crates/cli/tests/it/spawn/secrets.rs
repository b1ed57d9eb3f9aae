//! Tests that a value which is passed to an agent appears nowhere else.

use crate::spawn::support::{World, contents, text};

const SECRET: &str = "s3cr3t-Value-0123456789abcdef";

#[test]
fn a_secret_an_agent_prints_is_in_no_log_no_journal_no_answer_and_no_pull_request() {
    // Once whole, once in two writes with a pause between them, once on the other stream, and once
    // at the very end without a line end.
    let world = World::with_agent(
        "echo \"the key is $MY_TOKEN, use it\"
first=$(printf %s \"$MY_TOKEN\" | cut -c1-12); rest=$(printf %s \"$MY_TOKEN\" | cut -c13-)
printf '%s' \"$first\"; sleep 0.3; printf '%s\\n' \"$rest\"
echo \"$MY_TOKEN\" >&2
echo new > new.txt
printf '%s' \"$MY_TOKEN\"",
    );
    world.settings("env = [\"MY_TOKEN\"]\n");
    let output = world
        .drive_command(&["spawn", "Use the key", "--json", "-v"])
        .env("MY_TOKEN", SECRET)
        .output()
        .unwrap();
    let ended = crate::spawn::support::Ended::from(output);
    let run = ended.run();
    assert_eq!(ended.code, Some(0), "{run:#}");
    assert!(
        !ended.stdout.contains(SECRET) && !ended.stderr.contains(SECRET),
        "{ended:?}"
    );
    let log = world.drive(&["runs", "logs"]);
    assert!(log.stdout.contains("the key is "), "{log:?}");
    assert!(!log.stdout.contains(SECRET), "{log:?}");
    for args in [["pr", "show", "1"], ["runs", "show", &text(&run["runId"])]] {
        let shown = world.drive(&[&args[..], &["--json"]].concat());
        assert_eq!(shown.code, Some(0), "{shown:?}");
        assert!(!shown.stdout.contains(SECRET), "{shown:?}");
    }
    assert_nowhere(&world);
    let branch = text(&run["branch"]);
    assert!(!world.git(&format!("log -p {branch}")).contains(SECRET));
}

#[test]
fn a_secret_in_the_last_words_of_an_agent_that_fails_is_in_no_error() {
    // Long enough that the words come in more than one piece.
    let world = World::with_agent(
        "head -c 70000 /dev/zero | tr '\\0' x >&2; echo \"cannot log in with $MY_TOKEN\" >&2; exit 7",
    );
    world.settings("env = [\"MY_TOKEN\"]\n");
    for format in [&["--json"][..], &["-v"]] {
        let output = world
            .drive_command(&[&["spawn", "Use the key"], format].concat())
            .env("MY_TOKEN", SECRET)
            .output()
            .unwrap();
        let ended = crate::spawn::support::Ended::from(output);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let all = format!("{}{}", ended.stdout, ended.stderr);
        assert!(all.contains("cannot log in with [redacted]"), "{ended:?}");
        assert!(!all.contains(SECRET), "{ended:?}");
    }
    assert_nowhere(&world);
}

#[test]
fn a_secret_in_the_name_of_a_branch_leaves_the_sandbox_nowhere() {
    let world = World::with_agent(
        "git checkout -q -b \"on/$MY_TOKEN\"; git tag \"$MY_TOKEN\"; echo new > new.txt; git add new.txt
git -c user.name=x -c user.email=x@example.org commit -qm New",
    );
    world.settings("env = [\"MY_TOKEN\"]\n");
    let output = world
        .drive_command(&["spawn", "Use the key", "--json", "-v"])
        .env("MY_TOKEN", SECRET)
        .output()
        .unwrap();
    let ended = crate::spawn::support::Ended::from(output);
    let run = ended.run();
    assert_eq!(ended.code, Some(0), "{run:#}");
    // The name is told, without what it holds.
    let warnings = run["warnings"].to_string();
    assert!(warnings.contains("on/[redacted]"), "{warnings}");
    assert!(!format!("{ended:?}").contains(SECRET), "{ended:?}");
    let branch = text(&run["branch"]);
    assert_eq!(world.git(&format!("show {branch}:new.txt")), "new");
    assert!(!world.git("for-each-ref").contains(SECRET));
    let shown = world.drive(&["pr", "show", "1", "--json"]);
    assert!(!shown.stdout.contains(SECRET), "{shown:?}");
    assert_nowhere(&world);
}

#[test]
fn a_secret_where_last_words_are_cut_leaves_no_part_of_itself() {
    const LONG: &str = "k3y-7Gq2ZpX9vLm4TnB8wRc6YhJd1FsAeUoIu5Qx";
    let world = World::with_agent(
        "many() { head -c $1 /dev/zero | tr '\\0' x; }; { many 9000; printf %s \"$MY_KEY\"; many 3964; } >&2; exit 3",
    );
    world.settings("env = [\"MY_KEY\"]\n");
    let output = world
        .drive_command(&["spawn", "Use the key", "--json", "-v"])
        .env("MY_KEY", LONG)
        .output()
        .unwrap();
    let ended = crate::spawn::support::Ended::from(output);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let all = format!("{}{}", ended.stdout, ended.stderr);
    assert!(all.contains("xxxx"), "{ended:?}");
    let mut parts = (0..LONG.len() - 8).map(|i| &LONG[i..i + 8]);
    assert_eq!(parts.find(|part| all.contains(*part)), None, "{ended:?}");
}

#[test]
fn a_long_secret_in_what_base64_prints_is_in_no_log() {
    let long = "0a1B-2c3D_4e5F.6g7H".repeat(6);
    let world = World::with_agent(
        "printf 'key=%s;' \"$MY_KEY\" | base64 | tee shown.txt; echo new > new.txt",
    );
    world.settings("env = [\"MY_KEY\"]\n");
    let output = world
        .drive_command(&["spawn", "Use the key", "--json", "-v"])
        .env("MY_KEY", &long)
        .output()
        .unwrap();
    let ended = crate::spawn::support::Ended::from(output);
    let run = ended.run();
    assert_eq!(ended.code, Some(0), "{run:#}");
    let printed = world.git(&format!("show {}:shown.txt", text(&run["branch"])));
    let log = world.drive(&["runs", "logs"]).stdout;
    assert!(log.contains("[redacted]"), "{log}");
    let all = format!("{}{}{log}", ended.stdout, ended.stderr);
    for line in printed.lines() {
        let middle = &line[line.len() / 3..line.len() * 2 / 3];
        assert!(!all.contains(middle), "{all}");
    }
}

#[test]
fn a_task_that_holds_a_secret_is_refused_before_it_is_written_anywhere() {
    let world = World::with_agent("cat; echo new > new.txt");
    world.settings("env = [\"MY_TOKEN\"]\n");
    for (variable, command) in [
        ("MY_TOKEN", &["spawn"][..]),
        ("GITHUB_TOKEN", &["spawn-team", "--primary", "script"]),
    ] {
        let task = format!("Log in with {SECRET}, please");
        let output = world
            .drive_command(&[command, &[&task, "--json", "-v"]].concat())
            .env(variable, SECRET)
            .output()
            .unwrap();
        let ended = crate::spawn::support::Ended::from(output);
        assert_eq!(ended.failure(), (Some(2), "taskHoldsSecret".into()));
        let told = text(&ended.document()["failure"]["message"]);
        assert_eq!(told, format!("the task contains the value of `{variable}`"));
        let all = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!all.contains(SECRET), "{ended:?}");
        assert_nowhere(&world);
    }
}

#[test]
fn a_forge_token_that_an_agent_finds_somewhere_is_in_no_log() {
    // It was never in its environment.
    let world = World::with_agent("cat token.txt; rm token.txt; echo new > new.txt");
    world.shell(&format!(
        "cd repo && echo {SECRET} > token.txt && git add -A && git commit -qm oops"
    ));
    let output = world
        .drive_command(&["spawn", "Clean up", "--json", "-v"])
        .env("GITHUB_TOKEN", SECRET)
        .output()
        .unwrap();
    let ended = crate::spawn::support::Ended::from(output);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stderr.contains(SECRET), "{ended:?}");
    let log = world.drive(&["runs", "logs"]).stdout;
    assert!(log.contains("[redacted]"), "{log}");
    assert_nowhere(&world);
}

/// Asserts that no file of the state directory contains the secret.
fn assert_nowhere(world: &World) {
    for (path, bytes) in contents(&world.path("state")) {
        let found = bytes
            .windows(SECRET.len())
            .any(|window| window == SECRET.as_bytes());
        assert!(!found, "{} holds the secret", path.display());
    }
}

#[test]
fn the_forge_token_and_what_was_not_named_never_reach_an_agent() {
    let world = World::with_agent("env | cut -d= -f1 > names.txt");
    let output = world
        .drive_command(&["spawn", "List names", "--json"])
        .env("GITHUB_TOKEN", SECRET)
        .env("GH_TOKEN", SECRET)
        .env("AWS_SECRET_ACCESS_KEY", SECRET)
        .output()
        .unwrap();
    let run = crate::spawn::support::Ended::from(output).run();
    let names = world.git(&format!("show {}:names.txt", text(&run["branch"])));
    for name in [
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "DRIVE_STATE_DIR",
    ] {
        assert!(!names.lines().any(|line| line == name), "{names}");
    }
    assert!(names.lines().any(|line| line == "DRIVE_RUN_ID"), "{names}");
}
