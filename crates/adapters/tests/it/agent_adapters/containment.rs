use crate::agent_adapters::stage::{Stage, command, holds};
use drive_core::agent::{Ending, Failure, Role};
use drive_core::process::{LayerName, TimeBound};
use drive_engine::cancel::Urgency;
use drive_engine::{CancelToken, ports::AgentRequest};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

fn git(folder: &Path, args: &[&str]) {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(args)
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A repository in the user's home, and a sandbox whose own repository borrows from it.
fn in_a_sandbox(stage: &Stage, role: Role) -> AgentRequest {
    let repo = stage.root.join("home/repo");
    std::fs::create_dir_all(&repo).unwrap();
    git(&repo, &["init", "-q"]);
    git(&repo, &["commit", "-q", "--allow-empty", "-m", "base"]);
    let work = stage.root.join("home/box");
    let borrows = ["clone", "-q", "--shared", "repo", "box"];
    git(&stage.root.join("home"), &borrows);
    git(&work, &["config", "user.name", "mine"]);
    git(&work, &["config", "user.email", "mine@example.org"]);
    let mut request = stage.request(role);
    request.sandbox = work;
    request.git_dir = Some(repo.join(".git"));
    request
}

/// A script that tries to write each path and prints those that it could write.
fn writer(places: &[PathBuf]) -> String {
    let mut script = "#!/bin/sh\ncat > /dev/null\n".to_owned();
    for place in places {
        script.push_str(&format!(
            "if (echo x >> '{0}') 2>/dev/null; then echo 'wrote {0}'; fi\n",
            place.display()
        ));
    }
    script
}

fn wrote(text: &str) -> Vec<PathBuf> {
    text.lines()
        .filter_map(|line| line.strip_prefix("wrote "))
        .map(PathBuf::from)
        .collect()
}

#[test]
fn a_writer_writes_its_sandbox_and_nothing_of_the_users() {
    if !holds(LayerName::WriteScope) || !holds(LayerName::View) {
        return;
    }
    let stage = Stage::new();
    let request = in_a_sandbox(&stage, Role::Coder);
    let repo = stage.root.join("home/repo");
    let allowed = [
        request.sandbox.join("new.txt"),
        stage.root.join("run/home/x"),
        stage.root.join("run/tmp/x"),
        request.sandbox.join(".git/config"),
    ];
    let refused = [
        repo.join(".git/config"),
        repo.join(".git/hooks/post-commit"),
        repo.join(".git/HEAD"),
        repo.join(".git/objects/x"),
        repo.join(".git/refs/heads/x"),
        repo.join("stray.txt"),
        stage.root.join("home/.ssh/id"),
        stage.root.join("home/.bashrc"),
        stage.root.join("outside.txt"),
        stage.root.join("run/agent.log"),
    ];
    let places: Vec<PathBuf> = allowed.iter().chain(&refused).cloned().collect();
    stage.program("robot", &writer(&places));
    let played = stage.play(&command("robot"), &request);
    assert_eq!(played.outcome().ending, Ending::Succeeded);
    assert_eq!(wrote(&played.outcome().text), allowed);
}

/// The commands of an agent that tries to write a file although it was told not to.
const TAMPERS: &str = "#!/bin/sh\ncat > /dev/null\n\
    (echo x >> checks/a.txt) 2>/dev/null && echo 'wrote appended'\n\
    (rm checks/a.txt) 2>/dev/null && echo 'wrote removed'\n\
    (echo x > new && mv new checks/a.txt) 2>/dev/null && echo 'wrote replaced'\n\
    (cat checks/link) 2>/dev/null | sed 's/^/wrote /'\n\
    echo x > free.txt && echo 'wrote free.txt'\n";

#[test]
fn an_agent_cannot_write_the_files_that_hold_its_checks() {
    if !holds(LayerName::WriteScope) || !holds(LayerName::View) {
        return;
    }
    let tampered = |held: &[&str]| {
        let stage = Stage::new();
        let mut request = in_a_sandbox(&stage, Role::Coder);
        let checks = request.sandbox.join("checks");
        std::fs::create_dir_all(&checks).unwrap();
        std::fs::write(checks.join("a.txt"), "theirs\n").unwrap();
        let secret = stage.root.join("home/secret.txt");
        std::fs::write(&secret, "secret\n").unwrap();
        std::os::unix::fs::symlink(&secret, checks.join("link")).unwrap();
        request.held = held.iter().map(PathBuf::from).collect();
        stage.program("robot", TAMPERS);
        let played = stage.play(&command("robot"), &request);
        assert_eq!(played.outcome().ending, Ending::Succeeded);
        let text = std::fs::read_to_string(checks.join("a.txt")).unwrap();
        (wrote(&played.outcome().text), text)
    };
    let names = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
    // Links are not followed: the protected path is shown, but the agent cannot see the link's target.
    let paths = [
        "checks/a.txt",
        "checks/link",
        "../secret.txt",
        "missing.txt",
    ];
    assert_eq!(
        tampered(&paths),
        (names(&["free.txt"]), "theirs\n".to_owned())
    );
    let unheld = tampered(&[]);
    assert_eq!(
        unheld.0,
        names(&["appended", "removed", "replaced", "free.txt"])
    );
    assert_eq!(unheld.1, "x\n");
}

#[test]
fn a_reader_writes_nothing_but_its_private_folders() {
    if !holds(LayerName::WriteScope) {
        return;
    }
    for role in [Role::Reviewer, Role::Validator, Role::Namer] {
        let stage = Stage::new();
        let request = in_a_sandbox(&stage, role);
        std::fs::write(request.sandbox.join("old.txt"), "old").unwrap();
        let private = [stage.root.join("run/home/x"), stage.root.join("run/tmp/x")];
        let mut places = private.to_vec();
        places.push(request.sandbox.join("old.txt"));
        places.push(request.sandbox.join("new.txt"));
        places.push(stage.root.join("home/repo/.git/refs/heads/x"));
        stage.program("robot", &writer(&places));
        let played = stage.play(&command("robot"), &request);
        assert_eq!(wrote(&played.outcome().text), private, "{role}");
    }
}

#[test]
fn the_home_is_out_of_sight_but_for_what_the_settings_name() {
    if !holds(LayerName::View) {
        return;
    }
    let stage = Stage::new();
    let home = stage.root.join("home");
    std::fs::create_dir_all(home.join(".robot")).unwrap();
    std::fs::write(home.join(".robot/login"), "login").unwrap();
    stage.program(
        "robot",
        &format!(
            "#!/bin/sh\ncat '{0}/.ssh/id' 2>&1 | grep -c 'private key'\ncat ~/.robot/login\necho x >> ~/.robot/login\n",
            home.display()
        ),
    );
    let mut config = command("robot");
    config.home = vec![".robot".to_owned()];
    let played = stage.play(&config, &stage.request(Role::Coder));
    assert_eq!(played.outcome().text, "0\nlogin\n");
    assert_eq!(
        std::fs::read_to_string(home.join(".robot/login")).unwrap(),
        "loginx\n"
    );
}

#[test]
fn tools_of_the_search_path_stay_usable_when_they_are_in_the_home() {
    let mut stage = Stage::new();
    let tools = stage.root.join("home/tools/bin");
    std::fs::create_dir_all(&tools).unwrap();
    std::fs::rename(stage.root.join("bin"), stage.root.join("old-bin")).unwrap();
    std::os::unix::fs::symlink(&tools, stage.root.join("bin")).unwrap();
    stage.program("helper", "#!/bin/sh\necho helped\n");
    stage.program("robot", "#!/bin/sh\nhelper\n");
    stage.variables[0].1 = format!("{}:/usr/bin:/bin", tools.display());
    let played = stage.play(&command("robot"), &stage.request(Role::Coder));
    assert_eq!(played.outcome().text, "helped\n");
}

/// Shims of mise and volta are links to one program, which acts by the name under which it is started.
#[test]
fn a_shim_is_started_under_its_own_name() {
    let mut stage = Stage::new();
    let shims = stage.root.join("home/.local/share/mise/shims");
    std::fs::create_dir_all(&shims).unwrap();
    std::fs::create_dir_all(stage.root.join("home/.config/mise")).unwrap();
    std::fs::write(
        stage.root.join("home/.config/mise/config.toml"),
        "[tools]\n",
    )
    .unwrap();
    stage.program(
        "mise",
        "#!/bin/sh\nbasename \"$0\"; cat ~/.config/mise/config.toml\n",
    );
    std::os::unix::fs::symlink(stage.root.join("bin/mise"), shims.join("robot")).unwrap();
    stage.variables[0].1 = format!("{}:/usr/bin:/bin", shims.display());
    let played = stage.play(&command("robot"), &stage.request(Role::Coder));
    assert_eq!(played.outcome().text, "robot\n[tools]\n", "{}", stage.log());
}

#[test]
fn an_agent_commits_in_its_sandbox_by_itself() {
    let stage = Stage::new();
    let request = in_a_sandbox(&stage, Role::Coder);
    stage.program(
        "robot",
        "#!/bin/sh\ncat > /dev/null\necho x > a.txt\n\
         git add a.txt && git commit -q -m mine && git log --format='%an: %s' -1\n",
    );
    let played = stage.play(&command("robot"), &request);
    assert_eq!(
        played.outcome().text,
        "mine: mine\n",
        "{:?}",
        played.outcome()
    );
}

#[test]
fn an_agent_that_ignores_signals_and_hides_its_children_is_gone_after_its_limit() {
    let stage = Stage::new();
    let mark = format!("drive-agent-{}", std::process::id());
    stage.program(
        "robot",
        &format!(
            "#!/bin/sh\ntrap '' TERM INT HUP\n\
             (setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' {mark} >/dev/null 2>&1 &)\n\
             echo ready\nwhile :; do sleep 1; done\n"
        ),
    );
    let mut request = stage.request(Role::Coder);
    request.limits.wall = Duration::from_secs(2);
    let played = stage.play(&command("robot"), &request);
    assert_eq!(
        played.outcome().ending,
        Ending::Failed {
            reason: Failure::TimedOut {
                bound: TimeBound::Wall
            },
            message: String::new(),
        }
    );
    assert_eq!(survivors(&mark), Vec::<String>::new());
}

#[test]
fn a_silent_agent_ends_by_its_idle_clock() {
    let stage = Stage::new();
    stage.program("robot", "#!/bin/sh\necho hello\nexec sleep 100\n");
    let mut request = stage.request(Role::Coder);
    request.limits.idle = Some(Duration::from_secs(1));
    let played = stage.play(&command("robot"), &request);
    let problem = played.outcome().problem("mine").unwrap();
    assert_eq!(
        problem.message,
        "agent `mine` produced no output for too long (idle_timeout)"
    );
}

#[test]
fn a_stop_from_above_ends_the_agent_and_is_an_interruption() {
    let stage = Stage::new();
    stage.program("robot", "#!/bin/sh\necho hello\nexec sleep 100\n");
    let cancel = CancelToken::new();
    cancel.cancel(Urgency::Graceful);
    let played = stage.play_until(&command("robot"), &stage.request(Role::Coder), &cancel);
    match &played.result {
        Ok(outcome) => assert_eq!(outcome.problem("mine").unwrap().exit_code(), 130),
        Err(problem) => assert_eq!(problem.exit_code(), 130, "{problem:?}"),
    }
}

fn survivors(mark: &str) -> Vec<String> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(mark))
        .collect()
}
