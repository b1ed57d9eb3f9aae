//! Tests that private homes of agents, which contain copies of logins, are removed with the agent.

use crate::spawn::support::{World, contents, text};
use rustix::process::{Pid, Signal, kill_process};

const LOGIN: &str = "login-4711-of-the-user";

/// An agent that may use `.agentrc` of the user's home, reads it, and copies it.
fn world(end: &str) -> World {
    let world = World::with_agent(&format!(
        "grep -q {LOGIN} \"$HOME/.agentrc\" && echo yes > seen.txt
cp \"$HOME/.agentrc\" \"$HOME/.copy\"; cp \"$HOME/.agentrc\" \"$TMPDIR/copy\"
mkdir \"$HOME/closed\"; chmod 0 \"$HOME/closed\"
{end}"
    ));
    world.settings("home = [\".agentrc\"]\n");
    std::fs::write(world.path("home/.agentrc"), LOGIN).unwrap();
    world
}

/// The files below the state directory that contain the login.
fn copies(world: &World) -> Vec<std::path::PathBuf> {
    let holds = |bytes: &[u8]| bytes.windows(LOGIN.len()).any(|w| w == LOGIN.as_bytes());
    let all = contents(&world.path("state")).into_iter();
    all.filter(|(_, bytes)| holds(bytes))
        .map(|(path, _)| path)
        .collect()
}

fn assert_only_the_logs_are_left(world: &World, run: &str) {
    assert_eq!(copies(world), Vec::<std::path::PathBuf>::new());
    let folder = world.path("state/runs").join(run);
    for entry in std::fs::read_dir(folder).unwrap() {
        let mut names: Vec<String> = std::fs::read_dir(entry.unwrap().path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["agent.log", "events.jsonl", "input.json"]);
    }
    let login = std::fs::read_to_string(world.path("home/.agentrc"));
    assert_eq!(login.unwrap(), LOGIN, "the user's own stays");
}

#[test]
fn a_home_goes_with_its_agent_however_that_ends() {
    for (end, code) in [
        ("true", 0),
        ("exit 7", 1),
        ("kill -9 $$", 1),
        ("sleep 300", 1),
    ] {
        let world = world(end);
        let limits = ["--idle-timeout", "2s", "--total-timeout", "3s"];
        let (ended, run) = world.spawn(&[&["Look"], &limits[..]].concat());
        assert_eq!(ended, Some(code), "{end}: {run:#}");
        let seen = match code {
            0 => text(&run["branch"]),
            _ => text(&run["kept"][0]),
        };
        assert_eq!(world.git(&format!("show {seen}:seen.txt")), "yes");
        assert_only_the_logs_are_left(&world, &text(&run["runId"]));
    }
}

#[test]
fn a_home_that_a_killed_drive_left_goes_with_the_next_command() {
    for keep in [&["--keep"][..], &[]] {
        let world = world("echo ready > ready.txt; sleep 300");
        let mut child = world.start(&[&["spawn", "Look"], keep].concat());
        world.wait_for_file("ready.txt");
        assert_ne!(copies(&world), Vec::<std::path::PathBuf>::new());
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        child.wait().unwrap();
        let runs = world.drive(&["runs", "list", "--json"]).document();
        assert_only_the_logs_are_left(&world, &text(&runs["runs"][0]["runId"]));
        assert_eq!(world.survivors(), Vec::<String>::new());
    }
}

/// The user's instructions for Claude Code, and those of the repository at the base.
#[test]
fn instructions_of_the_user_and_of_the_base_are_in_the_agents_home_and_the_users_stays() {
    let world = World::with_agent("true");
    world.program(
        "script",
        "[ \"$1\" = --version ] && echo '2.1.325 (Claude Code)' && exit
read -r prompt
cat \"$HOME/.claude/CLAUDE.md\" > told.txt; ls \"$HOME/.claude\" > there.txt
echo planted > \"$HOME/.claude/settings.json\"
echo '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"done\"}'",
    );
    world.all_settings(&format!(
        "[spawn]\nagent = \"script\"\n[forge]\nkind = \"local\"\n[agents.script]\nkind = \"claude-code\"\ncommand = [{:?}]\n",
        world.path("bin/script")
    ));
    world.shell("cd repo && echo base > CLAUDE.md && ln -s ../home/secret AGENTS.md && git add -A && git commit -qm instructions && echo tree > CLAUDE.md");
    world.shell("mkdir home/.claude && echo mine > home/.claude/CLAUDE.md && echo '{\"hooks\": {}}' > home/.claude/settings.json && echo hidden > home/secret && touch home/.claude/history.jsonl");
    let before = contents(&world.path("home"));
    let (ended, run) = world.spawn(&["Look"]);
    assert_eq!(ended, Some(0), "{run:#}");
    let branch = text(&run["branch"]);
    assert_eq!(
        world.git(&format!("show {branch}:told.txt")),
        "mine\n\n\nCLAUDE.md of the repository:\nbase"
    );
    assert_eq!(
        world.git(&format!("show {branch}:there.txt")),
        "CLAUDE.md\nsettings.json"
    );
    assert_eq!(contents(&world.path("home")), before);
}

#[test]
fn a_repository_that_asks_for_files_of_the_home_is_refused() {
    let world = World::with_agent("true");
    world.shell(
        "echo '[agents.script]' > repo/drive.toml && echo 'home = [\".ssh\"]' >> repo/drive.toml",
    );
    let ended = world.drive(&["spawn", "--json", "Look"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let refused = ended.document();
    assert!(
        text(&refused["message"]).contains("`agents.script.home` counts in your own settings only"),
        "{refused:#}"
    );
}
