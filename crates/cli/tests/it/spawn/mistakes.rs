//! Tests that mistakes are reported before anything is created: one document, the right exit code, a remedy.

use crate::spawn::support::{Ended, World, text};
use std::os::unix::fs::PermissionsExt;

/// Runs `drive spawn --json`, which must be refused and leave nothing.
fn refused(world: &World, args: &[&str]) -> Ended {
    let ended = world.drive(&[&["spawn", "--json"], args].concat());
    let document = ended.document();
    assert_eq!(document["schema"], "drive.error/1", "{ended:?}");
    assert_ne!(text(&document["failure"]["hint"]), "", "{document:#}");
    ended
}

fn hint(ended: &Ended) -> String {
    text(&ended.document()["failure"]["hint"])
}

#[test]
fn an_empty_task_is_refused() {
    let world = World::with_agent("");
    for task in ["", " \n\t "] {
        assert_eq!(
            refused(&world, &[task]).failure(),
            (Some(2), "taskEmpty".into())
        );
    }
    // Standard input is empty here.
    assert_eq!(
        refused(&world, &["-"]).failure(),
        (Some(2), "taskEmpty".into())
    );
    assert!(!world.path("state").exists(), "nothing was touched");
}

#[test]
fn a_task_that_is_too_long_is_refused() {
    let world = World::with_agent("");
    std::fs::write(world.path("task"), "x".repeat(9 << 20)).unwrap();
    let output = world
        .drive_command(&["spawn", "-", "--json"])
        .stdin(std::fs::File::open(world.path("task")).unwrap())
        .output()
        .unwrap();
    assert_eq!(
        Ended::from(output).failure(),
        (Some(2), "taskTooLarge".into())
    );
}

