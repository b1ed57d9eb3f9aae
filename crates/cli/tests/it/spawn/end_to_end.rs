//! Tests whole runs from the task to the pull request, and the effect of each flag.

use crate::spawn::support::{World, text};
use std::io::Write;
use std::process::Stdio;

const WRITES_A_FILE: &str = "echo 'I add a file.'; echo new > new.txt";

#[test]
fn a_flight_ends_in_a_branch_and_a_pull_request_and_leaves_nothing_else() {
    let world = World::with_agent(WRITES_A_FILE);
    let base = world.git("rev-parse main");
    let (code, run) = world.spawn(&["Add a file"]);
    assert_eq!(code, Some(0), "{run:#}");
    let branch = text(&run["branch"]);
    assert_eq!(world.branches(), std::slice::from_ref(&branch));
    assert!(branch.starts_with("drive/add-a-file-"), "{branch}");
    assert_eq!(run["headSha"], world.git(&format!("rev-parse {branch}")));
    assert_eq!(
        (&run["baseSha"], &run["prNumber"]),
        (&base.into(), &1.into())
    );
    assert_eq!(
        (text(&run["kind"]), text(&run["status"])),
        ("spawn".into(), "succeeded".into())
    );
    assert_eq!(run["commits"][0]["subject"], "Add a file");
    assert_eq!(run["changes"]["listed"][0]["path"], "new.txt");
    assert_eq!(
        (&run["rounds"], &run["kept"]),
        (&1.into(), &serde_json::json!([]))
    );
    assert_eq!(world.files(&branch), "a.txt new.txt src/b.txt");
    assert_eq!(
        world.git(&format!(
            "log -1 --format='%s|%(trailers:key=Drive-Run,valueonly,separator=)' {branch}"
        )),
        format!("Add a file|{}", text(&run["runId"]))
    );
    assert_eq!(
        world.git("for-each-ref refs/drive"),
        "",
        "nothing is kept twice"
    );
    world.assert_nothing_is_left();
}

#[test]
fn the_pull_request_says_what_the_agent_said_and_what_the_task_was() {
    let world = World::with_agent(WRITES_A_FILE);
    let (_, run) = world.spawn(&["Add a file"]);
    let shown = world.drive(&["pr", "show", "1", "--json"]).document();
    assert_eq!(
        (&shown["title"], &shown["base"]),
        (&"Add a file".into(), &"main".into())
    );
    assert_eq!(
        (&shown["branch"], &shown["headSha"]),
        (&run["branch"], &run["headSha"])
    );
    let expected = format!(
        "I add a file.\n\n<details><summary>Task</summary>\n\nAdd a file\n\n</details>\n\nRun `{}`, agent `script`.",
        text(&run["runId"])
    );
    let body = text(&shown["body"]);
    assert!(body.starts_with(&expected), "{body}");
    assert!(body.contains("solation"), "{body}");
}

