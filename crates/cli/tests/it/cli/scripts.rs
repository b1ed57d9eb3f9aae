//! Tests that scripts skip what a machine cannot do, and print a line about it.

use crate::cli::support::{Ended, ended};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A machine that has only these programs.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn with(programs: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for program in programs {
            let found = ["/usr/bin", "/bin"]
                .map(|folder| Path::new(folder).join(program))
                .into_iter()
                .find(|path| path.exists());
            symlink(found.unwrap(), folder.path().join(program)).unwrap();
        }
        Self { folder }
    }

    /// Replaces a program by a script.
    fn stand_in(&self, name: &str, script: &str) {
        let path = self.folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn target(&self) -> PathBuf {
        self.folder.path().join("target")
    }

    fn run(&self, script: &str) -> Ended {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut command = Command::new("/bin/bash");
        ended(
            command
                .arg(root.join(script))
                .env_clear()
                .env("PATH", self.folder.path())
                .env("CARGO_TARGET_DIR", self.target()),
        )
    }
}

const TOOLS: [&str; 7] = ["bash", "sed", "dirname", "cat", "rm", "timeout", "mkdir"];

fn skipped(ended: &Ended) -> Vec<&str> {
    let lines = ended.stdout.lines();
    lines.filter(|line| line.starts_with("skipped: ")).collect()
}

#[test]
fn a_machine_without_npm_is_told_which_tests_it_will_not_see() {
    let machine = Machine::with(&TOOLS);
    for tool in ["cc", "chromedriver", "ctest", "gh", "python3", "setpriv"] {
        machine.stand_in(tool, "");
    }
    machine.stand_in("id", "echo 0");
    let ended = machine.run("scripts/setup");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(
        skipped(&ended),
        [
            "skipped: no apt-get here: install nodejs npm by hand",
            "skipped: no npm: tests with the real agent CLIs",
            "skipped: no node 20 or newer: tests with the real agent CLIs",
        ]
    );
}

#[test]
fn an_npm_that_cannot_install_is_told_after_the_tests_however_they_end() {
    let machine = Machine::with(&TOOLS);
    for tool in [
        "cc",
        "chromedriver",
        "ctest",
        "gh",
        "python3",
        "setpriv",
        "npm",
    ] {
        machine.stand_in(tool, "");
    }
    machine.stand_in("id", "echo 0");
    machine.stand_in("node", "echo v20.0.0");
    let interop = machine.target().join("interop/0123");
    fs::create_dir_all(&interop).unwrap();
    fs::write(interop.join("failed"), "yesterday's reason").unwrap();
    for code in [0, 100] {
        // Simulates tests that find no registry.
        let script = r#"[ "$2" = --version ] && exit 0
why="$CARGO_TARGET_DIR/interop/0123/failed"
[ -e "$why" ] && exit 7
printf 'no registry' > "$why""#;
        machine.stand_in("cargo", &format!("{script}\nexit {code}"));
        let ended = machine.run("scripts/test");
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert_eq!(
            skipped(&ended),
            ["skipped: tests with the real agent CLIs: no registry"]
        );
    }
}