#[test]
fn an_unknown_agent_is_refused_with_the_names_there_are() {
    let world = World::with_agent("");
    let ended = refused(&world, &["Do it", "--agent", "scrpt"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended.stdout.contains("scrpt") && ended.stdout.contains("`script`"),
        "{ended:?}"
    );
    world.assert_nothing_is_left();
}

#[test]
fn a_program_that_is_missing_not_executable_or_another_one_is_named() {
    let world = World::with_agent("");
    let plain = world.program("plain", "");
    std::fs::set_permissions(&plain, std::fs::Permissions::from_mode(0o644)).unwrap();
    for (kind, command, expected) in [
        ("command", "no-such-program", "agentNotInstalled"),
        ("command", "/no/such/program", "agentNotInstalled"),
        ("command", plain.to_str().unwrap(), "agentNotExecutable"),
        ("claude-code", "/bin/echo", "agentWrongProgram"),
        ("codex", "/bin/false", "agentWrongProgram"),
        ("gemini-cli", "/bin/true", "agentWrongProgram"),
    ] {
        world.settings(&format!(
            "[agents.other]\nkind = \"{kind}\"\ncommand = [{command:?}]\n"
        ));
        let ended = refused(&world, &["Do it", "--agent", "other"]);
        assert_eq!(ended.failure(), (Some(3), expected.into()), "{command}");
        assert!(hint(&ended).contains("[agents.other]"), "{ended:?}");
    }
    assert_eq!(world.branches(), Vec::<String>::new());
    world.assert_nothing_is_left();
}

#[test]
fn a_program_the_machine_cannot_start_is_a_failure_that_leaves_nothing() {
    let world = World::with_agent("");
    let odd = world.program("odd", "");
    std::fs::write(&odd, b"\x7fELFgarbage").unwrap();
    world.settings(&format!(
        "[agents.odd]\nkind = \"command\"\ncommand = [{odd:?}]\n"
    ));
    let (code, run) = world.spawn(&["Do it", "--agent", "odd"]);
    let failure = (code, text(&run["failure"]["kind"]));
    assert_eq!(failure, (Some(1), "agentNoVerdict".into()), "{run:#}");
    world.assert_nothing_is_left();
}

#[test]
fn a_folder_that_is_no_repository_is_refused() {
    let world = World::with_agent("");
    std::fs::create_dir(world.path("plain")).unwrap();
    let plain = world.path("plain");
    let ended = refused(&world, &["Do it", "--repo", plain.to_str().unwrap()]);
    assert_eq!(ended.failure(), (Some(2), "notARepository".into()));
    let ended = refused(&world, &["Do it", "--repo", "/no/such/folder"]);
    assert_eq!(ended.failure(), (Some(2), "noSuchFolder".into()));
}

#[test]
fn a_repository_without_commits_is_refused() {
    let world = World::with_agent("");
    world.shell("git init -q unborn && git init -q --bare bare.git");
    for name in ["unborn", "bare.git"] {
        let repo = world.path(name);
        let ended = refused(&world, &["Do it", "--repo", repo.to_str().unwrap()]);
        assert_eq!(ended.failure(), (Some(2), "noCommitsYet".into()), "{name}");
    }
}

#[test]
fn a_bare_repository_is_fine() {
    let world = World::with_agent("echo new > new.txt");
    world.shell("git clone -q --bare repo bare.git");
    let bare = world.path("bare.git");
    let (code, run) = world.spawn(&["Do it", "--repo", bare.to_str().unwrap(), "--branch", "b"]);
    assert_eq!((code, &run["prNumber"]), (Some(0), &1.into()), "{run:#}");
    assert_eq!(world.shell("git -C bare.git show b:new.txt"), "new");
}

#[test]
fn without_a_branch_to_go_to_there_is_no_pull_request() {
    let world = World::with_agent("echo new > new.txt");
    world.git("checkout -q --detach");
    let ended = refused(&world, &["Do it"]);
    assert_eq!(ended.failure(), (Some(2), "noBaseBranch".into()));
    assert!(hint(&ended).contains("--no-pr"), "{ended:?}");
    let (code, run) = world.spawn(&["Do it", "--no-pr"]);
    assert_eq!(code, Some(0), "{run:#}");
    let (code, run) = world.spawn(&["Do it", "--base", "main"]);
    assert_eq!((code, &run["prNumber"]), (Some(0), &1.into()), "{run:#}");
}

#[test]
fn an_idle_timeout_must_be_shorter_than_the_total_one() {
    let world = World::with_agent("");
    for limits in [
        ["--idle-timeout", "2m", "--total-timeout", "1m"],
        ["--idle-timeout", "1m", "--total-timeout", "1m"],
    ] {
        let ended = world.drive(&[&["spawn", "--json", "Do it"], &limits[..]].concat());
        assert_eq!(ended.failure(), (Some(2), "settingsInvalid".into()));
        assert!(ended.stdout.contains("idle"), "{ended:?}");
    }
    let ended = world.drive(&["spawn", "Do it", "--total-timeout", "soon", "--json"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
}

#[test]
fn a_revision_that_is_not_there_is_refused() {
    let world = World::with_agent("");
    for base in ["nowhere", "--base=--help", "main..main", "refs/heads/none"] {
        let base = base.strip_prefix("--base=").unwrap_or(base);
        let ended = refused(&world, &["Do it", &format!("--base={base}")]);
        assert_eq!(
            ended.failure(),
            (Some(2), "unknownRevision".into()),
            "{base}"
        );
    }
    world.assert_nothing_is_left();
}

#[test]
fn a_branch_that_exists_or_that_git_refuses_is_refused() {
    let world = World::with_agent("");
    world.git("branch taken");
    for (branch, kind) in [
        ("taken", "branchExists"),
        ("main", "branchCheckedOut"),
        ("taken/deeper", "branchConflict"),
        ("0123456789abcdef0123456789abcdef01234567", "badBranchName"),
        ("a..b", "badBranchName"),
        ("-x", "badBranchName"),
        ("a b", "badBranchName"),
        ("HEAD", "badBranchName"),
        ("@", "badBranchName"),
        ("", "badBranchName"),
        ("x.lock", "badBranchName"),
    ] {
        let ended = world.drive(&["spawn", "--json", "Do it", &format!("--branch={branch}")]);
        assert_eq!(ended.code, Some(2), "{branch}: {ended:?}");
        assert_eq!(ended.failure().1, kind, "{branch}: {ended:?}");
    }
    world.assert_nothing_is_left();
}

#[test]
fn runs_that_are_not_there_are_named() {
    let world = World::with_agent("");
    for (args, kind) in [
        (["runs", "show", "r-none"], "unknownRun"),
        (["runs", "logs", "../../etc"], "unknownRun"),
    ] {
        let ended = world.drive(&[&args[..], &["--json"]].concat());
        assert_eq!(ended.failure(), (Some(2), kind.into()));
    }
    let ended = world.drive(&["runs", "logs", "--json"]);
    assert_eq!(ended.failure(), (Some(2), "noRuns".into()));
}
