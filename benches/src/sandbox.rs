//! Making and removing a sandbox against plain `git worktree add` and `remove --force`, on a tree of
//! 30,000 files.

use crate::table::Row;
use drive_adapters::git::Git;
use drive_adapters::process::BoundedRunner;
use drive_adapters::sandbox::GitSandboxes;
use drive_adapters::{Environment, SystemClock};
use drive_core::ids::{BranchName, CommitSha, RunId, SandboxId};
use drive_core::sandbox::{Lifetime, SandboxSpec};
use drive_engine::ports::{Leftovers, Place, Sandboxes, VersionControl};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const FOLDERS: usize = 300;
const FILES: usize = 100;
const ROUNDS: usize = 7;
/// Files of the change that is taken out.
const CHANGED: usize = 10;

/// The measurements of all rounds.
#[derive(Default)]
struct Times {
    plain_add: Vec<Duration>,
    create: Vec<Duration>,
    collect: Vec<Duration>,
    plain_remove: Vec<Duration>,
    least: Vec<Duration>,
    retire: Vec<Duration>,
    remove: Vec<Duration>,
}

pub(crate) fn run() -> Vec<Row> {
    let Ok(dir) = tempfile::tempdir() else {
        eprintln!("skipped: no temporary folder");
        return Vec::new();
    };
    let repo = dir.path().join("repo");
    grow(&repo);
    let home = dir.path().as_os_str().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let environment = Environment::from_pairs([("PATH", path), ("HOME", home)]);
    let git = Git::new(Arc::new(BoundedRunner::new()), &environment);
    let (root, state) = (dir.path().join("sandboxes"), dir.path().join("state"));
    let sandboxes = match GitSandboxes::open(git.clone(), Arc::new(SystemClock), &root, &state) {
        Ok(sandboxes) => sandboxes,
        Err(problem) => {
            eprintln!("skipped: {problem}");
            return Vec::new();
        }
    };
    let mut times = Times::default();
    for round in 0..ROUNDS {
        // The disk may still be busy with the first one when the second begins, so they alternate.
        if round % 2 == 0 {
            plain(&repo, dir.path(), round, &mut times);
            ours(&repo, &git, &sandboxes, round, &mut times);
        } else {
            ours(&repo, &git, &sandboxes, round, &mut times);
            plain(&repo, dir.path(), round, &mut times);
        }
    }
    rows(times)
}

fn rows(mut times: Times) -> Vec<Row> {
    let add = median(&mut times.plain_add);
    let remove = median(&mut times.plain_remove);
    let collect = median(&mut times.collect);
    let row = |what: &str, plain: Duration, ours: Duration, bound: &str| Row {
        what: what.into(),
        plain: shown(plain),
        ours: shown(ours),
        result: format!("{:.3}", ours.as_secs_f64() / plain.as_secs_f64()),
        bound: bound.into(),
    };
    let taken = Row {
        what: "a change of 10 files is committed and taken out of the sandbox".into(),
        plain: "–".into(),
        ours: shown(collect),
        result: "–".into(),
        bound: "≤ 30 ms".into(),
    };
    vec![
        taken,
        row(
            "sandbox create against `git worktree add`, 30,000 files",
            add,
            median(&mut times.create),
            "≤ 0.8",
        ),
        row(
            "sandbox removed from its place (`retire`) against `git worktree remove --force`",
            remove,
            median(&mut times.retire),
            "≤ 0.05",
        ),
        row(
            "… until its work is proven safe and every trace but rubble is gone (`remove`)",
            remove,
            median(&mut times.remove),
            "—",
        ),
        row(
            "… and the least such a proof can take: each file looked at once, on all processors",
            remove,
            median(&mut times.least),
            "—",
        ),
    ]
}

fn plain(repo: &Path, dir: &Path, round: usize, times: &mut Times) {
    let path = dir.join("plain");
    let path = path.to_string_lossy();
    let branch = format!("plain-{round}");
    settle_disk();
    times.plain_add.push(timed(|| {
        git(repo, &["worktree", "add", "--quiet", "-b", &branch, &path]);
    }));
    let sources = dir.join("plain/src");
    times.least.push(timed(|| look_at_each(&sources)));
    times.plain_remove.push(timed(|| {
        git(repo, &["worktree", "remove", "--force", &path]);
    }));
}

