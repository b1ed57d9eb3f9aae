//! Tests caches of package managers: an agent uses those of the user, and changes only its own layer.

use crate::agent_adapters::stage::{Played, Stage, command, holds, runner};
use drive_adapters::agents::{AgentHost, agent};
use drive_core::agent::{AgentConfig, AgentEvent, Role};
use drive_core::process::LayerName;
use drive_engine::CancelToken;
use drive_engine::ports::Agent;
use std::fs;
use std::sync::Arc;

/// Prints what it finds of the user's home, and leaves a file behind.
const ROBOT: &str = "#!/bin/sh\ncat > /dev/null\ncd ~
for file in .cargo/registry/one .npm/_cacache/one .cache/pip/one .cargo/credentials.toml .npmrc .m2/settings.xml; do
  cat $file 2>/dev/null || echo \"no $file\"
done
for cache in .cargo/registry .npm/_cacache .cache/pip; do echo poison > $cache/one; echo poison > $cache/two; done
echo \"$MAVEN_OPTS\"\n";

const FILES: [&str; 7] = [
    ".cargo/registry/one",
    ".npm/_cacache/one",
    ".m2/repository/one",
    ".cargo/credentials.toml",
    ".npmrc",
    ".m2/settings.xml",
    ".npm/_logs/debug",
];

/// A user with caches, with credentials beside them, and with one cache elsewhere. `None` if the
/// machine cannot mount layers.
fn stage() -> Option<Stage> {
    if !holds(LayerName::Caches) {
        return None;
    }
    let mut stage = Stage::new();
    stage.program("robot", ROBOT);
    let pip = stage.root.join("elsewhere/pip");
    for file in FILES {
        let path = stage.root.join("home").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("user's {file}\n")).unwrap();
    }
    fs::create_dir_all(&pip).unwrap();
    fs::write(pip.join("one"), "user's pip\n").unwrap();
    let variable = ("PIP_CACHE_DIR".to_owned(), pip.display().to_string());
    stage.variables.push(variable);
    Some(stage)
}

fn play(stage: &Stage, home: &[&str]) -> Played {
    let config = AgentConfig {
        home: home.iter().map(|entry| (*entry).to_owned()).collect(),
        ..command("robot")
    };
    stage.play(&config, &stage.request(Role::Coder))
}

fn users(stage: &Stage, file: &str) -> String {
    fs::read_to_string(stage.root.join(file)).unwrap_or_default()
}

#[test]
fn caches_are_warm_for_every_agent_and_none_can_poison_the_next() {
    let Some(stage) = stage() else { return };
    let home = stage.root.join("run/home");
    let expected = format!(
        "user's .cargo/registry/one\nuser's .npm/_cacache/one\nuser's pip\n\
         no .cargo/credentials.toml\nno .npmrc\nno .m2/settings.xml\n-Duser.home={}",
        home.display()
    );
    for _ in 0..2 {
        let played = play(&stage, &[]);
        assert_eq!(played.outcome().text.trim(), expected);
        for file in FILES {
            let file = format!("home/{file}");
            let name = file.strip_prefix("home/").unwrap();
            assert_eq!(users(&stage, &file), format!("user's {name}\n"));
        }
        assert_eq!(users(&stage, "elsewhere/pip/one"), "user's pip\n");
        assert_eq!(users(&stage, "elsewhere/pip/two"), "");
    }
}

#[test]
fn a_folder_that_the_user_shares_is_changed() {
    let Some(stage) = stage() else { return };
    play(&stage, &[".cargo"]);
    assert_eq!(users(&stage, "home/.cargo/registry/one"), "poison\n");
    assert_eq!(
        users(&stage, "home/.npm/_cacache/one"),
        "user's .npm/_cacache/one\n"
    );
}

#[test]
fn layers_go_with_the_home_of_the_agent() {
    let Some(stage) = stage() else { return };
    play(&stage, &[]);
    let layers = stage.root.join("run/layers");
    assert!(layers.join(".cargo+registry/upper/two").exists());
    drive_adapters::agents::discard_homes(&stage.root.join("run"));
    assert!(!layers.exists());
}

#[test]
fn a_machine_without_overlays_is_named() {
    let Some(stage) = stage() else { return };
    let host = AgentHost {
        runner: Arc::new(runner().without(&[LayerName::Caches])),
        ..stage.host()
    };
    let robot = agent("mine", &command("robot"), &host).unwrap();
    let (request, mut warnings) = (stage.request(Role::Coder), Vec::new());
    let mut hear = |event| {
        if let AgentEvent::Warning { message } = event {
            warnings.push(message);
        }
    };
    let outcome = robot.run(&request, &CancelToken::new(), &mut |_| Ok(()), &mut hear);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].starts_with("agent `mine` worked without your caches: no private layer over"),
        "{warnings:?}"
    );
    // Cargo can use a cache that it cannot write; npm cannot.
    let text = outcome.unwrap().text;
    assert!(
        text.starts_with("user's .cargo/registry/one\nno .npm/_cacache/one\n"),
        "{text}"
    );
    assert_eq!(users(&stage, "home/.cargo/registry/two"), "");
}
