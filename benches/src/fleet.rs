//! Measures a thousand cruises that wait for comments: resuming them after a crash, and the cost of
//! watching them while nothing happens.
//!
//! The built binary runs one cruise until it waits, and is then killed. What it left in the
//! journal, on the local forge and on disk is then copied under other names.

use crate::place::{Place, kib};
use crate::startup::built_drive;
use crate::table::Row;
use drive_adapters::SystemClock;
use drive_core::time::Timestamp;
use drive_engine::ports::Clock;
use rusqlite::{Connection, OpenFlags, params};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const CRUISES: u64 = 1000;
/// How long the idle cost is measured: each cruise is polled once in this time, five times as often
/// as `cruise.poll_max` says.
const IDLE: Duration = Duration::from_secs(60);
/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(300);
/// The unit in which the kernel counts processor time.
const TICKS_A_SECOND: f64 = 100.0;

/// Plans, finds nothing wrong, and answers every comment.
pub(crate) const AGENT: &str = r#"cat > /dev/null
case "$DRIVE_ROLE" in
namer) printf '```json\n{"pr_title": "Plan it", "branch_name": "the-plan"}\n```\n' ;;
planner) printf '```json tasks\n[{"id": "a", "title": "A", "description": "d", "acceptance": ["x"], "depends_on": [], "paths": []}]\n```\n' > plan.md ;;
reviewer) echo '{"verdict": "approved"}' ;;
fixer)
  ids=$(sed -n 's/.*"id": "\([^"]*\)".*/\1/p' "$DRIVE_INPUT")
  echo "$DRIVE_ROUND" >> answers.txt
  list=
  for id in $ids; do list="$list${list:+, }{\"id\": \"$id\", \"action\": \"fixed\", \"note\": \"done\"}"; done
  printf '```json\n{"comments": [%s]}\n```\n' "$list" ;;
esac"#;

/// Both measurements.
pub(crate) fn run() -> Vec<Row> {
    let Some(drive) = built_drive() else {
        return Vec::new();
    };
    let fleet = Fleet::new(Place::new(drive, 10));
    let mut owner = fleet.resume();
    let start = Instant::now();
    let pid = owner.id();
    let owned = until("the leases", || fleet.owned_by(pid) == CRUISES, start);
    let looked = until("the first looks", || fleet.looked() == CRUISES, start);
    let mut rows = vec![
        row(
            "resume of 1,000 cruises after a crash, until each has an owner and its timers",
            format!("{:.2} s", owned.as_secs_f64()),
            "≤ 2 s",
        ),
        row(
            "… until each pull request was also looked at once (all of them were due)",
            format!("{:.2} s", looked.as_secs_f64()),
            "≤ 2 s",
        ),
    ];
    rows.extend(idle(pid));
    // It is killed as abruptly as before; the state is removed with its folder.
    let _ = owner.kill();
    let _ = owner.wait();
    rows
}

fn idle(pid: u32) -> Vec<Row> {
    // The work after the first polls does not count as idle.
    sleep(Duration::from_secs(5));
    let (start, before) = (Instant::now(), processor_seconds(pid));
    sleep(IDLE);
    let used = (processor_seconds(pid) - before) / start.elapsed().as_secs_f64();
    let memory = kib(pid, "VmRSS");
    vec![
        row(
            "processor time of the owner of 1,000 idle cruises, each looked at once a minute",
            format!("{:.1} % of one core", used * 100.0),
            "–",
        ),
        row(
            "its memory",
            format!(
                "{:.1} MiB, {:.1} KiB each",
                memory as f64 / 1024.0,
                memory as f64 / CRUISES as f64
            ),
            "–",
        ),
    ]
}

fn row(what: &str, measured: String, bound: &str) -> Row {
    Row {
        what: what.to_owned(),
        plain: "–".to_owned(),
        ours: measured.clone(),
        result: measured,
        bound: bound.to_owned(),
    }
}

/// How long after `start` the condition became true.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool, start: Instant) -> Duration {
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "{what} did not come");
        sleep(Duration::from_millis(10));
    }
    start.elapsed()
}

fn processor_seconds(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let fields: Vec<f64> = after_name
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse().ok())
        .collect();
    fields.iter().sum::<f64>() / TICKS_A_SECOND
}

/// The cruises, and the database they are in.
struct Fleet {
    place: Place,
    database: PathBuf,
}

impl Fleet {
    fn new(place: Place) -> Self {
        place.script("agent", AGENT);
        place.settings(&settings(&place, "kind = \"local\"\n"));
        let first = first_cruise(&place);
        let fleet = Self {
            database: database_of(&place),
            place,
        };
        fleet.repeat(&first);
        fleet
    }

    fn connection(&self) -> Connection {
        connection(&self.database)
    }

    fn resume(&self) -> Child {
        self.place
            .drive(&["cruise", "resume", "--all", "-q"])
            .spawn()
            .expect("drive starts")
    }

    fn count(&self, sql: &str, value: &str) -> u64 {
        let found = self
            .connection()
            .query_row(sql, [value], |row| row.get::<_, u64>(0));
        found.unwrap_or(0)
    }

