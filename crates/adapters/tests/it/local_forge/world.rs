//! A private repository with a forge, and a clock that tests set.

use drive_adapters::Environment;
use drive_adapters::forge::local::{CommentTarget, LocalForge, PersonalComment};
use drive_adapters::git::Git;
use drive_adapters::process::BoundedRunner;
use drive_adapters::store::Database;
use drive_core::forge::{CommentRef, PullRequest};
use drive_core::ids::{BranchName, PrNumber};
use drive_core::time::{Timestamp, after};
use drive_engine::ports::{Clock, Forge, NewPullRequest};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

pub struct World {
    dir: TempDir,
    pub repo: PathBuf,
    pub clock: Arc<Hands>,
    pub forge: LocalForge,
}

/// A clock that tests set.
pub struct Hands(Mutex<Timestamp>);

impl Hands {
    pub fn set(&self, now: Timestamp) {
        *self.0.lock().unwrap() = now;
    }

    pub fn pass(&self, wait: Duration) {
        let now = self.now();
        self.set(after(now, wait));
    }
}

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

impl World {
    /// A bare repository with one commit on `main`.
    pub fn bare() -> Self {
        Self::make(&["init", "-q", "--bare", "-b", "main", "."])
    }

    /// A repository with `main` checked out.
    pub fn checked_out() -> Self {
        let world = Self::make(&["init", "-q", "-b", "main", "."]);
        world.git(["reset", "-q", "--hard", "main"]);
        world
    }

    fn make(init: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let repo = base.join("repo");
        std::fs::create_dir(base.join("home")).unwrap();
        std::fs::create_dir(&repo).unwrap();
        std::fs::write(
            base.join("home/.gitconfig"),
            "[user]\nname = Ann\nemail = ann@example.org\n",
        )
        .unwrap();
        run(&base, &repo, init, b"", &[]);
        commit(&base, &repo, "main", "README.md", "read me\n");
        let git_dir = run(&base, &repo, &["rev-parse", "--absolute-git-dir"], b"", &[]);
        let clock = Arc::new(Hands(Mutex::new("2026-11-15T09:42:00Z".parse().unwrap())));
        let forge = open_forge(&base, Path::new(&git_dir), clock.clone());
        Self {
            dir,
            repo,
            clock,
            forge,
        }
    }

    fn base(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    /// The same forge, with a git that runs this shell script first.
    pub fn with_git(&self, script: &str) -> LocalForge {
        use std::os::unix::fs::PermissionsExt;
        let bin = self.base().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        let path = std::env::var("PATH").unwrap();
        let real = format!("#!/bin/sh\n{script}\nPATH={path:?} exec git \"$@\"\n");
        std::fs::write(bin.join("git"), real).unwrap();
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(bin.join("git"), mode).unwrap();
        let git_dir = self.git(["rev-parse", "--absolute-git-dir"]);
        let path = format!("{}:{path}", bin.display());
        open_forge_by(
            &self.base(),
            Path::new(&git_dir),
            self.clock.clone(),
            path.as_ref(),
        )
    }

    /// The same forge, like in another process.
    pub fn another(&self) -> LocalForge {
        let git_dir = self.git(["rev-parse", "--absolute-git-dir"]);
        open_forge(&self.base(), Path::new(&git_dir), self.clock.clone())
    }

    /// Runs plain git as the owner of the repository.
    pub fn git<T: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = T>) -> String {
        let args: Vec<T> = args.into_iter().collect();
        run(&self.base(), &self.repo, &args, b"", &[])
    }

    /// Commits a file on a branch, which is created from `main` if it is new, without changing a checkout.
    pub fn push(&self, branch: &str, path: &str, content: &str) -> String {
        commit(&self.base(), &self.repo, branch, path, content)
    }

    /// Opens a pull request for a branch that adds `src/lib.rs` with five lines.
    pub fn open(&self, branch: &str) -> PullRequest {
        self.push(branch, "src/lib.rs", "one\ntwo\nthree\nfour\nfive\n");
        self.open_as_is(branch)
    }

    pub fn open_as_is(&self, branch: &str) -> PullRequest {
        let new = NewPullRequest {
            title: format!("Work on {branch}"),
            body: String::new(),
            branch: BranchName::parse(branch).unwrap(),
            base: BranchName::parse("main").unwrap(),
            draft: false,
        };
        self.forge.open(&new).unwrap()
    }

    pub fn say(&self, pr: PrNumber, body: &str, target: CommentTarget<'_>) -> CommentRef {
        let author = Some("wim");
        let said = PersonalComment {
            author,
            body,
            target,
        };
        self.forge.comment(pr, &said).unwrap()
    }

    /// The database itself, to create states that only a crash can cause.
    pub fn database(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.base().join("drive.sqlite3")).unwrap()
    }

    pub fn write(&self, path: &str, content: &str) {
        std::fs::write(self.repo.join(path), content).unwrap();
    }

    pub fn file(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.repo.join(path)).ok()
    }
}

fn open_forge(base: &Path, git_dir: &Path, clock: Arc<Hands>) -> LocalForge {
    open_forge_by(base, git_dir, clock, &std::env::var_os("PATH").unwrap())
}

fn open_forge_by(base: &Path, git_dir: &Path, clock: Arc<Hands>, path: &OsStr) -> LocalForge {
    let environment = Environment::from_pairs([
        ("PATH", path.to_owned()),
        ("HOME", base.join("home").into_os_string()),
    ]);
    let git = Git::new(Arc::new(BoundedRunner::new()), &environment);
    let database = Database::open(&base.join("drive.sqlite3")).unwrap();
    LocalForge::open(Arc::new(database), git, clock, git_dir).unwrap()
}

fn commit(base: &Path, repo: &Path, branch: &str, path: &str, content: &str) -> String {
    let index = base.join("index");
    let _ = std::fs::remove_file(&index);
    let with_index = [("GIT_INDEX_FILE", index.as_os_str())];
    let git = |args: &[&str], input: &[u8]| run(base, repo, args, input, &with_index);
    let tip = |name: &str| {
        let name = format!("refs/heads/{name}");
        git(&["for-each-ref", "--format=%(objectname)", &name], b"")
    };
    let parent = [tip(branch), tip("main")]
        .into_iter()
        .find(|sha| !sha.is_empty());
    if let Some(parent) = &parent {
        git(&["read-tree", parent], b"");
    }
    let blob = git(&["hash-object", "-w", "--stdin"], content.as_bytes());
    let entry = format!("100644,{blob},{path}");
    git(&["update-index", "--add", "--cacheinfo", &entry], b"");
    let tree = git(&["write-tree"], b"");
    let message = format!("Write {path}");
    let mut args = vec!["commit-tree", &tree, "-m", &message];
    if let Some(parent) = &parent {
        args.extend(["-p", parent]);
    }
    let sha = git(&args, b"");
    git(&["update-ref", &format!("refs/heads/{branch}"), &sha], b"");
    sha
}

fn run<T: AsRef<OsStr>>(
    base: &Path,
    repo: &Path,
    args: &[T],
    input: &[u8],
    env: &[(&str, &OsStr)],
) -> String {
    use std::io::Write;
    let mut child = Command::new("git")
        .args(args)
        .current_dir(repo)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", base.join("home"))
        .envs(env.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git failed: {complaint}");
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}
