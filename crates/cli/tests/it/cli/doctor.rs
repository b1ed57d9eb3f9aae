use crate::cli::support::{Ended, World, ended, ended_as_ordinary_user};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Stdio;

impl World {
    /// Runs `drive doctor --json` with changes to its environment.
    fn doctor(&self, variables: &[(&str, &str)]) -> Ended {
        let mut command = self.command(&["doctor", "--json"]);
        ended(command.envs(variables.iter().copied()))
    }

    /// A folder for `PATH` that contains only the real git.
    fn private_path(&self) -> PathBuf {
        let folder = self.path("bin");
        fs::create_dir_all(&folder).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let git = std::env::split_paths(&path).map(|folder| folder.join("git"));
        symlink(
            git.into_iter().find(|git| git.exists()).unwrap(),
            folder.join("git"),
        )
        .unwrap();
        folder
    }
}

/// A program that prints one line.
fn script(path: PathBuf, line: &str) {
    let _ = fs::remove_file(&path);
    fs::write(&path, format!("#!/bin/sh\necho '{line}'\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn check(document: &Value, name: &str) -> (String, String, Option<String>) {
    let checks = document["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == name);
    let found = found.unwrap_or_else(|| panic!("no check `{name}` in {document}"));
    let text = |key: &str| found[key].as_str().map(str::to_owned);
    (
        text("status").unwrap(),
        text("detail").unwrap(),
        text("hint"),
    )
}

#[test]
fn what_is_missing_has_a_hint_and_what_is_fine_has_none() {
    let world = World::new();
    let path = world.private_path();
    script(path.join("gemini"), "0.61.0");
    let variables = [
        ("PATH", path.to_str().unwrap()),
        ("GEMINI_API_KEY", "s3cr3t-value"),
    ];
    let ended = world.doctor(&variables);
    assert!(!format!("{ended:?}").contains("s3cr3t"), "{ended:?}");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let document = ended.document();
    assert_eq!(document["schema"], "drive.doctor/1");
    assert_eq!(document["usableAgents"], serde_json::json!(["gemini-cli"]));
    for one in document["checks"].as_array().unwrap() {
        let fine = one["status"] == "ok";
        assert_eq!(one["hint"].is_null(), fine, "{one}");
    }
    for name in ["git", "settings", "stateDir", "database", "forge"] {
        assert_eq!(check(&document, name).0, "ok", "{name}");
    }
    for name in [
        "gh",
        "node",
        "npm",
        "forgeToken",
        "agent.claude-code",
        "agent.codex",
    ] {
        assert_eq!(check(&document, name).0, "missing", "{name}");
    }
    assert!(check(&document, "layer.pidNamespace").0 != "missing");
    let login = check(&document, "agent.gemini-cli.login");
    assert_eq!((login.0.as_str(), login.1.as_str()), ("ok", "an API key"));
}

#[test]
fn an_agent_without_a_login_cannot_run_and_the_way_to_get_one_is_told() {
    let world = World::new();
    let path = world.private_path();
    script(path.join("gemini"), "0.61.0");
    script(path.join("codex"), "codex-cli 0.158.0");
    let variables = [
        ("PATH", path.to_str().unwrap()),
        ("GEMINI_API_KEY", "s3cr3t-value"),
    ];
    let document = world.doctor(&variables).document();
    assert_eq!(document["usableAgents"], serde_json::json!(["gemini-cli"]));
    assert_eq!(check(&document, "agent.codex").0, "ok");
    let (status, detail, hint) = check(&document, "agent.codex.login");
    assert_eq!(status, "missing");
    assert_eq!(detail, "it has neither a login nor an API key");
    assert!(hint.unwrap().contains("`codex login`"));
    let shown = ended(world.command(&["doctor"]).env("PATH", &path));
    assert_eq!(shown.code, Some(1), "{shown:?}");
    let to_use = "to use codex: run `codex login`";
    assert!(shown.stdout.contains(to_use), "{}", shown.stdout);
}

#[test]
fn people_get_a_table() {
    let world = World::new();
    let path = world.private_path();
    script(path.join("gemini"), "0.61.0");
    let ended = ended(
        world
            .command(&["doctor"])
            .env("PATH", path)
            .env("GEMINI_API_KEY", "dummy"),
    );
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let mut lines = ended.stdout.lines();
    let is_codex = |line: &str| {
        line.starts_with("missing   agent.codex ") && line.ends_with("  `codex` not found")
    };
    assert!(lines.any(is_codex), "{}", ended.stdout);
    let conclusion = ended.stdout.split("\n\n").last().unwrap();
    let mut lines = conclusion.lines();
    assert_eq!(lines.next(), Some("you can run: gemini-cli"));
    let rest: Vec<&str> = lines.collect();
    let to_use = "to use claude-code: run `npm install -g @anthropic-ai/claude-code`";
    assert!(rest.iter().any(|line| line.starts_with(to_use)), "{rest:?}");
    assert!(
        rest.iter().all(|line| line.starts_with("to use ")),
        "{rest:?}"
    );
}

#[test]
fn a_machine_without_an_agent_ends_the_doctor_with_1() {
    let world = World::new();
    let path = world.private_path();
    let shown = ended(world.command(&["doctor"]).env("PATH", &path));
    assert_eq!(shown.code, Some(1), "{shown:?}");
    assert!(
        shown.stdout.contains("\nyou can run: no agent\n"),
        "{shown:?}"
    );
    let document = world.doctor(&[("PATH", path.to_str().unwrap())]).document();
    assert_eq!(document["usableAgents"], serde_json::json!([]));
    assert_eq!(document["failure"]["kind"], "noUsableAgent");
}

#[test]
fn without_git_nothing_works() {
    let world = World::new();
    let ended = world.doctor(&[("PATH", "/nonexistent")]);
    assert_eq!(ended.code, Some(3));
    let document = ended.document();
    assert_eq!(document["schema"], "drive.doctor/1");
    assert_eq!(document["failure"]["kind"], "requirementMissing");
    assert_eq!(
        check(&document, "git"),
        (
            "missing".to_owned(),
            "not found in `PATH`".to_owned(),
            Some("install git 2.38 or newer".to_owned())
        )
    );
}

#[test]
fn a_git_that_is_too_old_or_broken_is_as_good_as_none() {
    let world = World::new();
    let path = world.private_path();
    for said in ["git version 2.20.1", "segmentation fault"] {
        script(path.join("git"), said);
        let ended = world.doctor(&[("PATH", path.to_str().unwrap())]);
        assert_eq!(ended.code, Some(3), "{said}");
        assert_eq!(check(&ended.document(), "git").0, "missing", "{said}");
    }
}

#[test]
fn an_agent_is_found_with_its_version() {
    let world = World::new();
    let path = world.private_path();
    script(path.join("claude"), "2.1.325 (Claude Code)");
    script(world.repo().join("agent"), "anything");
    world.settings("[agents.mine]\nkind = \"command\"\ncommand = [\"./agent\"]\n");
    let document = world.doctor(&[("PATH", path.to_str().unwrap())]).document();
    let (status, detail, _) = check(&document, "agent.claude-code");
    assert_eq!(status, "ok");
    assert_eq!(
        detail,
        format!("2.1.325 at `{}`", path.join("claude").display())
    );
    assert_eq!(check(&document, "agent.mine").0, "ok");
}

#[test]
fn a_token_is_found_and_never_shown() {
    let world = World::new();
    world.settings(
        "[forge]\nkind = \"github\"\nrepo = \"owner/name\"\napi_url = \"http://127.0.0.1:9\"\n",
    );
    let ended = world.doctor(&[("GITHUB_TOKEN", "s3cr3t-value")]);
    assert!(!format!("{ended:?}").contains("s3cr3t"), "{ended:?}");
    let document = ended.document();
    assert_eq!(check(&document, "forgeToken").1, "found in `GITHUB_TOKEN`");
    assert!(check(&document, "forge").1.starts_with("GitHub: "));
    let (status, detail, _) = check(&document, "forgeAccess");
    assert_eq!(status, "degraded", "{detail}");
}

#[test]
fn a_state_directory_that_cannot_be_made_is_named() {
    let world = World::new();
    let taken = world.path("taken");
    fs::write(&taken, "").unwrap();
    let below = taken.join("state");
    for place in [below.to_str().unwrap(), "/proc/drive", "/dev/null"] {
        let ended = world.doctor(&[("DRIVE_STATE_DIR", place)]);
        assert_eq!(ended.code, Some(3), "{place}");
        let (status, detail, hint) = check(&ended.document(), "stateDir");
        assert_eq!(status, "missing");
        assert!(detail.contains(place), "{detail}");
        assert_eq!(
            hint.as_deref(),
            Some("make it writable, or set `DRIVE_STATE_DIR` to another folder")
        );
    }
}

#[test]
fn a_read_only_state_directory_is_named() {
    let world = World::new();
    let place = world.path("state");
    fs::create_dir(&place).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o555)).unwrap();
    let mut command = world.command(&["doctor", "--json"]);
    command.env("DRIVE_STATE_DIR", &place);
    let Some(ended) = ended_as_ordinary_user(&world, &mut command) else {
        return;
    };
    assert_eq!(ended.code, Some(3));
    assert!(
        check(&ended.document(), "stateDir")
            .1
            .contains("is not writable")
    );
}

#[test]
fn without_a_home_the_state_directory_must_be_given() {
    let world = World::new();
    let ended = ended(world.command(&["doctor", "--json"]).env_remove("HOME"));
    assert_eq!(ended.code, Some(3));
    assert_eq!(
        check(&ended.document(), "stateDir"),
        (
            "missing".to_owned(),
            "no state directory: `HOME` is not set".to_owned(),
            Some("set `DRIVE_STATE_DIR` to an absolute path".to_owned())
        )
    );
}

#[test]
fn a_corrupt_database_is_named_and_left_alone() {
    let world = World::new();
    let place = world.path("state");
    fs::create_dir(&place).unwrap();
    let rubbish =
        "this is no database, and it is longer than a header of one hundred bytes: ".repeat(4);
    fs::write(place.join("drive.sqlite3"), &rubbish).unwrap();
    let ended = world.doctor(&[("DRIVE_STATE_DIR", place.to_str().unwrap())]);
    assert_eq!(ended.code, Some(3));
    assert_eq!(check(&ended.document(), "database").0, "missing");
    assert_eq!(
        fs::read_to_string(place.join("drive.sqlite3")).unwrap(),
        rubbish
    );
}

#[test]
fn wrong_settings_are_one_finding_among_others() {
    let world = World::new();
    world.settings("[spawn]\nagnt = \"codex\"\n");
    let ended = world.doctor(&[]);
    assert_eq!(ended.code, Some(2));
    let document = ended.document();
    assert_eq!(document["failure"]["kind"], "settingsInvalid");
    assert_eq!(
        check(&document, "settings").1,
        "drive.toml:2: unknown key `agnt` in `[spawn]`"
    );
    assert_eq!(check(&document, "git").0, "ok");
}

/// The first interrupt reaches the child for which the command waits, and ends the command.
#[test]
fn an_interrupt_ends_with_130_and_one_document() {
    let world = World::new();
    let path = world.private_path();
    let ready = world.path("ready");
    mknodat(CWD, &ready, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let git = path.join("git");
    fs::remove_file(&git).unwrap();
    fs::write(
        &git,
        format!("#!/bin/sh\necho > '{}'\nexec sleep 600\n", ready.display()),
    )
    .unwrap();
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
    let child = world
        .command(&["doctor", "--json"])
        .env("PATH", format!("{}:/usr/bin:/bin", path.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Opening the file blocks until the program named git has started.
    fs::read(&ready).unwrap();
    let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let ended = Ended::from(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let document = ended.document();
    assert_eq!(document["schema"], "drive.error/1");
    assert_eq!(document["failure"]["kind"], "interrupted");
}
