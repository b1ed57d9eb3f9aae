//! Private homes of agents hold copies of logins: they go when the agent does.

use crate::spawn::support::{World, contents, text};
use rustix::process::{Pid, Signal, kill_process};

const LOGIN: &str = "login-4711-of-the-user";

/// An agent that may use `.agentrc` of the user's home, sees it, and copies it about.
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

/// The files below the state directory that hold the login.
fn copies(world: &World) -> Vec<std::path::PathBuf> {
    let holds = |bytes: &[u8]| bytes.windows(LOGIN.len()).any(|w| w == LOGIN.as_bytes());
    let all = contents(&world.path("state")).into_iter();
    all.filter(|(_, bytes)| holds(bytes))
        .map(|(path, _)| path)
        .collect()
}

fn assert_only_the_log_is_left(world: &World, run: &str) {
    assert_eq!(copies(world), Vec::<std::path::PathBuf>::new());
    let folder = world.path("state/runs").join(run);
    for entry in std::fs::read_dir(folder).unwrap() {
        let mut names: Vec<String> = std::fs::read_dir(entry.unwrap().path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["agent.log", "input.json"]);
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
        assert_only_the_log_is_left(&world, &text(&run["runId"]));
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
        assert_only_the_log_is_left(&world, &text(&runs["runs"][0]["runId"]));
        assert_eq!(world.survivors(), Vec::<String>::new());
    }
}
