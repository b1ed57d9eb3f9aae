//! A separate repository, state directory and home; the real binary; and a check that no process survives.

use serde_json::Value;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// An id that belongs to no account.
const ORDINARY: u32 = 54_321;
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Runs a scenario as the current user, and if that is root, as an ordinary user as well.
macro_rules! everyone {
    ($(fn $name:ident($scene:ident) $body:block)*) => { $(
        #[test]
        fn $name() {
            for $scene in crate::verify::support::Scene::everyone() $body
        }
    )* };
}

/// One user's world.
pub(crate) struct Scene {
    folder: tempfile::TempDir,
    user: Option<u32>,
    drive: File,
}

/// The answer of `drive verify --json`.
pub(crate) struct Answer {
    pub(crate) code: Option<i32>,
    pub(crate) report: Value,
    pub(crate) stderr: String,
}

impl Answer {
    /// The overall verdict, and the first stage's status, end and category.
    pub(crate) fn verdict(&self) -> (&str, &str, &str, &str) {
        let text = |pointer: &str| {
            self.report
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or("-")
        };
        (
            text("/overall"),
            text("/stages/0/status"),
            text("/stages/0/ended"),
            text("/failure/category"),
        )
    }

    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.report
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or("-")
    }
}

impl Scene {
    pub(crate) fn everyone() -> Vec<Self> {
        let mut all = vec![Self::new(None)];
        if rustix::process::geteuid().is_root() {
            all.push(Self::new(Some(ORDINARY)));
        }
        all
    }

    pub(crate) fn me() -> Self {
        Self::new(None)
    }

