//! `drive verify` against the bare commands of its stages.

mod projects;

use crate::table::Row;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// All measurements of the verifier.
pub(crate) fn run() -> Vec<Row> {
    let Some(drive) = crate::startup::built_drive() else {
        return Vec::new();
    };
    let mut rows = vec![per_stage(&drive), long_stage(&drive), seeded(&drive)];
    rows.push(concurrent(&drive));
    rows.push(known(&drive));
    rows.push(ten_at_once(&drive));
    rows.push(many_files(&drive));
    rows.extend(projects::ALL.iter().filter_map(|one| by_hand(&drive, one)));
    rows
}

/// A verdict that is known already.
fn known(drive: &Path) -> Row {
    let repo = Repo::new(drive, &routes(1, "[\"sleep\", \"1\"]"));
    let first = timed(|| repo.verify());
    let again = crate::table::median(20, || succeed(&mut repo.asking(&[])));
    Row {
        what: "a verdict that is known, against reaching it".into(),
        plain: millis(first),
        ours: millis(again),
        result: millis(again),
        bound: "≤ 100 ms".into(),
    }
}

/// Ten verifications of one repository at the same time.
fn ten_at_once(drive: &Path) -> Row {
    let repo = Repo::new(drive, &routes(1, "[\"sleep\", \"5\"]"));
    let alone = timed(|| repo.verify());
    let all = timed(|| {
        let running: Vec<Child> = (0..10).map(|_| repo.start()).collect();
        for mut one in running {
            assert!(one.wait().is_ok_and(|status| status.success()));
        }
    });
    Row {
        what: "ten verifications at once in one repository, a stage of 5 s, against one".into(),
        plain: millis(alone),
        ours: millis(all),
        result: ratio(all, alone),
        bound: "≤ 2".into(),
    }
}

/// A repository of 100,000 files.
fn many_files(drive: &Path) -> Row {
    let repo = Repo::new(drive, &routes(1, "[\"true\"]"));
    repo.shell("cd repo && for d in $(seq 100); do mkdir d$d; for f in $(seq 1000); do echo $d $f > d$d/f$f; done; done; git add -A && git commit -qm files && git tag -f base && echo two >> d1/f1 && git commit -qam two");
    let plain = crate::table::median(3, || {
        repo.shell("cd repo && git worktree add -q ../plain && git -C ../plain status --short && git worktree remove --force ../plain && git branch -qD plain");
    });
    let ours = crate::table::median(3, || repo.verify());
    Row {
        what: "100,000 files, against making, checking and removing a git worktree".into(),
        plain: millis(plain),
        ours: millis(ours),
        result: ratio(ours, plain),
        bound: "≤ 3".into(),
    }
}

/// Warm, without settings, against the same commands by hand.
fn by_hand(drive: &Path, project: &projects::Project) -> Option<Row> {
    if !project.tools.iter().all(|tool| is_installed(tool)) {
        eprintln!("skipped: {} is not installed", project.tools.join(" or "));
        return None;
    }
    let repo = Repo::new(drive, "");
    repo.shell(&format!(
        "cd repo && git rm -rq src && {} && git add -A && git commit -qm base && git tag -f base",
        project.make
    ));
    let in_repo = |script: &str| repo.shell(&format!("cd repo && {script}"));
    in_repo(&format!("{} && git commit -qam change", project.change));
    // First as drive runs them, then by hand in a checkout that was built at the base.
    let commands = repo.stage_commands();
    in_repo("git checkout -q base");
    commands.iter().for_each(|one| repo.by_hand(one));
    in_repo("git checkout -q main");
    let ours = timed(|| repo.verify());
    let plain = timed(|| commands.iter().for_each(|one| repo.by_hand(one)));
    Some(Row {
        what: format!(
            "warm {} project with tests of 5 s, against by hand",
            project.name
        ),
        plain: millis(plain),
        ours: millis(ours),
        result: ratio(ours, plain),
        bound: "≤ 1.3".into(),
    })
}

fn is_installed(tool: &str) -> bool {
    let asked = Command::new("sh")
        .args(["-c", "command -v \"$1\"", "sh", tool])
        .stdout(Stdio::null())
        .status();
    asked.is_ok_and(|status| status.success())
}

fn ratio(ours: Duration, plain: Duration) -> String {
    format!("{:.2}", ours.as_secs_f64() / plain.as_secs_f64())
}

