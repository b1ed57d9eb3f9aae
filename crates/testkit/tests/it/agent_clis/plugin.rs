//! Tests the project as a plugin of claude: its slash commands reach the model, and may run drive.

use crate::agent_clis::bare::Bench;
use drive_testkit::interop::{AgentHome, Cli};
use drive_testkit::model_server::{Script, Turn};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const PLUGIN: &str = "drive";

/// Copies the files of the plugin, without the rest of the repository.
fn copy_of_the_plugin(to: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for folder in [".claude-plugin", "commands"] {
        fs::create_dir_all(to.join(folder)).unwrap();
        for entry in fs::read_dir(from.join(folder)).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), to.join(folder).join(entry.file_name())).unwrap();
        }
    }
}

/// A drive that records its arguments.
fn recording_drive(folder: &Path) -> PathBuf {
    fs::create_dir_all(folder).unwrap();
    let log = folder.join("log");
    let program = folder.join("drive");
    let script = format!(
        "#!/bin/sh\n{{ echo \"drive $*\"; cat; }} > '{}'\necho '{{\"status\": \"succeeded\"}}'\n",
        log.display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    log
}

fn words<const N: usize>(args: [&str; N]) -> Vec<String> {
    args.map(str::to_owned).to_vec()
}

#[test]
fn claude_takes_the_manifests() {
    let Some(bench) = Bench::new(Cli::Claude, Script::default()) else {
        return;
    };
    let plugin = bench.home.root().join("plugin");
    copy_of_the_plugin(&plugin);
    for manifest in ["plugin.json", "marketplace.json"] {
        let path = plugin.join(".claude-plugin").join(manifest);
        let path = path.display().to_string();
        let ran = bench.run(&words(["plugin", "validate", "--strict", &path]), b"");
        assert_eq!(ran.code(), 0, "{ran:#?}");
    }
}

#[test]
fn claude_installs_the_plugin_with_all_its_commands() {
    let Some(bench) = Bench::new(Cli::Claude, Script::default()) else {
        return;
    };
    let plugin = bench.home.root().join("plugin");
    copy_of_the_plugin(&plugin);
    let path = plugin.display().to_string();
    let steps = [
        words(["plugin", "marketplace", "add", &path]),
        words(["plugin", "install", PLUGIN]),
        words(["plugin", "details", PLUGIN]),
    ];
    let mut said = String::new();
    for step in steps {
        let ran = bench.run(&step, b"");
        assert_eq!(ran.code(), 0, "{ran:#?}");
        said = ran.stdout;
    }
    let commands = "approve, cruise, cruise-cleanup, cruise-fix, cruise-resume, logs, spawn, spawn-team, status, \
                    stop, verify";
    assert!(said.contains(commands), "{said}");
}

#[test]
fn a_slash_command_reaches_the_model_and_drive_runs_without_being_asked_for() {
    let called = "drive spawn --no-pr --json - <<'TASK'\nsay `hello` & \"goodbye\"\nTASK";
    let script = Script::new([Turn::run(called), Turn::text("it is done")]);
    let home = AgentHome::new().unwrap();
    let Some(bench) = Bench::with_home(Cli::Claude, home, script) else {
        return;
    };
    let plugin = bench.home.root().join("plugin");
    copy_of_the_plugin(&plugin);
    let bin = bench.home.root().join("bin");
    let log = recording_drive(&bin);
    let settings = format!(
        r#"{{"env": {{"PATH": "{}:/usr/bin:/bin"}}}}"#,
        bin.display()
    );
    let args = words([
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
        "--model",
        Cli::Claude.model(),
        "--plugin-dir",
        &plugin.display().to_string(),
        "--settings",
        &settings,
    ]);
    let prompt = format!("/{PLUGIN}:spawn --no-pr say `hello` & \"goodbye\"");
    let ran = bench.run(&args, prompt.as_bytes());
    assert_eq!(ran.code(), 0, "{ran:#?}");
    let turns = bench.server.turns();
    let told = turns[0].body["messages"].to_string();
    assert!(told.contains("drive spawn --json - <<'TASK'"), "{told}");
    assert!(told.contains("--no-pr say `hello` & "), "{told}");
    let result = &turns[1].tool_results[0];
    assert!(!result.is_error, "{result:#?}");
    assert_eq!(
        fs::read_to_string(log).unwrap(),
        "drive spawn --no-pr --json -\nsay `hello` & \"goodbye\"\n"
    );
}
