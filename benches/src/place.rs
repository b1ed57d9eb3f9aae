//! A repository, a home and a state directory to measure the built binary in.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder in which one benchmark works.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    drive: PathBuf,
}

impl Place {
    /// With a repository of one commit and so many files of twenty lines.
    pub(crate) fn new(drive: PathBuf, files: usize) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = Self { folder, drive };
        let repo = place.path("repo");
        for number in 0..files {
            let file = repo.join(format!("src/{}/{number}.txt", number % 10));
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(&file, format!("file {number}\n").repeat(20)).expect("a file");
        }
        place.git(&repo, &["init", "-q", "-b", "main"]);
        place.git(&repo, &["config", "user.name", "bench"]);
        place.git(&repo, &["config", "user.email", "bench@localhost"]);
        place.git(&repo, &["add", "-A"]);
        place.git(&repo, &["commit", "-qm", "first"]);
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a program.
    pub(crate) fn script(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("an executable");
    }

    /// Writes the user's settings.
    pub(crate) fn settings(&self, text: &str) {
        let folder = self.path("home/.config/infinite-improbability-drive");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("config.toml"), text).expect("settings");
    }

    /// A quiet call of a program with nothing of this process's environment.
    pub(crate) fn command(&self, program: &Path, dir: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("DRIVE_STATE_DIR", self.path("state"))
            .current_dir(dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    pub(crate) fn git(&self, dir: &Path, args: &[&str]) {
        succeed(self.command(Path::new("git"), dir).args(args));
    }

    /// A call of drive in the repository.
    pub(crate) fn drive(&self, args: &[&str]) -> Command {
        let mut command = self.command(&self.drive, &self.path("repo"));
        command.args(args);
        command
    }
}

/// Runs a command that must succeed.
pub(crate) fn succeed(command: &mut Command) {
    let status = command.status();
    assert!(status.is_ok_and(|s| s.success()), "{command:?} failed");
}

/// A figure of a process in `/proc/PID/status`, in KiB.
pub(crate) fn kib(process: u32, figure: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(figure));
    line.and_then(|line| {
        line.trim_start_matches(':')
            .split_whitespace()
            .next()?
            .parse()
            .ok()
    })
    .unwrap_or(0)
}