#[test]
fn a_person_is_told_what_changed_what_it_took_and_where_the_log_is() {
    let world = World::with_agent("echo x > made.txt; printf '\\0' > blob; rm a.txt");
    let ended = world.drive(&["spawn", "Change things"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let run = &world.drive(&["runs", "list", "--json"]).document()["runs"][0];
    let (branch, head) = (text(&run["branch"]), text(&run["headSha"]));
    let seconds = run["durationMs"].as_u64().unwrap() / 1000;
    let git_dir = world.path("repo/.git").canonicalize().unwrap();
    assert_eq!(
        ended.stdout,
        format!(
            "branch   {branch} at {short}\n\
             commit   {short} Change things\n\
             changes  3 files, +1 -1\n           a.txt +0 -1\n           blob binary\n           made.txt +1 -0\n\
             pull     #1 local://{git_dir}/pull/1\n\
             used     {seconds} s, tokens unknown\n\
             log      drive runs logs {id}\n",
            short = &head[..10],
            git_dir = git_dir.display(),
            id = text(&run["runId"]),
        )
    );
}

#[test]
fn the_log_of_a_run_can_be_read_afterwards_and_moves_no_cursor() {
    let world = World::with_agent("printf 'one\\n\\033[2Jtwo\\n'; echo oops >&2; echo x > x");
    let (_, run) = world.spawn(&["Say something"]);
    let id = text(&run["runId"]);
    for args in [
        vec!["runs", "logs"],
        vec!["runs", "logs", &id],
        vec!["runs", "logs", "-f"],
    ] {
        let log = world.drive(&args);
        assert_eq!(log.code, Some(0), "{log:?}");
        for line in ["one", "\\u{1b}[2Jtwo"] {
            assert!(log.stdout.lines().any(|l| l == line), "{args:?}: {log:?}");
        }
    }
    let raw = world.drive(&["runs", "logs", "--raw"]);
    for line in ["one", "\\u{1b}[2Jtwo", "oops"] {
        assert!(raw.stdout.lines().any(|l| l == line), "{raw:?}");
    }
    let log = world.drive(&["runs", "logs", &id, "--json"]).document();
    assert_eq!(log["path"], run["log"]);
    let shown = world.drive(&["runs", "show", &id, "--json"]).document();
    assert_eq!(
        (&shown["status"], &shown["branch"]),
        (&run["status"], &run["branch"])
    );
    assert_eq!(shown["journal"][0]["event"]["event"], "requested");
    let listed = world.drive(&["runs", "list"]);
    assert!(
        listed
            .stdout
            .lines()
            .any(|line| line.starts_with(&format!("{id}  succeeded "))
                && line.ends_with("  Say something")),
        "{listed:?}"
    );
}

#[test]
fn without_a_pull_request_there_is_only_the_branch() {
    let world = World::with_agent(WRITES_A_FILE);
    let (code, run) = world.spawn(&["Add a file", "--no-pr"]);
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(
        (&run["prNumber"], &run["prUrl"]),
        (&serde_json::Value::Null, &serde_json::Value::Null)
    );
    assert_eq!(world.branches().len(), 1);
    let list = world.drive(&["pr", "list", "--json"]).document();
    assert_eq!(list["pullRequests"], serde_json::json!([]));
    world.assert_nothing_is_left();
}

#[test]
fn a_sandbox_that_is_to_stay_stays_and_is_named() {
    let world = World::with_agent(WRITES_A_FILE);
    let (code, run) = world.spawn(&["Add a file", "--keep", "--no-pr"]);
    assert_eq!(code, Some(0), "{run:#}");
    let sandbox = world.path("state/sandboxes").join(text(&run["runId"]));
    assert_eq!(run["sandbox"], sandbox.to_str().unwrap());
    assert_eq!(
        std::fs::read_to_string(sandbox.join("new.txt")).unwrap(),
        "new\n"
    );
    // A later command recognizes it as wanted.
    let later = world.drive(&["runs", "list"]);
    assert_eq!((later.code, later.stderr.as_str()), (Some(0), ""));
    assert!(sandbox.is_dir());
    assert_eq!(world.survivors(), Vec::<String>::new());
}

#[test]
fn work_starts_from_the_base_that_was_named_and_goes_back_to_it() {
    let world = World::with_agent(WRITES_A_FILE);
    world.shell("cd repo && git checkout -qb release && echo r > r.txt && git add -A && git commit -qm release && git checkout -q main");
    let (code, run) = world.spawn(&["Add a file", "--base", "release"]);
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(run["baseSha"], world.git("rev-parse release"));
    assert_eq!(
        world.files(&text(&run["branch"])),
        "a.txt new.txt r.txt src/b.txt"
    );
    let shown = world.drive(&["pr", "show", "1", "--json"]).document();
    assert_eq!(shown["base"], "release");
    let (code, _) = world.spawn(&["Add a file", "--base", "HEAD"]);
    assert_eq!(code, Some(0), "`HEAD` is the branch that is checked out");
    let commit = world.git("rev-parse main");
    let refused = world.drive(&["spawn", "Add a file", "--base", &commit, "--json"]);
    assert_eq!(refused.failure(), (Some(2), "noBaseBranch".into()));
    let (code, run) = world.spawn(&["Add a file", "--base", &commit, "--no-pr"]);
    assert_eq!(code, Some(0), "{run:#}");
}

#[test]
fn a_branch_can_be_named_once() {
    let world = World::with_agent(WRITES_A_FILE);
    let (code, run) = world.spawn(&["Add a file", "--branch", "feat/file"]);
    assert_eq!((code, text(&run["branch"])), (Some(0), "feat/file".into()));
    let before = world.git("rev-parse feat/file");
    let again = world.drive(&["spawn", "Add a file", "--branch", "feat/file", "--json"]);
    assert_eq!(again.failure(), (Some(2), "branchExists".into()));
    assert_eq!(world.git("rev-parse feat/file"), before);
    for odd in ["-x", "a..b", "a b", "HEAD", "refs/heads/x~1"] {
        let branch = format!("--branch={odd}");
        let refused = world.drive(&["spawn", "Add a file", &branch, "--json"]);
        assert_eq!(refused.code, Some(2), "{odd}: {refused:?}");
    }
    world.assert_nothing_is_left();
}

#[test]
fn a_task_may_come_from_standard_input() {
    let world = World::with_agent("");
    world.program("script", "cat > task.txt");
    let mut child = world
        .drive_command(&["spawn", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"First line\n\nand the rest\n")
        .unwrap();
    let ended = crate::spawn::support::Ended::from(child.wait_with_output().unwrap());
    let run = ended.run();
    assert_eq!(ended.code, Some(0), "{run:#}");
    let branch = text(&run["branch"]);
    let told = world.git(&format!("show {branch}:task.txt"));
    assert!(
        told.contains("\n\nFirst line\n\nand the rest\n\n"),
        "{told}"
    );
    assert_eq!(
        world.git(&format!("log -1 --format=%s {branch}")),
        "First line"
    );
}

#[test]
fn a_task_of_five_megabytes_reaches_the_agent_whole() {
    let world = World::with_agent("");
    world.program("script", "grep -x 'xx*' | wc -c > size.txt");
    let task = format!("Count this\n{}", "x".repeat(5_000_000));
    let mut child = world
        .drive_command(&["spawn", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(task.as_bytes())
        .unwrap();
    let ended = crate::spawn::support::Ended::from(child.wait_with_output().unwrap());
    let run = ended.run();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let branch = text(&run["branch"]);
    assert_eq!(
        world.git(&format!("show {branch}:size.txt")).trim(),
        "5000001"
    );
    let shown = world.drive(&["pr", "show", "1", "--json"]).document();
    assert_eq!(shown["title"], "Count this");
    let body = text(&shown["body"]).len();
    assert!(
        body < 20_000,
        "a pull request repeats the beginning only: {body}"
    );
}

#[test]
fn the_users_dirty_checkout_is_untouched() {
    let world = World::with_agent(WRITES_A_FILE);
    world.shell("cd repo && echo dirty >> a.txt && echo note > note.txt");
    let before = world.git("status --porcelain");
    let (code, run) = world.spawn(&["Add a file"]);
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(world.git("status --porcelain"), before);
    assert_eq!(
        world.files(&text(&run["branch"])),
        "a.txt new.txt src/b.txt"
    );
}

#[test]
fn work_is_committed_beside_a_seeded_cache_that_git_ignores() {
    let world = World::with_agent(WRITES_A_FILE);
    world.shell(
        "cd repo && echo /target > .gitignore && git add .gitignore && git commit -qm ignored \
         && mkdir target && echo warm > target/cache",
    );
    let (code, run) = world.spawn(&["Add a file"]);
    assert_eq!(code, Some(0), "{run:#}");
    let branch = text(&run["branch"]);
    assert_eq!(world.files(&branch), ".gitignore a.txt new.txt src/b.txt");
}