/// Measures the cost of each stage: many trivial stages against one, and against the bare command.
fn per_stage(drive: &Path) -> Row {
    const STAGES: u32 = 21;
    let one = Repo::new(drive, &routes(1, "[\"true\"]"));
    let many = Repo::new(drive, &routes(STAGES, "[\"true\"]"));
    let few = crate::table::median(5, || one.verify());
    let all = crate::table::median(5, || many.verify());
    let bare = crate::table::median(50, || succeed(&mut Command::new("true")));
    let each = all.saturating_sub(few) / (STAGES - 1);
    Row {
        what: "a stage that does nothing, against the bare command".into(),
        plain: millis(bare),
        ours: millis(each),
        result: format!("+{}", millis(each.saturating_sub(bare))),
        bound: "≤ 60 ms more".into(),
    }
}

/// A stage of half a minute.
fn long_stage(drive: &Path) -> Row {
    let bare = timed(|| succeed(Command::new("sleep").arg("30")));
    let repo = Repo::new(drive, &routes(1, "[\"sleep\", \"30\"]"));
    let report = repo.report();
    let ours = Duration::from_millis(report["stages"][0]["durationMs"].as_u64().unwrap_or(0));
    let over = ours.as_secs_f64() / bare.as_secs_f64() - 1.0;
    Row {
        what: "a stage of 30 s, against the bare command".into(),
        plain: millis(bare),
        ours: millis(ours),
        result: format!("{:+.2} %", over * 100.0),
        bound: "≤ 2 % more".into(),
    }
}

/// A Cargo workspace without settings: cold, then with the caller's `target` as its seed.
fn seeded(drive: &Path) -> Row {
    let repo = Repo::new(drive, "[sandbox]\nseed = []\n");
    repo.cargo_workspace();
    let cold = timed(|| repo.verify());
    for arguments in [
        &["check", "--all-targets", "--offline"][..],
        &["test", "--no-run", "--offline"],
    ] {
        succeed(
            Command::new("cargo")
                .args(arguments)
                .arg("-q")
                .current_dir(&repo.path),
        );
    }
    repo.settings("[sandbox]\nseed = [\"target\"]\n");
    let warm = timed(|| repo.verify());
    Row {
        what: "a Cargo workspace with a seeded cache, against cold".into(),
        plain: millis(cold),
        ours: millis(warm),
        result: format!("{:.2}", warm.as_secs_f64() / cold.as_secs_f64()),
        bound: "≤ 0.33".into(),
    }
}

/// The memory of drive itself: ten loud verifications at once against one silent one.
fn concurrent(drive: &Path) -> Row {
    let silent = Repo::new(drive, &routes(1, "[\"sleep\", \"1\"]"));
    let alone = peak(&mut [silent.start()]);
    let loud = Repo::new(
        drive,
        &routes(1, "[\"sh\", \"-c\", \"yes | head -c 200000000; sleep 1\"]"),
    );
    let mut all: Vec<Child> = (0..10).map(|_| loud.start()).collect();
    let largest = peak(&mut all);
    let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
    Row {
        what: "memory of drive: ten verifications at once that print 200 MB each, against a silent one".into(),
        plain: mib(alone),
        ours: format!("{} each", mib(largest)),
        result: format!("{:.2}", largest as f64 / alone as f64),
        bound: "flat".into(),
    }
}

