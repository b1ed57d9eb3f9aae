//! A world of its own for each test: a home, a state directory, a repository, agents; and proof
//! that nobody survived.

use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// No wait of a test is longer; reaching it is a failure.
const HANG: Duration = Duration::from_secs(120);

/// A home, a repository with two files on `main`, and an agent called `script`.
pub(crate) struct World {
    folder: TempDir,
}

/// What one call did.
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

    /// Writes the user's settings: the agent `script`, the local forge, and these besides.
    pub(crate) fn settings(&self, more: &str) {
        self.all_settings(&format!(
            "[spawn]\nagent = \"script\"\n[forge]\nkind = \"local\"\n[agents.script]\nkind = \"command\"\ncommand = [{:?}]\n{more}\n",
            self.path("bin/script")
        ));
    }

    /// Writes the user's settings in full.
    pub(crate) fn all_settings(&self, text: &str) {
        let folder = self.path("home/.config/infinite-improbability-drive");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.toml"), text).unwrap();
    }

    /// A command with nothing of the real environment.
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

    /// `drive` in the repository, not yet started.
    pub(crate) fn drive_command(&self, args: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_drive"));
        command.args(args).current_dir(self.path("repo"));
        command
    }

    /// Runs `drive` in the repository.
    pub(crate) fn drive(&self, args: &[&str]) -> Ended {
        Ended::from(self.drive_command(args).output().unwrap())
    }

    /// Starts `drive` with both streams caught.
    pub(crate) fn start(&self, args: &[&str]) -> Child {
        // Who starts the tests under `nohup` has them ignore a signal, and that would be handed down.
        self.command("env")
            .args(["--default-signal=HUP", env!("CARGO_BIN_EXE_drive")])
            .args(args)
            .current_dir(self.path("repo"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Runs `drive spawn --json` and takes its document, which the published schema accepts.
    pub(crate) fn spawn(&self, args: &[&str]) -> (Option<i32>, Value) {
        let ended = self.drive(&[&["spawn", "--json"], args].concat());
        (ended.code, ended.run())
    }

    /// A shell script at the world's folder that must succeed; what it printed.
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

    /// Git in the repository; what it printed.
    pub(crate) fn git(&self, args: &str) -> String {
        self.shell(&format!("git -C repo {args}"))
    }

    /// The branches drive made.
    pub(crate) fn branches(&self) -> Vec<String> {
        let text = self.git("for-each-ref --format='%(refname:short)' refs/heads/drive");
        text.lines().map(str::to_owned).collect()
    }

    /// The files of a branch or another ref, one name after the other.
    pub(crate) fn files(&self, revision: &str) -> String {
        self.git(&format!("ls-tree -r --name-only {revision}"))
            .replace('\n', " ")
    }

    /// No process, no pin, no sandbox: whatever happened, only work stays.
    pub(crate) fn assert_nothing_is_left(&self) {
        assert_eq!(self.survivors(), Vec::<String>::new());
        assert_eq!(self.sandboxes(), Vec::<PathBuf>::new());
        assert_eq!(self.git("for-each-ref refs/drive/pin refs/drive/head"), "");
        assert_eq!(self.git("status --porcelain"), "");
        assert_eq!(self.git("symbolic-ref HEAD"), "refs/heads/main");
    }

    /// The folders of sandboxes that are there.
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

    /// The first sandbox that holds this file, waited for.
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

    /// Processes that carry this world in their environment or work in it. What was just killed
    /// may take a moment to be gone.
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
    /// The one document on standard output, which its published schema accepts.
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

    /// Exit code and kind of the failure, of whatever document there is.
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

/// A string of a document; empty where there is none.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Waits until something is so.
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
