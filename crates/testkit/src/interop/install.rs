use super::Cli;
use std::fs::{File, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PACKAGE: &str = include_str!("../../interop/package.json");
const LOCK: &str = include_str!("../../interop/package-lock.json");
/// The time limit of an installation, by this test or another one.
const INSTALL_LIMIT: Duration = Duration::from_secs(420);
const POLL: Duration = Duration::from_millis(100);
/// A file that is written last: a folder without it is an incomplete installation.
const COMPLETE: &str = "complete";
/// A file with the reason of a failed installation, so that not every test tries again.
const FAILED: &str = "failed";
/// How long a failure is not retried.
const FAILURE_LASTS: Duration = Duration::from_secs(600);

/// The paths of the pinned CLIs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentClis {
    /// The node that runs gemini.
    pub node: PathBuf,
    /// The native program of claude.
    pub claude: PathBuf,
    /// The gemini script, which starts itself with the `node` of the search path.
    pub gemini: PathBuf,
    /// The native program of codex.
    pub codex: PathBuf,
}

impl AgentClis {
    /// The pinned CLIs. The first caller installs them into the workspace's target folder. If they
    /// are not available, prints one line and returns `None`, and the test is skipped.
    pub fn installed_or_skip() -> Option<Self> {
        match Self::install() {
            Ok(clis) => Some(clis),
            Err(why) => {
                #[expect(clippy::disallowed_macros, reason = "a skipped test must be seen")]
                {
                    eprintln!("skipped: the agent CLIs are not available: {why}");
                }
                None
            }
        }
    }

    /// The program to start.
    pub fn program(&self, cli: Cli) -> &Path {
        match cli {
            Cli::Claude => &self.claude,
            Cli::Gemini => &self.gemini,
            Cli::Codex => &self.codex,
        }
    }

    /// The search path of the CLIs: node's folder and the system's.
    pub fn search_path(&self) -> String {
        let node = self.node.parent().unwrap_or(Path::new("/usr/bin"));
        format!("{}:/usr/local/bin:/usr/bin:/bin", node.display())
    }

    fn install() -> Result<Self, String> {
        let node = find_program("node")?;
        require_node(&node)?;
        let folder = cache_folder()?;
        let started = Instant::now();
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("`{}`: {error}", folder.display()))?;
        // The lock ends with its file handle, even if the test is killed.
        let _lock = wait_for_lock(&folder.join("lock"), started)?;
        if !folder.join(COMPLETE).exists() {
            let npm = find_program("npm")?;
            recent_failure(&folder.join(FAILED))?;
            if let Err(why) = npm_ci(&npm, &folder, started) {
                write(&folder.join(FAILED), &why)?;
                return Err(why);
            }
        }
        let modules = folder.join("node_modules");
        Ok(Self {
            node,
            claude: require_file(modules.join(claude_binary()?))?,
            gemini: require_file(modules.join("@google/gemini-cli/bundle/gemini.js"))?,
            codex: require_file(modules.join(codex_binary()?))?,
        })
    }
}

fn claude_binary() -> Result<&'static str, String> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Ok("@anthropic-ai/claude-code-linux-x64/claude"),
        ("linux", "aarch64") => Ok("@anthropic-ai/claude-code-linux-arm64/claude"),
        (os, arch) => Err(format!("no pinned claude for {os} on {arch}")),
    }
}

fn codex_binary() -> Result<&'static str, String> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => {
            Ok("@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex")
        }
        ("linux", "aarch64") => {
            Ok("@openai/codex-linux-arm64/vendor/aarch64-unknown-linux-musl/bin/codex")
        }
        (os, arch) => Err(format!("no pinned codex for {os} on {arch}")),
    }
}

fn npm_ci(npm: &Path, folder: &Path, started: Instant) -> Result<(), String> {
    write(&folder.join("package.json"), PACKAGE)?;
    write(&folder.join("package-lock.json"), LOCK)?;
    let log_path = folder.join("npm.log");
    let log = File::create(&log_path).map_err(|error| error.to_string())?;
    // npm is the developer's own tool: it needs their registry and proxy settings. What it installs
    // runs no scripts here, and is later started with nothing of that environment.
    #[expect(
        clippy::disallowed_methods,
        reason = "the bounded runner is above this crate; this child has its own deadline"
    )]
    let mut command = Command::new(npm);
    command
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    let mut child = command.spawn().map_err(|error| format!("npm: {error}"))?;
    let status = loop {
        match child.try_wait().map_err(|error| format!("npm: {error}"))? {
            Some(status) => break status,
            None if started.elapsed() > INSTALL_LIMIT => {
                // The child is not reaped yet, so its pid cannot belong to another process.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("`npm ci` took longer than {INSTALL_LIMIT:?}"));
            }
            None => std::thread::sleep(POLL),
        }
    };
    if !status.success() {
        return Err(format!(
            "`npm ci` failed with {status}, see `{}`",
            log_path.display()
        ));
    }
    write(&folder.join(COMPLETE), "")
}

fn recent_failure(path: &Path) -> Result<(), String> {
    let age = std::fs::metadata(path)
        .and_then(|metadata| metadata.modified())
        .map(|modified| modified.elapsed().unwrap_or_default());
    match age {
        Ok(age) if age < FAILURE_LASTS => Err(std::fs::read_to_string(path).unwrap_or_default()),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn wait_for_lock(path: &Path, started: Instant) -> Result<File, String> {
    let file = File::create(path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if started.elapsed() < INSTALL_LIMIT => {
                std::thread::sleep(POLL);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(format!("another install holds `{}`", path.display()));
            }
            Err(TryLockError::Error(error)) => return Err(format!("cannot lock: {error}")),
        }
    }
}

/// A folder for this content of the lock file, below the target folder of this build.
fn cache_folder() -> Result<PathBuf, String> {
    let mut hasher = DefaultHasher::new();
    LOCK.hash(&mut hasher);
    PACKAGE.hash(&mut hasher);
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    // Cargo marks the root of its target folder, wherever that is.
    let target = program
        .ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").exists())
        .ok_or_else(|| format!("no target folder above `{}`", program.display()))?;
    Ok(target.join(format!("interop/{:016x}", hasher.finish())))
}

fn find_program(name: &str) -> Result<PathBuf, String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "where node is installed is known to the caller's search path only"
    )]
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.is_file())
        .ok_or_else(|| format!("`{name}` is not installed"))
}

/// The oldest version of node on which the pinned CLIs run.
const OLDEST_NODE: u32 = 20;

fn require_node(node: &Path) -> Result<(), String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the bounded runner is above this crate; node says its version and ends"
    )]
    let said = Command::new(node)
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    let said = said.map_err(|error| format!("node: {error}"))?;
    let text = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    let major = text
        .trim_start_matches('v')
        .split('.')
        .next()
        .and_then(|n| n.parse::<u32>().ok());
    match major {
        Some(major) if major >= OLDEST_NODE => Ok(()),
        Some(_) | None => Err(format!(
            "node {OLDEST_NODE} or newer is needed, this is `{text}`"
        )),
    }
}

fn require_file(path: PathBuf) -> Result<PathBuf, String> {
    if path.is_file() {
        Ok(path)
    } else {
        Err(format!("the install left no `{}`", path.display()))
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "written under the install's lock"
    )]
    let written: io::Result<()> = std::fs::write(path, text);
    written.map_err(|error| format!("`{}`: {error}", path.display()))
}
