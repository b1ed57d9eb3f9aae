//! A separate world for each test: a private home, an empty environment, a repository.

use serde_json::Value;
use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{fs, io};
use tempfile::TempDir;

/// A home and a repository.
pub(crate) struct World {
    folder: TempDir,
}

/// The result of one call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let world = Self { folder };
        fs::create_dir(world.home()).unwrap();
        fs::create_dir_all(world.repo().join("src")).unwrap();
        let status = world
            .bare("git", &world.repo())
            .args(["init", "--quiet"])
            .status()
            .unwrap();
        assert!(status.success());
        world
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    /// A path beside the home and the repository.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes `drive.toml` at the repository's root.
    pub(crate) fn settings(&self, text: impl AsRef<[u8]>) {
        fs::write(self.repo().join("drive.toml"), text).unwrap();
    }

    /// Writes the user's own settings.
    pub(crate) fn user_settings(&self, text: &str) {
        let folder = self.home().join(".config/infinite-improbability-drive");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.toml"), text).unwrap();
    }

    /// A command that runs `drive` in the repository.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.bare(env!("CARGO_BIN_EXE_drive"), &self.repo());
        command.args(args);
        command
    }

    /// Runs `drive` in the repository.
    pub(crate) fn drive(&self, args: &[&str]) -> Ended {
        ended(&mut self.command(args))
    }

    /// Runs `drive --json` and returns its one document.
    pub(crate) fn json(&self, args: &[&str]) -> (Option<i32>, Value) {
        let ended = self.drive(&[args, &["--json"]].concat());
        (ended.code, ended.document())
    }

    /// Runs git in the repository and returns its output.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let ended = ended(self.bare("git", &self.repo()).args(args));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.stdout.trim_end().to_owned()
    }

    fn bare(&self, program: impl AsRef<OsStr>, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .current_dir(folder)
            .stdin(Stdio::null());
        command
    }
}

/// Runs a command to its end.
pub(crate) fn ended(command: &mut Command) -> Ended {
    Ended::from(command.output().unwrap())
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ended {
    /// The one document on standard output, checked against its published schema.
    pub(crate) fn document(&self) -> Value {
        crate::document::read(&self.stdout)
    }
}

/// Runs a command as a user who is bound by file permissions: if the user is root, the command runs
/// as nobody. `None`, with a message, if nobody cannot access the program.
pub(crate) fn ended_as_ordinary_user(world: &World, command: &mut Command) -> Option<Ended> {
    const NOBODY: u32 = 65534;
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        fs::set_permissions(world.path(""), fs::Permissions::from_mode(0o755)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
    }
    match command.output() {
        Ok(output) => Some(Ended::from(output)),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            eprintln!("skipped: an ordinary user cannot reach the program under test");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
