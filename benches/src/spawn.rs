//! `drive spawn` with an agent that writes one line against the same git commands by hand, and the
//! memory of `drive` while an agent streams a gigabyte of events.

use crate::startup::built_drive;
use crate::table::Row;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 21;
const FILES: usize = 100;
/// A little less than the most an agent may print.
const EVENT_BYTES: u64 = 1_000_000_000;
const FEW_BYTES: u64 = 1_000_000;

/// Both measurements.
pub(crate) fn run() -> Vec<Row> {
    let Some(drive) = built_drive() else {
        return Vec::new();
    };
    let place = Place::new(drive);
    let mut rows = vec![against_git(&place)];
    rows.push(memory(&place));
    rows
}

/// A repository, a home and a state directory.
struct Place {
    folder: tempfile::TempDir,
    drive: PathBuf,
}

impl Place {
    fn new(drive: PathBuf) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = Self { folder, drive };
        let repo = place.path("repo");
        for number in 0..FILES {
            let file = repo.join(format!("src/{}/{number}.txt", number % 10));
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(&file, format!("file {number}\n").repeat(20)).expect("a file");
        }
        place.git(&repo, &["init", "-q", "-b", "main"]);
        place.git(&repo, &["config", "user.name", "bench"]);
        place.git(&repo, &["config", "user.email", "bench@localhost"]);
        place.git(&repo, &["add", "-A"]);
        place.git(&repo, &["commit", "-qm", "first"]);
        place.script("noop", "cat > /dev/null\necho done > done.txt");
        place.script("claude", CHATTY);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn script(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("an executable");
    }

    fn settings(&self, more: &str) {
        let folder = self.path("home/.config/infinite-improbability-drive");
        fs::create_dir_all(&folder).expect("a folder");
        let text = format!(
            "[spawn]\nagent = \"noop\"\n[forge]\nkind = \"local\"\n[agents.noop]\nkind = \"command\"\ncommand = [{:?}]\n[agents.claude-code]\nkind = \"claude-code\"\ncommand = [{:?}]\nenv = [\"EVENT_BYTES\"]\n{more}",
            self.path("noop"),
            self.path("claude")
        );
        fs::write(folder.join("config.toml"), text).expect("settings");
    }

    fn command(&self, program: &Path, dir: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("DRIVE_STATE_DIR", self.path("state"))
            .current_dir(dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    fn git(&self, dir: &Path, args: &[&str]) {
        succeed(self.command(Path::new("git"), dir).args(args));
    }

    fn spawn(&self, args: &[&str]) -> Command {
        let mut command = self.command(&self.drive, &self.path("repo"));
        command.args(["spawn", "-q"]).args(args);
        command
    }
}

fn succeed(command: &mut Command) {
    let status = command.status();
    assert!(status.is_ok_and(|s| s.success()), "{command:?} failed");
}

fn against_git(place: &Place) -> Row {
    place.settings("");
    let (mut plain, mut ours) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let start = Instant::now();
        by_hand(place, round);
        let between = Instant::now();
        succeed(&mut place.spawn(&["write a line", "--no-pr"]));
        // The first round warms both up.
        if round > 0 {
            plain.push(between - start);
            ours.push(between.elapsed());
        }
    }
    let (plain, ours) = (middle(plain), middle(ours));
    Row {
        what: "`drive spawn --no-pr` against the same git commands by hand".to_owned(),
        plain: format!("{:.1} ms", plain.as_secs_f64() * 1e3),
        ours: format!("{:.1} ms", ours.as_secs_f64() * 1e3),
        result: format!("{:.2}", ours.as_secs_f64() / plain.as_secs_f64()),
        bound: "≤ 1.3".to_owned(),
    }
}

fn by_hand(place: &Place, round: usize) {
    let (repo, tree) = (place.path("repo"), place.path("by-hand"));
    let branch = format!("by-hand/{round}");
    let folder = tree.to_string_lossy().into_owned();
    place.git(&repo, &["worktree", "add", "-q", "-b", &branch, &folder]);
    succeed(&mut place.command(&place.path("noop"), &tree));
    place.git(&tree, &["add", "-A"]);
    place.git(&tree, &["commit", "-qm", "write a line"]);
    place.git(&repo, &["worktree", "remove", "--force", &folder]);
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Prints as many bytes of events as it is told, then ends well.
const CHATTY: &str = r#"case "$*" in *--version*) echo '2.1.325 (Claude Code)'; exit 0;; esac
read -r prompt
echo done > done.txt
line='{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"I am looking at the next file, and then at the one after that."}],"usage":{"input_tokens":9,"output_tokens":2}}}'
yes "$line" | head -c "$EVENT_BYTES"
echo
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"done"}'
"#;

fn memory(place: &Place) -> Row {
    place.settings("[budget]\ntokens = 1000000000\n");
    let (few, _) = peak(place, FEW_BYTES);
    let (many, time) = peak(place, EVENT_BYTES);
    Row {
        what: "peak memory of `drive` while an agent streams 1 GB of events, against 1 MB"
            .to_owned(),
        plain: format!("{:.1} MiB", few as f64 / 1024.0),
        ours: format!("{:.1} MiB", many as f64 / 1024.0),
        result: format!(
            "+{:.1} MiB, {:.0} MB/s",
            many.saturating_sub(few) as f64 / 1024.0,
            EVENT_BYTES as f64 / 1e6 / time.as_secs_f64()
        ),
        bound: "flat".to_owned(),
    }
}

/// The most memory drive had, in KiB, and how long it took.
fn peak(place: &Place, bytes: u64) -> (u64, Duration) {
    let start = Instant::now();
    let mut child = place
        .spawn(&["talk", "--no-pr", "--agent", "claude-code"])
        .env("EVENT_BYTES", bytes.to_string())
        .spawn()
        .expect("drive starts");
    let mut peak = 0;
    let status = loop {
        peak = peak.max(peak_kib(child.id()));
        match child.try_wait().expect("drive can be waited for") {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    assert!(status.success(), "the run succeeds");
    (peak, start.elapsed())
}

fn peak_kib(process: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}
