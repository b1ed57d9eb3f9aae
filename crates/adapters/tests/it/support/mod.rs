//! A private world for tests with real git: its own home, repository and state.

use drive_adapters::Environment;
use drive_adapters::git::Git;
use drive_adapters::process::BoundedRunner;
use drive_adapters::sandbox::GitSandboxes;
use drive_core::ids::{BranchName, CommitSha, RunId, SandboxId};
use drive_core::sandbox::{Lifetime, SandboxSpec};
use drive_core::time::Timestamp;
use drive_engine::ports::{Clock, ProcessRunner};
use rustix::mount::{MountFlags, UnmountFlags};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;

pub struct World {
    _dir: Option<TempDir>,
    base: PathBuf,
    pub repo: PathBuf,
    pub root: PathBuf,
    pub state: PathBuf,
}

/// Always returns the same time.
pub struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        "2026-11-15T09:42:00Z".parse().unwrap()
    }
}

impl World {
    /// A repository with one commit of two files.
    pub fn new() -> Self {
        let world = Self::empty();
        world.git(["init", "-q", "-b", "main", "."]);
        world.write("a.txt", "a\n");
        world.write("src/b.txt", "b\n");
        world.commit("first");
        world
    }

    /// A folder that is not a repository yet.
    pub fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let world = Self {
            repo: base.join("repo"),
            root: base.join("sandboxes"),
            state: base.join("state"),
            base: base.clone(),
            _dir: Some(dir),
        };
        std::fs::create_dir(base.join("home")).unwrap();
        std::fs::create_dir(&world.repo).unwrap();
        std::fs::write(
            base.join("home/.gitconfig"),
            "[user]\nname = Ann\nemail = ann@example.org\n[protocol \"file\"]\nallow = always\n",
        )
        .unwrap();
        world
    }

    /// The world that another process created.
    pub fn at(base: &Path) -> Self {
        Self {
            repo: base.join("repo"),
            root: base.join("sandboxes"),
            state: base.join("state"),
            base: base.to_path_buf(),
            _dir: None,
        }
    }

    /// The folder that contains everything.
    pub fn path(&self) -> &Path {
        &self.base
    }

    pub fn home(&self) -> PathBuf {
        self.base.join("home")
    }

    pub fn environment(&self) -> Environment {
        Environment::from_pairs([
            ("PATH", std::env::var_os("PATH").unwrap()),
            ("HOME", self.home().into_os_string()),
        ])
    }

    pub fn runner() -> Arc<dyn ProcessRunner> {
        Arc::new(BoundedRunner::with_helper(helper()))
    }

    pub fn builder(&self) -> Git {
        Git::new(Self::runner(), &self.environment())
    }

    pub fn sandboxes(&self) -> GitSandboxes {
        GitSandboxes::open(
            self.builder(),
            Arc::new(FixedClock),
            &self.root,
            &self.state,
        )
        .unwrap()
    }

    pub fn spec(&self, id: &str) -> SandboxSpec {
        SandboxSpec {
            on_existing_branch: false,
            held: false,
            id: SandboxId::new(id),
            run: RunId::new(format!("r-{id}")),
            lifetime: Lifetime::Transient,
            repo: self.repo.clone(),
            base: CommitSha::new("HEAD"),
            branch: Some(BranchName::parse(&format!("drive/{id}")).unwrap()),
            copy: Vec::new(),
            seed: Vec::new(),
        }
    }

    /// Runs plain git in the repository as its owner.
    pub fn git<T: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = T>) -> String {
        self.git_in(&self.repo, args)
    }

    pub fn git_in<T: AsRef<OsStr>>(&self, dir: &Path, args: impl IntoIterator<Item = T>) -> String {
        let output = self.command(dir, args).output().unwrap();
        assert!(
            output.status.success(),
            "git failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }

    pub fn command<T: AsRef<OsStr>>(
        &self,
        dir: &Path,
        args: impl IntoIterator<Item = T>,
    ) -> Command {
        let mut command = Command::new("git");
        command
            .current_dir(dir)
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home())
            .env("LC_ALL", "C");
        command
    }

    pub fn write(&self, path: &str, content: &str) {
        write(&self.repo.join(path), content);
    }

    pub fn commit(&self, message: &str) -> String {
        self.git(["add", "-A"]);
        self.git(["commit", "-q", "-m", message]);
        self.git(["rev-parse", "HEAD"])
    }

    /// All refs below `refs/drive/`.
    pub fn traces(&self) -> Vec<String> {
        let refs = self.git(["for-each-ref", "--format=%(refname)", "refs/drive/"]);
        refs.lines().map(str::to_owned).collect()
    }

    /// Everything that remains in the sandbox root, its trash and the records.
    pub fn remains(&self) -> Vec<PathBuf> {
        let folders = [
            self.root.clone(),
            self.root.join(".trash"),
            self.state.join("sandbox-files/records"),
        ];
        let mut all: Vec<PathBuf> = folders
            .iter()
            .filter_map(|folder| std::fs::read_dir(folder).ok())
            .flatten()
            .map(|entry| entry.unwrap().path())
            .filter(|path| !path.ends_with(".trash") && !path.ends_with("lock"))
            .collect();
        all.sort();
        all
    }
}

/// The path of the helper, for tests that run as a user who has no access to the build folder.
const HELPER: &str = "DRIVE_TEST_HELPER";

pub fn helper() -> std::ffi::OsString {
    std::env::var_os(HELPER).unwrap_or_else(|| env!("CARGO_BIN_EXE_drive-supervise").into())
}

pub fn write(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// Runs one ignored test of this binary in a separate process.
pub fn child_test(name: &str, environment: &[(&str, &OsStr)]) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env(HELPER, helper())
        .envs(environment.iter().copied());
    command
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A small disk for a test; `None` if this user may not mount one.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    pub fn mount(at: &Path, options: &std::ffi::CStr) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let flags = MountFlags::empty();
        match rustix::mount::mount("tmpfs", at, "tmpfs", flags, Some(options)) {
            Ok(()) => Some(Self(at.to_path_buf())),
            Err(error) => {
                eprintln!("skipped: no disk of its own can be mounted here: {error}");
                None
            }
        }
    }

    pub fn make_read_only(&self) {
        let flags = MountFlags::RDONLY;
        rustix::mount::mount_remount(&self.0, flags, c"").unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(&self.0, UnmountFlags::DETACH);
    }
}

/// An id that belongs to no account.
const ORDINARY: u32 = 54_321;

/// If root runs the tests, runs every other test of the module (`module_path!()`) again as an
/// ordinary user, who is bound by permissions. The binary is reached through `/proc/self/exe`,
/// because that user may have no access to the build folder.
pub fn again_as_ordinary_user(module: &str) {
    if !is_root() {
        return;
    }
    let (_, module) = module.split_once("::").unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let helper = folder.path().join("helper");
    std::fs::copy(env!("CARGO_BIN_EXE_drive-supervise"), &helper).unwrap();
    // With one thread: otherwise a child that another test forks inherits this test's `flock` until
    // it executes, and a sweep skips the sandbox as busy.
    let output = Command::new("/proc/self/exe")
        .args([
            "--test-threads=1",
            "--skip",
            "the_same_holds_for_an_ordinary_user",
        ])
        .arg(format!("{module}::"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env(HELPER, &helper)
        .current_dir("/")
        .uid(ORDINARY)
        .gid(ORDINARY)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && !said.contains(" 0 passed"),
        "as an ordinary user:\n{said}"
    );
}
