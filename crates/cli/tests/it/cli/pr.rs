//! Tests `drive pr` from opening to merging, for users and scripts.

use crate::cli::support::{Ended, World};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::process::Stdio;

/// A repository with `main` checked out and a branch `feat/login` that adds five lines.
pub(super) fn world() -> World {
    let world = World::new();
    fs::write(
        world.home().join(".gitconfig"),
        "[user]\nname = Ann\nemail = ann@example.org\n",
    )
    .unwrap();
    world.git(&["checkout", "-q", "-b", "main"]);
    write(&world, "README.md", "read me\n");
    commit(&world, "First");
    branch(&world, "feat/login", "src/login.rs");
    world
}

pub(super) fn branch(world: &World, name: &str, file: &str) {
    world.git(&["checkout", "-q", "-b", name, "main"]);
    write(world, file, "one\ntwo\nthree\nfour\nfive\n");
    commit(world, "Add the login");
    world.git(&["checkout", "-q", "main"]);
}

fn write(world: &World, path: &str, text: &str) {
    let path = world.repo().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn commit(world: &World, message: &str) {
    world.git(&["add", "--all"]);
    world.git(&["commit", "-q", "-m", message]);
}

/// Runs a command that must succeed.
pub(super) fn done(world: &World, args: &[&str]) -> String {
    let ended = world.drive(args);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.stdout
}

pub(super) fn document(world: &World, args: &[&str]) -> Value {
    let (code, document) = world.json(args);
    assert_eq!(code, Some(0), "{document}");
    document
}

fn with_input(world: &World, args: &[&str], input: &str) -> Ended {
    let mut child = world
        .command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    Ended::from(child.wait_with_output().unwrap())
}

/// Checks the fields of a document that differ between runs, and replaces them.
fn settled(mut document: Value) -> Value {
    fn walk(value: &mut Value) {
        if let Some(fields) = value.as_object_mut() {
            for name in ["createdAt", "updatedAt"] {
                if let Some(at) = fields.remove(name) {
                    assert!(at.as_str().is_some_and(|at| at.ends_with('Z')), "{at}");
                }
            }
            fields.values_mut().for_each(walk);
        } else if let Some(items) = value.as_array_mut() {
            items.iter_mut().for_each(walk);
        }
    }
    walk(&mut document);
    document
}

fn summary(world: &World, state: &str) -> Value {
    let git_dir = fs::canonicalize(world.repo()).unwrap().join(".git");
    json!({
        "number": 1,
        "title": "Add the login",
        "state": state,
        "draft": false,
        "branch": "feat/login",
        "base": "main",
        "headSha": world.git(&["rev-parse", "feat/login"]),
        "url": format!("local://{}/pull/1", git_dir.display()),
    })
}

#[test]
fn the_command_says_that_a_stranger_is_not_trusted_and_how_to_change_that() {
    let world = world();
    done(&world, &["pr", "open", "feat/login"]);
    let trust = "its author has no write permission; to trust `wim`, add it to `forge.trusted` in your \
                 settings\n";
    let comment = ["pr", "comment", "1", "in general"];
    let stranger = [&comment[..], &["--as", "wim"]].concat();
    let approve = ["pr", "approve", "1", "--as", "wim"];
    let told = |args: &[&str]| world.drive(args).stderr;
    let expected = format!("warning: this comment starts no work: {trust}");
    assert_eq!(told(&stranger), expected);
    let expected = format!("warning: this approval does not count: {trust}");
    assert_eq!(told(&approve), expected);
    assert_eq!(told(&comment), "", "the user of the machine is trusted");
    world.settings("[forge]\ntrusted = [\"Wim\"]\n");
    assert!(!told(&stranger).contains("no write permission"));
}

#[test]
fn the_documents_are_those_scripts_rely_on() {
    let world = world();
    done(
        &world,
        &["pr", "open", "feat/login", "--body", "What it does."],
    );
    done(&world, &["pr", "comment", "1", "in general", "--as", "wim"]);
    let at = ["--file", "src/login.rs", "--line", "2"];
    done(
        &world,
        &[&["pr", "comment", "1", "this line"][..], &at].concat(),
    );
    done(&world, &["pr", "comment", "1", "yes", "--reply-to", "2"]);
    done(&world, &["pr", "approve", "1", "--body", "well done"]);

    assert_eq!(
        settled(document(&world, &["pr", "list"])),
        json!({ "schema": "drive.pullRequests/1", "pullRequests": [summary(&world, "open")] })
    );
    let head = world.git(&["rev-parse", "feat/login"]);
    let comment = |id: u64, surface: &str, author: &str, body: &str| {
        json!({
            "id": id, "prNumber": 1, "surface": surface, "author": author, "body": body,
            "path": null, "line": null, "commit": null, "inReplyTo": null, "review": null,
        })
    };
    let mut comments = [
        comment(1, "conversation", "wim", "in general"),
        comment(2, "inline", "Ann", "this line"),
        comment(3, "inline", "Ann", "yes"),
        comment(4, "review", "Ann", "well done"),
    ];
    for inline in &mut comments[1..3] {
        inline["path"] = json!("src/login.rs");
        inline["line"] = json!(2);
        inline["commit"] = json!(head);
    }
    comments[2]["inReplyTo"] = json!(2);
    comments[3]["commit"] = json!(head);
    comments[3]["review"] = json!("approved");
    let mut expected = summary(&world, "open");
    expected["schema"] = json!("drive.pullRequest/1");
    expected["body"] = json!("What it does.");
    expected["mergeable"] = json!(true);
    expected["comments"] = json!(comments);
    assert_eq!(settled(document(&world, &["pr", "show", "1"])), expected);
}

#[test]
fn people_see_a_table_and_a_page() {
    let world = world();
    branch(&world, "feat/b", "b.txt");
    done(
        &world,
        &[
            "pr",
            "open",
            "feat/login",
            "--title",
            "Log in",
            "--body",
            "What it does.",
        ],
    );
    done(&world, &["pr", "open", "feat/b", "--draft"]);
    let listed = done(&world, &["pr", "list"]);
    let columns = listed.lines().map(|line| {
        let cells: Vec<&str> = line.split("  ").filter(|cell| !cell.is_empty()).collect();
        let age = cells.iter().position(|cell| cell.trim().ends_with('s'));
        let shown = cells.iter().enumerate().filter(|(at, _)| Some(*at) != age);
        shown
            .map(|(_, cell)| cell.trim())
            .collect::<Vec<_>>()
            .join("|")
    });
    assert_eq!(
        columns.collect::<Vec<_>>(),
        [
            "PR|STATE|AGE|BRANCH|TITLE",
            "2|open (draft)|feat/b → main|Add the login",
            "1|open|feat/login → main|Log in",
        ]
    );
    done(&world, &["pr", "comment", "1", "two\nlines", "--as", "wim"]);
    let page = done(&world, &["pr", "show", "1"]);
    let head = &world.git(&["rev-parse", "feat/login"])[..12];
    let expected =
        format!("1  Log in\nopen  feat/login → main  at {head}\n\n    What it does.\n\n[1] wim  ");
    assert!(page.starts_with(&expected), "{page}");
    assert!(page.ends_with(" UTC\n    two\n    lines\n"), "{page}");
}

#[test]
fn a_merge_is_a_merge_commit_and_the_checkout_follows() {
    let world = world();
    done(&world, &["pr", "open", "feat/login"]);
    let merged = document(&world, &["pr", "merge", "--unverified"]);
    assert_eq!(merged["state"], "merged");
    assert_eq!(world.git(&["rev-list", "--merges", "--count", "main"]), "1");
    assert_eq!(world.git(&["status", "--porcelain"]), "");
    assert!(world.repo().join("src/login.rs").exists());
    assert_eq!(
        document(&world, &["pr", "list", "--state", "open"])["pullRequests"],
        json!([])
    );
    assert_eq!(
        done(&world, &["pr", "list"]),
        "no open pull requests; `drive pr list --state all` shows the others\n"
    );
    let merged = done(&world, &["pr", "list", "--state", "merged"]);
    assert_eq!(merged, done(&world, &["pr", "list", "--state", "all"]));
    assert!(
        merged
            .lines()
            .nth(1)
            .is_some_and(|line| line.contains("merged")),
        "{merged}"
    );
    // A merged pull request can still be read.
    let diff = document(&world, &["pr", "diff", "1"]);
    assert_eq!(diff["headSha"], world.git(&["rev-parse", "feat/login"]));
    assert!(
        diff["diff"]
            .as_str()
            .unwrap()
            .contains("+++ b/src/login.rs"),
        "{diff}"
    );
    assert!(done(&world, &["pr", "diff"]).contains("+++ b/src/login.rs"));
}

/// A world whose main branch defines how everything is verified.
fn ruled(commands: &str) -> World {
    let world = world();
    write(
        &world,
        "drive.toml",
        &format!("[[verify.routes]]\npaths = [\"**\"]\n{commands}\n"),
    );
    commit(&world, "Rules");
    done(&world, &["pr", "open", "feat/login"]);
    world
}

#[test]
fn only_what_was_verified_is_merged_and_the_merge_names_the_verification() {
    let world = ruled("targeted_tests = [\"true\"]");
    let unverified = |world: &World| {
        let (code, refused) = world.json(&["pr", "merge", "1"]);
        let failure = &refused["failure"];
        assert_eq!((code, &failure["kind"]), (Some(1), &json!("unverified")));
        failure["hint"].as_str().unwrap().to_owned()
    };
    let hint = unverified(&world);
    let next = "`drive verify feat/login --base main`";
    assert!(hint.contains(next), "{hint}");
    // Verified alone, it is not verified as it would land.
    let verify = ["verify", "feat/login", "--base", "main"];
    done(&world, &[&verify[..], &["--head-only"]].concat());
    unverified(&world);
    done(&world, &verify);
    // After the base has moved, the merge has another tree than the verified one.
    write(&world, "other.txt", "theirs\n");
    commit(&world, "Theirs");
    unverified(&world);
    let report = document(&world, &verify);
    let merged = document(&world, &["pr", "merge", "1"]);
    assert_eq!(merged["state"], "merged");
    assert_eq!(
        world.git(&["rev-parse", "main^{tree}"]),
        report["candidate"]["mergedTreeSha"].as_str().unwrap()
    );
    let message = world.git(&["log", "-1", "--format=%B", "main"]);
    let run = report["runId"].as_str().unwrap();
    assert!(message.ends_with(&format!("Verified: {run}")), "{message}");
}

#[test]
fn what_failed_verification_is_merged_only_unverified_and_the_merge_says_so() {
    let world = ruled("targeted_tests = [\"false\"]");
    let (code, _) = world.json(&["verify", "feat/login", "--base", "main"]);
    assert_eq!(code, Some(1));
    let (code, refused) = world.json(&["pr", "merge", "1"]);
    assert_eq!(
        (code, &refused["failure"]["kind"]),
        (Some(1), &json!("unverified"))
    );
    // A pass by the candidate's own rules only counts until the next verdict.
    world.git(&["checkout", "-q", "feat/login"]);
    write(
        &world,
        "drive.toml",
        "[[verify.routes]]\npaths = [\"**\"]\ntargeted_tests = [\"true\"]\n",
    );
    let verify = ["verify", "feat/login", "--base", "main"];
    done(
        &world,
        &[&verify[..], &["--trust-candidate-rules"]].concat(),
    );
    world.git(&["clean", "-fdq"]);
    world.git(&["checkout", "-q", "main"]);
    assert_eq!(world.json(&verify).0, Some(1));
    assert_eq!(world.json(&["pr", "merge", "1"]).0, Some(1));
    done(&world, &["pr", "merge", "1", "--unverified"]);
    let message = world.git(&["log", "-1", "--format=%B", "main"]);
    assert!(message.contains("Merged without verification"), "{message}");
}

#[test]
fn a_merge_over_uncommitted_changes_is_refused_and_changes_nothing() {
    let world = world();
    done(&world, &["pr", "open", "feat/login"]);
    write(&world, "README.md", "my own words\n");
    let before = world.git(&["rev-parse", "main"]);
    let (code, refused) = world.json(&["pr", "merge", "1", "--unverified"]);
    assert_eq!(
        (code, &refused["failure"]["kind"]),
        (Some(1), &json!("mergeRefused"))
    );
    let message = refused["failure"]["message"].as_str().unwrap();
    assert!(message.ends_with("with uncommitted changes"), "{message}");
    assert_eq!(world.git(&["rev-parse", "main"]), before);
    assert_eq!(
        fs::read_to_string(world.repo().join("README.md")).unwrap(),
        "my own words\n"
    );
}

#[test]
fn only_the_head_that_was_looked_at_is_merged() {
    let world = world();
    done(&world, &["pr", "open", "feat/login"]);
    let other = world.git(&["rev-parse", "main"]);
    let (code, moved) = world.json(&["pr", "merge", "1", "--head", &other]);
    assert_eq!(
        (code, &moved["failure"]["kind"]),
        (Some(1), &json!("headMoved"))
    );
}

#[test]
fn a_line_outside_the_diff_is_answered_with_the_lines_inside() {
    let world = world();
    done(&world, &["pr", "open", "feat/login"]);
    let ended = world.drive(&[
        "pr",
        "comment",
        "1",
        "x",
        "--file",
        "src/login.rs",
        "--line",
        "9",
    ]);
    assert_eq!(
        ended,
        Ended {
            code: Some(2),
            stdout: String::new(),
            stderr: "error: line 9 of `src/login.rs` is not in the diff of the pull request\n\
                     hint: the diff of `src/login.rs` shows these lines: 1-5\n"
                .to_owned(),
        }
    );
}

#[test]
fn several_candidates_are_listed_and_one_needs_no_name() {
    let world = world();
    let nothing = world.drive(&["pr", "close"]);
    assert_eq!(nothing.code, Some(2));
    assert!(
        nothing
            .stderr
            .starts_with("error: no open pull request in this repository\n")
    );
    done(&world, &["pr", "open", "feat/login"]);
    done(&world, &["pr", "comment", "--body", "one needs no name"]);
    branch(&world, "feat/b", "b.txt");
    done(&world, &["pr", "open", "feat/b"]);
    let several = world.drive(&["pr", "approve"]);
    assert_eq!(several.code, Some(2));
    assert_eq!(
        several.stderr,
        "error: more than one pull request matches\n\
         hint: pass one of: 2 (`feat/b`, open), 1 (`feat/login`, open)\n"
    );
    done(&world, &["pr", "close", "feat/b"]);
    assert_eq!(document(&world, &["pr", "show", "2"])["state"], "closed");
    done(&world, &["pr", "reopen"]);
    assert_eq!(document(&world, &["pr", "show", "2"])["state"], "open");
}

#[test]
fn a_comment_can_come_from_standard_input() {
    let world = world();
    done(&world, &["pr", "open", "feat/login"]);
    for args in [
        &["pr", "comment", "1", "-"][..],
        &["pr", "comment", "--body", "-"],
    ] {
        let piped = with_input(&world, args, "from a pipe\n");
        assert_eq!(piped.code, Some(0), "{piped:?}");
    }
    let shown = document(&world, &["pr", "show"]);
    let bodies: Vec<_> = shown["comments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| &c["body"])
        .collect();
    assert_eq!(bodies, ["from a pipe\n", "from a pipe\n"]);
    assert_eq!(
        with_input(&world, &["pr", "comment", "1", "-"], " \n").code,
        Some(2)
    );
    let missing = world.json(&["pr", "comment", "1"]);
    assert_eq!(missing.1["failure"]["kind"], "bodyMissing");
}

#[test]
fn what_others_wrote_cannot_paint_the_terminal() {
    let world = world();
    done(
        &world,
        &["pr", "open", "feat/login", "--title", "red \x1b[31m"],
    );
    done(&world, &["pr", "comment", "1", "bell \x07 \x1b]0;title"]);
    for args in [&["pr", "list"][..], &["pr", "show", "1"]] {
        let text = done(&world, args);
        let raw = text.chars().any(|c| c.is_control() && c != '\n');
        assert!(!raw, "{text:?}");
    }
}
