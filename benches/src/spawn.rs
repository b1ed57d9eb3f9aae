//! `drive spawn` with an agent that writes one line against the same git commands by hand, and the
//! memory of `drive` while an agent streams a gigabyte of events.

use crate::place::{Place, kib, succeed};
use crate::startup::built_drive;
use crate::table::Row;
use std::time::{Duration, Instant};

const ROUNDS: usize = 21;
/// Rounds on a large repository, each of which takes seconds.
const LONG_ROUNDS: usize = 5;
/// Files in the repository: what drive does besides is the same for all of them.
const SIZES: [usize; 4] = [100, 1000, 3000, LARGE];
const LARGE: usize = 30_000;
/// A little less than the most an agent may print.
const EVENT_BYTES: u64 = 1_000_000_000;
const FEW_BYTES: u64 = 1_000_000;

/// Both measurements.
pub(crate) fn run() -> Vec<Row> {
    let Some(drive) = built_drive() else {
        return Vec::new();
    };
    let place = |files| {
        let place = Place::new(drive.clone(), files);
        place.script("noop", "cat > /dev/null\necho done > done.txt");
        place.script("claude", CHATTY);
        place
    };
    let mut rows: Vec<Row> = SIZES
        .iter()
        .map(|files| against_git(&place(*files), *files))
        .collect();
    rows.push(memory(&place(SIZES[0])));
    rows
}

fn settings(place: &Place, more: &str) -> String {
    format!(
        "[spawn]\nagent = \"noop\"\n[forge]\nkind = \"local\"\n[agents.noop]\nkind = \"command\"\ncommand = [{:?}]\n[agents.claude-code]\nkind = \"claude-code\"\ncommand = [{:?}]\nenv = [\"EVENT_BYTES\"]\n{more}",
        place.path("noop"),
        place.path("claude")
    )
}

fn against_git(place: &Place, files: usize) -> Row {
    place.settings(&settings(place, ""));
    let (mut plain, mut ours) = (Vec::new(), Vec::new());
    let rounds = if files < LARGE { ROUNDS } else { LONG_ROUNDS };
    for round in 0..=rounds {
        let start = Instant::now();
        by_hand(place, round);
        let between = Instant::now();
        succeed(&mut place.drive(&["spawn", "-q", "write a line", "--no-pr"]));
        // The first round warms both up.
        if round > 0 {
            plain.push(between - start);
            ours.push(between.elapsed());
        }
    }
    let (plain, ours) = (middle(plain), middle(ours));
    Row {
        what: format!("`drive spawn --no-pr` against git by hand, {files} files"),
        plain: format!("{:.1} ms", plain.as_secs_f64() * 1e3),
        ours: format!("{:.1} ms", ours.as_secs_f64() * 1e3),
        result: format!("{:.2}", ours.as_secs_f64() / plain.as_secs_f64()),
        bound: if files < 1000 { "≤ 1.5" } else { "≤ 1.0" }.to_owned(),
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

/// Prints the given number of bytes as events, then ends successfully.
const CHATTY: &str = r#"case "$*" in *--version*) echo '2.1.325 (Claude Code)'; exit 0;; esac
read -r prompt
echo done > done.txt
line='{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"I am looking at the next file, and then at the one after that."}],"usage":{"input_tokens":9,"output_tokens":2}}}'
yes "$line" | head -c "$EVENT_BYTES"
echo
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"done"}'
"#;

fn memory(place: &Place) -> Row {
    place.settings(&settings(place, "[budget]\ntokens = 1000000000\n"));
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
        .drive(&["spawn", "-q", "talk", "--no-pr", "--agent", "claude-code"])
        .env("EVENT_BYTES", bytes.to_string())
        .spawn()
        .expect("drive starts");
    let mut peak = 0;
    let status = loop {
        peak = peak.max(kib(child.id(), "VmHWM"));
        match child.try_wait().expect("drive can be waited for") {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    assert!(status.success(), "the run succeeds");
    (peak, start.elapsed())
}
