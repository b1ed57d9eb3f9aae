//! Starts a real CLI without an adapter, in a safe environment, and ends its whole process tree.

use drive_testkit::interop::{AgentClis, AgentHome, Cli};
use drive_testkit::model_server::{ModelServer, Script};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Much longer than any of these runs takes; only a hang reaches it.
pub(crate) const WALL: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(20);

/// A CLI with its home and its model.
pub(crate) struct Bench {
    pub(crate) cli: Cli,
    pub(crate) home: AgentHome,
    pub(crate) server: ModelServer,
    clis: AgentClis,
}

/// The result of a run, with the processes that it left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Command lines of processes that outlived the CLI. They have been killed.
    pub(crate) left: Vec<String>,
}

/// A running CLI.
pub(crate) struct Running<'a> {
    bench: &'a Bench,
    child: Child,
    stdin: Option<ChildStdin>,
    started: Instant,
}

impl Bench {
    /// `None` if the CLIs are not available; a message about that was printed.
    pub(crate) fn new(cli: Cli, script: Script) -> Option<Self> {
        Self::with_home(cli, AgentHome::new().unwrap(), script)
    }

    /// For scripts that contain paths in the home.
    pub(crate) fn with_home(cli: Cli, home: AgentHome, script: Script) -> Option<Self> {
        Some(Self {
            cli,
            home,
            server: ModelServer::start(script).unwrap(),
            clis: AgentClis::installed_or_skip()?,
        })
    }

    /// The arguments with which each CLI works, as the adapters use them.
    pub(crate) fn coder(&self) -> Vec<String> {
        let args: &[&str] = match self.cli {
            Cli::Claude => &[
                "-p",
                "--output-format",
                "stream-json",
                "--verbose",
                "--model",
                self.cli.model(),
                "--permission-mode",
                "acceptEdits",
                "--allowedTools",
                "Bash",
            ],
            Cli::Gemini => &[
                "-m",
                self.cli.model(),
                "--skip-trust",
                "--approval-mode",
                "yolo",
                "-o",
                "stream-json",
            ],
            Cli::Codex => &[
                "exec",
                "--json",
                "-s",
                "workspace-write",
                "--skip-git-repo-check",
                "-",
            ],
        };
        args.iter().map(|arg| (*arg).to_owned()).collect()
    }

    pub(crate) fn run(&self, args: &[String], prompt: &[u8]) -> Ran {
        self.start(args, prompt).finish(WALL)
    }

    pub(crate) fn start(&self, args: &[String], prompt: &[u8]) -> Running<'_> {
        let mut running = self.start_open(args);
        let mut stdin = running.stdin.take().unwrap();
        let prompt = prompt.to_vec();
        // A CLI that stops reading breaks the pipe, which is allowed.
        std::thread::spawn(move || {
            let _ = stdin.write_all(&prompt);
        });
        running
    }

    /// Starts with an open standard input, which is written line by line.
    pub(crate) fn start_open(&self, args: &[String]) -> Running<'_> {
        let program = self.clis.program(self.cli);
        let variables = self
            .home
            .environment(self.cli, &self.clis, &self.server)
            .unwrap();
        let mut child = Command::new(program)
            .args(args)
            .env_clear()
            .envs(variables)
            .current_dir(self.home.work())
            .stdin(Stdio::piped())
            .stdout(File::create(self.output("stdout")).unwrap())
            .stderr(File::create(self.output("stderr")).unwrap())
            .spawn()
            .unwrap();
        Running {
            bench: self,
            stdin: child.stdin.take(),
            child,
            started: Instant::now(),
        }
    }

    fn output(&self, stream: &str) -> std::path::PathBuf {
        self.home.home().join(stream)
    }
}

impl Running<'_> {
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits until the CLI or one of its tools has created this file.
    pub(crate) fn wait_for(&mut self, path: &Path) {
        while !path.exists() {
            assert!(self.started.elapsed() < WALL, "no {}", path.display());
            assert!(
                self.child.try_wait().unwrap().is_none(),
                "ended before {}: {}",
                path.display(),
                std::fs::read_to_string(self.bench.output("stdout")).unwrap_or_default()
            );
            std::thread::sleep(POLL);
        }
    }

    /// Writes one line to its standard input.
    pub(crate) fn say(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{message}").unwrap();
    }

    /// Waits for the next event from position `from` that `wanted` accepts, and returns it with the
    /// position after it.
    pub(crate) fn hear(&self, from: usize, wanted: impl Fn(&Value) -> bool) -> (Value, usize) {
        loop {
            let stdout = std::fs::read_to_string(self.bench.output("stdout")).unwrap();
            // A line that is still being written is not an event yet.
            let events = stdout
                .split_inclusive('\n')
                .filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let found = events
                .enumerate()
                .skip(from)
                .find(|(_, event)| wanted(event));
            if let Some((at, event)) = found {
                return (event, at + 1);
            }
            assert!(self.started.elapsed() < WALL, "unheard: {stdout}");
            std::thread::sleep(POLL);
        }
    }

    /// Closes its standard input.
    pub(crate) fn hang_up(&mut self) {
        self.stdin = None;
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits for its end, at most until `limit` after the start, then kills what remains.
    pub(crate) fn finish(mut self, limit: Duration) -> Ran {
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break Some(status);
            }
            if self.started.elapsed() > limit {
                self.child.kill().unwrap();
                self.child.wait().unwrap();
                break None;
            }
            std::thread::sleep(POLL);
        };
        let left = end_all_of(&self.bench.home.home());
        let read = |stream| {
            let bytes = std::fs::read(self.bench.output(stream)).unwrap();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Ran {
            status,
            stdout: read("stdout"),
            stderr: read("stderr"),
            left,
        }
    }
}

impl Ran {
    /// The exit code; for a signal 128 plus its number, as in a shell.
    pub(crate) fn code(&self) -> i32 {
        let status = self.status.unwrap_or_else(|| panic!("it hung: {self:#?}"));
        status
            .code()
            .or_else(|| status.signal().map(|signal| 128 + signal))
            .unwrap()
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no event: {line}")))
            .collect()
    }

    /// The last event of this type.
    pub(crate) fn event(&self, kind: &str) -> Option<Value> {
        self.events()
            .into_iter()
            .rev()
            .find(|event| event["type"] == kind)
    }
}

/// Kills the processes with this home, and returns their command lines. Only children of the run
/// have this home.
fn end_all_of(home: &Path) -> Vec<String> {
    let marker = format!("HOME={}", home.display());
    let mut left = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let environ = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if !environ
            .split(|byte| *byte == 0)
            .any(|variable| variable == marker.as_bytes())
        {
            continue;
        }
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        left.push(String::from_utf8_lossy(&command).replace('\0', " "));
        if let Some(pid) = Pid::from_raw(pid) {
            // It may have ended by now, which is fine.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    left
}