    fn new(user: Option<u32>) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("drive-verify-")
            .tempdir()
            .unwrap();
        let drive = File::open(env!("CARGO_BIN_EXE_drive")).unwrap();
        rustix::io::fcntl_setfd(&drive, rustix::io::FdFlags::empty()).unwrap();
        let scene = Self {
            folder,
            user,
            drive,
        };
        chown(scene.path(""), user, user).unwrap();
        scene.shell("mkdir repo home outside && cd repo && git init -q -b main && mkdir src tests && echo one > src/a && echo good > tests/t && git add -A && git commit -qm one");
        scene
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn text_of(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// A command as this scene's user, with an empty environment.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", self.path("home"))
            .env("DRIVE_STATE_DIR", self.path("state"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "a")
            .env("GIT_AUTHOR_EMAIL", "a@example.org")
            .env("GIT_COMMITTER_NAME", "a")
            .env("GIT_COMMITTER_EMAIL", "a@example.org")
            .current_dir(self.folder.path());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    /// Runs a shell script in the scene's folder, which must succeed.
    pub(crate) fn shell(&self, script: &str) -> String {
        let output = self.command("sh").args(["-ec", script]).output().unwrap();
        assert!(
            output.status.success(),
            "{script}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Commits these complete settings on `main` before the candidate.
    pub(crate) fn settings(&self, settings: &str) {
        std::fs::write(self.path("repo/drive.toml"), settings).unwrap();
        chown(self.path("repo/drive.toml"), self.user, self.user).unwrap();
        self.shell("cd repo && git add -A && git commit -qm settings && git tag -f base");
    }

    /// One route for everything whose compile stage is a shell script, with tight limits.
    pub(crate) fn compile(&self, script: &str) {
        self.compile_with("", script);
    }

    /// The same with more settings in `[verify]`.
    pub(crate) fn compile_with(&self, verify: &str, script: &str) {
        let script = toml::Value::from(script.to_owned());
        self.settings(&format!(
            "[verify]\nbaseline = \"off\"\n{verify}\n[verify.limits]\nmemory = \"256MiB\"\nprocesses = 64\noutput_total = \"4MiB\"\n[[verify.routes]]\nname = \"all\"\npaths = [\"**\"]\ncompile = [\"sh\", \"-c\", {script}]\ntimeout = {{ compile = \"20s\" }}\nskip = \"not tested here\"\n"
        ));
        self.change();
    }

    /// Creates a candidate with one changed file.
    pub(crate) fn change(&self) {
        self.shell("cd repo && echo two >> src/a && git add -A && git commit -qm two");
    }

    pub(crate) fn drive(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(format!("/proc/self/fd/{}", self.drive.as_raw_fd()));
        command
            .args(arguments)
            .current_dir(self.path("repo"))
            .stdin(Stdio::null());
        command
    }

    /// Verifies the changes since `base`, and checks what is true for every answer.
    pub(crate) fn verify(&self) -> Answer {
        self.verify_args(&["verify", "--base", "base", "--json"])
    }

    pub(crate) fn verify_args(&self, arguments: &[&str]) -> Answer {
        let output = self.drive(arguments).output().unwrap();
        let answer = self.answer(&output);
        self.assert_nothing_is_left();
        answer
    }

    /// Parses an answer: one JSON document that satisfies the published schema, and its exit code.
    pub(crate) fn answer(&self, output: &Output) -> Answer {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let stdout = std::str::from_utf8(&output.stdout).expect("an answer is text");
        eprintln!("{stderr}");
        let report = crate::document::read(stdout);
        assert_eq!(report["schema"], "drive.verification/1", "{report:#}");
        let passed = report["overall"] == "pass";
        assert_eq!(
            output.status.code() == Some(0),
            passed,
            "exit code 0 is a pass: {report:#}"
        );
        assert!(
            !stdout.contains('\u{1b}') && !stdout.contains("\\u001b"),
            "{stdout}"
        );
        Answer {
            code: output.status.code(),
            report,
            stderr,
        }
    }

    /// Asserts that no process, ref or file of a verification remains.
    pub(crate) fn assert_nothing_is_left(&self) {
        assert_eq!(self.survivors(), Vec::<String>::new());
        assert_eq!(self.shell("cd repo && git for-each-ref refs/drive"), "");
        let left = |dir: &str| -> Vec<String> {
            let entries = std::fs::read_dir(self.path(dir))
                .into_iter()
                .flatten()
                .flatten();
            let names = entries.map(|e| e.file_name().to_string_lossy().into_owned());
            names
                .filter(|name| !name.ends_with(".slot") && name != "lock")
                .collect()
        };
        assert_eq!(left("state/verify"), Vec::<String>::new());
        let sandboxes: Vec<String> = left("state/sandboxes")
            .into_iter()
            .filter(|name| name != ".trash")
            .collect();
        assert_eq!(sandboxes, Vec::<String>::new());
        assert_eq!(left("state/sandboxes/.trash"), Vec::<String>::new());
    }

    /// Processes with this scene's folder in their environment, or that work in it. A process that
    /// was just killed may need a moment to end.
    pub(crate) fn survivors(&self) -> Vec<String> {
        let deadline = Instant::now() + Duration::from_secs(10);
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
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let dir = entry.path();
            let environment = std::fs::read(dir.join("environ")).unwrap_or_default();
            let cwd = std::fs::read_link(dir.join("cwd")).unwrap_or_default();
            let carries = environment
                .windows(mark.len())
                .any(|w| w == mark.as_bytes());
            if carries || cwd.starts_with(self.folder.path()) {
                let line = std::fs::read(dir.join("cmdline")).unwrap_or_default();
                let line = String::from_utf8_lossy(&line).replace('\0', " ");
                found.push(format!("{} {line}", dir.display()));
            }
        }
        found
    }

    /// Waits until a condition is true.
    pub(crate) fn wait_for(&self, what: &str, is_there: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_there() {
            assert!(Instant::now() < deadline, "{what} never came");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Every file and link below a folder with its permissions and content, and the times of those
    /// that are not git objects.
    pub(crate) fn fingerprint(&self, dir: &Path) -> String {
        self.shell(&format!(
            "cd '{}' && find . ! -type d -printf '%p %y %m %s %l\\n' | sort && find . ! -type d ! -path '*/objects/*' -printf '%p %T@\\n' | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum",
            dir.display()
        ))
    }
}