    fn owned_by(&self, pid: u32) -> u64 {
        self.count(
            "SELECT count(*) FROM leases WHERE json_extract(owner, '$.process.pid') = CAST(?1 AS INTEGER)",
            &pid.to_string(),
        )
    }

    /// How many wait again for a time in the future.
    fn looked(&self) -> u64 {
        let now = SystemClock.now().to_string();
        self.count(
            "SELECT count(*) FROM timers WHERE name = 'poll' AND due_at > ?1",
            &now,
        )
    }

    /// Repeats what the first cruise left behind.
    fn repeat(&self, first: &str) {
        let mut connection = self.connection();
        let tx = connection.transaction().expect("a transaction");
        let state: String = tx
            .query_row("SELECT state FROM runs WHERE id = ?1", [first], |row| {
                row.get(0)
            })
            .expect("the first cruise");
        let known: Value = serde_json::from_str(&state).expect("a state");
        let branch = text(&known["work"]["branch"]);
        let folder = PathBuf::from(text(&known["sandboxes"][first]["path"]));
        let head = text(&known["work"]["headSha"]);
        let refs = self.place.path("repo/.git/refs/heads");
        for number in 2..=CRUISES {
            let run = format!("{first}{number}");
            let renamed = |text: &str| {
                text.replace(first, &run)
                    .replace(&format!("\"{branch}\""), &format!("\"{branch}-{number}\""))
            };
            let mut state: Value = serde_json::from_str(&renamed(&state)).expect("a state");
            state["work"]["pullRequest"]["number"] = number.into();
            for wait in ["current", "max"] {
                let pace = &mut state["flow"]["cruise"]["watch"]["backoff"];
                pace[wait]["secs"] = IDLE.as_secs().into();
            }
            tx.execute(
                "INSERT INTO runs SELECT ?1, seq, format, ?2, kind, active, created_at, updated_at FROM runs WHERE id = ?3",
                params![run, state.to_string(), first],
            )
            .expect("a run");
            for table in [
                "events SELECT ?1, seq, dedupe, format, replace(body, ?2, ?1), at FROM events WHERE run = ?2",
                "timers SELECT ?1, name, due_at FROM timers WHERE run = ?2",
                "leases SELECT ?1, owner, token, expires_at FROM leases WHERE run = ?2",
            ] {
                tx.execute(&format!("INSERT INTO {table}"), params![run, first])
                    .expect("a row");
            }
            tx.execute(
                "INSERT INTO local_pull_requests SELECT repository, ?1, title, body, state, draft, branch || '-' || ?1, base, head_sha, base_sha, merge_sha, created_at, updated_at FROM local_pull_requests WHERE number = 1",
                params![number],
            )
            .expect("a pull request");
            fs::write(refs.join(format!("{branch}-{number}")), format!("{head}\n"))
                .expect("a branch");
            copy(&folder, &PathBuf::from(renamed(&folder.to_string_lossy())));
        }
        tx.commit().expect("the fleet");
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

/// Copies a sandbox: what an owner that waits touches of it are the files of its phase.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)
        } else {
            fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

/// Settings with one agent for every role; `forge` is the rest of the forge's.
pub(crate) fn settings(place: &Place, forge: &str) -> String {
    format!(
        "[spawn-team]\nprimary_llm = \"one\"\nreviewer_llm = \"one\"\n[agents.one]\nkind = \"command\"\ncommand = [{:?}]\n[forge]\n{forge}",
        place.path("agent")
    )
}

/// Runs one cruise until it waits for comments, kills its owner, and waits until its next poll is
/// due, like after a night. Returns its id.
fn first_cruise(place: &Place) -> String {
    let mut owner = place
        .drive(&["cruise", "run", "--plan-only", "Plan it", "-q"])
        .spawn()
        .expect("drive starts");
    let start = Instant::now();
    let mut status = Value::Null;
    until(
        "a cruise that waits",
        || {
            status = status_of(place);
            is_waiting(&status) && status["nextPollAt"].is_string()
        },
        start,
    );
    owner.kill().expect("the owner dies");
    owner.wait().expect("the owner is dead");
    let next = status["nextPollAt"].as_str().and_then(|at| at.parse().ok());
    let next: Timestamp = next.expect("the next look");
    until("the next look", || next < SystemClock.now(), start);
    text(&status["id"]).to_owned()
}

/// The only cruise, as `status` shows it.
pub(crate) fn status_of(place: &Place) -> Value {
    let output = place
        .drive(&["cruise", "status", "--json"])
        .stdout(Stdio::piped())
        .output();
    let output = output.expect("drive starts");
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

/// Whether a cruise only waits for comments.
pub(crate) fn is_waiting(status: &Value) -> bool {
    status["state"] == "polling" && status["pendingComments"] == 0 && status["domain"].is_null()
}

/// The database of a running drive.
pub(crate) fn connection(database: &Path) -> Connection {
    Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE).expect("the database")
}

/// The path of a place's database.
pub(crate) fn database_of(place: &Place) -> PathBuf {
    let found = fs::read_dir(place.path("state"))
        .expect("a state directory")
        .flatten()
        .map(|entry| entry.path())
        .find(|path| fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"SQLite format 3")));
    found.expect("a database")
}