/// One `lstat` per file, with the folders distributed over the processors.
fn look_at_each(sources: &Path) {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut seen = 0;
        loop {
            let folder = next.fetch_add(1, Ordering::Relaxed);
            if folder >= FOLDERS {
                return seen;
            }
            let path = sources.join(format!("part{}/mod{folder}", folder % 20));
            let entries = std::fs::read_dir(&path).unwrap_or_else(|error| panic!("{error}"));
            seen += entries
                .flatten()
                .filter(|entry| entry.metadata().is_ok_and(|meta| meta.len() > 0))
                .count();
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let seen: usize = std::thread::scope(|scope| {
        let others: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        others.into_iter().map(|one| one.join().unwrap_or(0)).sum()
    });
    assert_eq!(seen, FOLDERS * FILES, "every file was looked at");
}

fn ours(repo: &Path, git: &Git, sandboxes: &GitSandboxes, round: usize, times: &mut Times) {
    let spec = SandboxSpec {
        id: SandboxId::new(format!("bench-{round}")),
        run: RunId::new("bench"),
        lifetime: Lifetime::Transient,
        repo: repo.to_path_buf(),
        base: CommitSha::new("HEAD"),
        branch: Some(BranchName::of_words(&format!("bench {round}"), 50)),
        copy: Vec::new(),
        seed: Vec::new(),
        on_existing_branch: false,
        held: false,
    };
    settle_disk();
    let start = Instant::now();
    let sandbox = match sandboxes.create(&spec) {
        Ok(sandbox) => sandbox,
        Err(problem) => panic!("no sandbox: {problem}"),
    };
    times.create.push(start.elapsed());
    for file in 0..CHANGED {
        let path = sandbox.path.join(format!("src/part0/mod0/file{file}.txt"));
        std::fs::write(path, format!("changed in round {round}\n"))
            .unwrap_or_else(|error| panic!("{error}"));
    }
    let leftovers = Leftovers {
        run: RunId::new("bench"),
        message: "ten files".into(),
    };
    let start = Instant::now();
    let taken = git.collect_work(Place::Sandbox(&sandbox), &leftovers, &sandbox.base_sha);
    times.collect.push(start.elapsed());
    assert!(taken.is_ok_and(|work| work.commits.len() == 1), "not taken");
    let start = Instant::now();
    let retired = sandboxes.retire(&sandbox);
    times.retire.push(start.elapsed());
    let settled = sandboxes.settle(&sandbox.id);
    times.remove.push(start.elapsed());
    assert!(retired == Ok(true) && settled == Ok(None), "not removed");
    sandboxes.finish_deletions();
}

pub(crate) fn grow(repo: &Path) {
    for folder in 0..FOLDERS {
        let path = repo.join(format!("src/part{}/mod{folder}", folder % 20));
        std::fs::create_dir_all(&path).unwrap_or_else(|error| panic!("{error}"));
        for file in 0..FILES {
            let text = format!("{folder} {file}\n").repeat(100);
            std::fs::write(path.join(format!("file{file}.txt")), text)
                .unwrap_or_else(|error| panic!("{error}"));
        }
    }
    git(repo, &["init", "--quiet", "-b", "main"]);
    git(repo, &["add", "-A"]);
    git(repo, &["commit", "--quiet", "-m", "30,000 files"]);
    git(repo, &["repack", "-adq"]);
}

/// Waits until the disk has completed earlier deletions, so that they do not affect the next measurement.
fn settle_disk() {
    let synced = Command::new("sync").status();
    assert!(synced.is_ok_and(|s| s.success()), "the disk did not settle");
}

fn git(repo: &Path, args: &[&str]) {
    let status = Command::new("git")
        .current_dir(repo)
        .args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"])
        .args(["-c", "gc.auto=0"])
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(status.is_ok_and(|s| s.success()), "git {args:?} failed");
}

fn timed(call: impl FnOnce()) -> Duration {
    let start = Instant::now();
    call();
    start.elapsed()
}

fn median(all: &mut [Duration]) -> Duration {
    all.sort();
    all[all.len() / 2]
}

fn shown(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