/// The largest peak of resident memory of any worker, waited for to its end.
fn peak(callers: &mut [Child]) -> u64 {
    let mut largest = 0;
    while callers
        .iter_mut()
        .any(|child| matches!(child.try_wait(), Ok(None)))
    {
        for caller in callers.iter() {
            let id = caller.id();
            let workers = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
            let all = workers.unwrap_or_default();
            let kibibytes = all.split_whitespace().filter_map(high_water).max();
            largest = largest.max(kibibytes.unwrap_or(0) * 1024);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let passed = callers
        .iter_mut()
        .all(|child| child.wait().is_ok_and(|status| status.success()));
    assert!(passed, "a verification did not pass");
    largest
}

fn high_water(pid: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn routes(count: u32, command: &str) -> String {
    let mut text = String::from("[verify]\nmax_parallel = 10\n");
    for number in 0..count {
        let _ = write!(
            text,
            "[[verify.routes]]\nname = \"r{number}\"\npaths = [\"**\"]\ncompile = {command}\nskip = \"measured alone\"\n"
        );
    }
    text
}

/// A repository with a base and a candidate, and its own state directory.
struct Repo {
    drive: PathBuf,
    path: PathBuf,
    folder: tempfile::TempDir,
}

impl Repo {
    fn new(drive: &Path, settings: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("repo");
        let repo = Self {
            drive: drive.to_path_buf(),
            path,
            folder,
        };
        repo.shell("git init -q -b main repo && cd repo && git config user.name a && git config user.email a@example.org && mkdir src && echo one > src/a");
        repo.settings(settings);
        repo.shell("cd repo && git add -A && git commit -qm base && git tag base && echo two > src/a && git commit -qam two");
        repo
    }

    fn settings(&self, settings: &str) {
        std::fs::write(self.path.join("drive.toml"), settings).expect("settings");
    }

    /// Six crates in a row, each heavy enough to compile for a while.
    fn cargo_workspace(&self) {
        self.shell("cd repo && git rm -rq --cached src && rm -r src && echo target > .gitignore");
        let manifest = "[workspace]\nresolver = \"3\"\nmembers = [\"c*\"]\n";
        std::fs::write(self.path.join("Cargo.toml"), manifest).expect("a manifest");
        for number in 0..6 {
            let dir = self.path.join(format!("c{number}"));
            std::fs::create_dir_all(dir.join("src")).expect("a folder");
            let mut manifest = format!(
                "[package]\nname = \"c{number}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n"
            );
            if number > 0 {
                let below = number - 1;
                let _ = write!(
                    manifest,
                    "[dependencies]\nc{below} = {{ path = \"../c{below}\" }}\n"
                );
            }
            std::fs::write(dir.join("Cargo.toml"), manifest).expect("a manifest");
            std::fs::write(dir.join("src/lib.rs"), heavy()).expect("a library");
        }
        succeed(
            Command::new("cargo")
                .args(["generate-lockfile", "--offline", "-q"])
                .current_dir(&self.path),
        );
        self.shell("cd repo && git add -A && git commit -qm crates && git tag -f base && echo '// changed' >> c5/src/lib.rs && git commit -qam change");
    }

    /// Programs and arguments of the stages that drive runs here.
    fn stage_commands(&self) -> Vec<Vec<String>> {
        let report = self.report();
        assert_eq!(report["overall"], "pass", "{report:#}");
        let stages = report["stages"].as_array().cloned().unwrap_or_default();
        let words = |stage: &serde_json::Value| -> Vec<String> {
            serde_json::from_value(stage["command"].clone()).expect("a command")
        };
        let commands = stages.iter().map(words);
        commands.filter(|words| !words.is_empty()).collect()
    }

    fn by_hand(&self, words: &[String]) {
        succeed(
            Command::new(&words[0])
                .args(&words[1..])
                .env("CI", "true")
                .current_dir(&self.path),
        );
    }

    fn command(&self) -> Command {
        self.asking(&["--fresh"])
    }

    fn asking(&self, more: &[&str]) -> Command {
        let mut command = Command::new(&self.drive);
        command
            .args(["verify", "--base", "base", "--json", "-q"])
            .args(more)
            .env("DRIVE_STATE_DIR", self.folder.path().join("state"))
            .current_dir(&self.path)
            .stdin(Stdio::null());
        command
    }

    fn verify(&self) {
        succeed(&mut self.command());
    }

    fn report(&self) -> serde_json::Value {
        let output = self.command().output().expect("drive runs");
        serde_json::from_slice(&output.stdout).expect("a report")
    }

    fn start(&self) -> Child {
        let mut command = self.command();
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("drive runs")
    }

    fn shell(&self, script: &str) {
        succeed(
            Command::new("sh")
                .args(["-ec", script])
                .current_dir(self.folder.path()),
        );
    }
}

/// A library of many small types with derived code, and a test.
fn heavy() -> String {
    let mut text = String::new();
    for number in 0..150 {
        let _ = write!(
            text,
            "#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]\npub struct T{number} {{ pub a: Vec<u64>, pub b: String, pub c: Option<Box<T{number}>> }}\nimpl T{number} {{ pub fn grow(&self) -> Self {{ let mut t = self.clone(); t.a.push({number}); t.a.sort(); t.b.push_str(&format!(\"{{:?}}\", self.a)); t }} }}\n"
        );
    }
    text.push_str("#[test]\nfn grows() { assert_eq!(T0::default().grow().a, [0]); }\n");
    text
}

fn timed(call: impl FnOnce()) -> Duration {
    let start = Instant::now();
    call();
    start.elapsed()
}

fn succeed(command: &mut Command) {
    let output = command.output().expect("the command starts");
    assert!(
        output.status.success(),
        "{command:?}: {} {}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn millis(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1e3)
}
