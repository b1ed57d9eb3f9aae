//! A separate world for each test: a home, a state directory, a repository, agents; and a check
//! that no process survives.

use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// The maximum wait of a test; reaching it is a failure.
const HANG: Duration = Duration::from_secs(120);

/// A home, a repository with two files on `main`, and an agent named `script`.
pub(crate) struct World {
    folder: TempDir,
}

/// The result of one call.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl World {
    /// A world whose agent is this shell script, after it has read its prompt.
    pub(crate) fn with_agent(script: &str) -> Self {
        let world = Self::empty();
        world.shell("mkdir repo && cd repo && git init -q -b main && mkdir src && echo one > a.txt && echo two > src/b.txt && git add -A && git commit -qm first");
        world.program("script", &format!("cat > /dev/null\n{script}"));
        world.settings("");
        world
    }

    /// A world without a repository and without settings.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("drive-spawn-")
            .tempdir()
            .unwrap();
        let world = Self { folder };
        fs::create_dir(world.path("home")).unwrap();
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes an executable shell script into the world's folder of programs.
    pub(crate) fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.path("bin").join(name);
        fs::create_dir_all(self.path("bin")).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Writes the user's settings: the agent `script`, the local forge, and these additional ones.
    pub(crate) fn settings(&self, more: &str) {
        self.all_settings(&format!(
            "[spawn]\nagent = \"script\"\n[forge]\nkind = \"local\"\n[agents.script]\nkind = \"command\"\ncommand = [{:?}]\n{more}\n",
            self.path("bin/script")
        ));
    }

    /// Writes the user's complete settings.
    pub(crate) fn all_settings(&self, text: &str) {
        let folder = self.path("home/.config/infinite-improbability-drive");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.toml"), text).unwrap();
    }

    /// A command with an empty environment.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", self.path("home"))
            .env("DRIVE_STATE_DIR", self.path("state"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// A command that runs `drive` in the repository.
    pub(crate) fn drive_command(&self, args: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_drive"));
        command.args(args).current_dir(self.path("repo"));
        command
    }

    /// Runs `drive` in the repository.
    pub(crate) fn drive(&self, args: &[&str]) -> Ended {
        Ended::from(self.drive_command(args).output().unwrap())
    }

    /// Starts `drive` with both streams captured.
    pub(crate) fn start(&self, args: &[&str]) -> Child {
        // If the tests run under `nohup`, they ignore a signal, and their children would inherit that.
        self.command("env")
            .args(["--default-signal=HUP", env!("CARGO_BIN_EXE_drive")])
            .args(args)
            .current_dir(self.path("repo"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Runs `drive spawn --json` and returns its document, checked against the published schema.
    pub(crate) fn spawn(&self, args: &[&str]) -> (Option<i32>, Value) {
        let ended = self.drive(&[&["spawn", "--json"], args].concat());
        (ended.code, ended.run())
    }

    /// Runs a shell script in the world's folder, which must succeed; returns its output.
    pub(crate) fn shell(&self, script: &str) -> String {
        let output = self
            .command("sh")
            .args(["-ec", script])
            .env("GIT_AUTHOR_NAME", "a")
            .env("GIT_AUTHOR_EMAIL", "a@example.org")
            .env("GIT_COMMITTER_NAME", "a")
            .env("GIT_COMMITTER_EMAIL", "a@example.org")
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}\n{stderr}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Runs git in the repository; returns its output.
    pub(crate) fn git(&self, args: &str) -> String {
        self.shell(&format!("git -C repo {args}"))
    }

    /// The branches that drive created.
    pub(crate) fn branches(&self) -> Vec<String> {
        let text = self.git("for-each-ref --format='%(refname:short)' refs/heads/drive");
        text.lines().map(str::to_owned).collect()
    }

    /// The files of a branch or another ref, one name per line.
    pub(crate) fn files(&self, revision: &str) -> String {
        self.git(&format!("ls-tree -r --name-only {revision}"))
            .replace('\n', " ")
    }

    /// Asserts that no process, pin or sandbox remains: only work may remain.
    pub(crate) fn assert_nothing_is_left(&self) {
        assert_eq!(self.survivors(), Vec::<String>::new());
        assert_eq!(self.sandboxes(), Vec::<PathBuf>::new());
        assert_eq!(self.git("for-each-ref refs/drive/pin refs/drive/head"), "");
        assert_eq!(self.git("status --porcelain"), "");
        assert_eq!(self.git("symbolic-ref HEAD"), "refs/heads/main");
    }

    /// The folders of existing sandboxes.
    pub(crate) fn sandboxes(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("state/sandboxes"));
        entries
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.file_name().is_some_and(|name| name != ".trash"))
            .collect()
    }

    /// Waits for the first sandbox that contains this file.
    pub(crate) fn wait_for_file(&self, name: &str) -> PathBuf {
        let find = || {
            let sandboxes = self.sandboxes().into_iter();
            sandboxes
                .map(|folder| folder.join(name))
                .find(|path| path.exists())
        };
        wait_for(name, || find().is_some());
        find().unwrap()
    }

    /// Processes with this world in their environment, or that work in it. A process that was just
    /// killed may need a moment to end.
    pub(crate) fn survivors(&self) -> Vec<String> {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let found = self.carriers();
            if found.is_empty() || Instant::now() > deadline {
                return found;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn carriers(&self) -> Vec<String> {
        let mark = self.folder.path().to_str().unwrap().to_owned();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let dir = entry.path();
            let environment = fs::read(dir.join("environ")).unwrap_or_default();
            let cwd = fs::read_link(dir.join("cwd")).unwrap_or_default();
            let mut windows = environment.windows(mark.len());
            if windows.any(|w| w == mark.as_bytes()) || cwd.starts_with(self.folder.path()) {
                let line = fs::read(dir.join("cmdline")).unwrap_or_default();
                let line = String::from_utf8_lossy(&line).replace('\0', " ");
                found.push(format!("{} {line}", dir.display()));
            }
        }
        found
    }
}

impl Ended {
    /// The one document on standard output, checked against its published schema.
    pub(crate) fn document(&self) -> Value {
        eprintln!("{}", self.stderr);
        crate::document::read(&self.stdout)
    }

    /// The document of a run.
    pub(crate) fn run(&self) -> Value {
        let document = self.document();
        assert_eq!(document["schema"], "drive.run/1", "{document:#}");
        document
    }

    /// The exit code and the kind of the failure, in any document.
    pub(crate) fn failure(&self) -> (Option<i32>, String) {
        (self.code, text(&self.document()["failure"]["kind"]))
    }
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

/// A string of a document; empty if it is missing.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Waits until a condition is true.
pub(crate) fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + HANG;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} never came");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Every file below a folder, with its content.
pub(crate) fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                found.push((path.clone(), fs::read(&path).unwrap_or_default()));
            }
        }
    }
    found
}
