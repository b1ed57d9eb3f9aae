//! The time from the arrival of a comment until the agent that answers it runs: announced by a webhook,
//! and by `drive cruise fix`, there and on the local forge. Without either it would wait for the next
//! poll, up to `cruise.poll_max`.

use crate::fleet::{self, is_waiting, status_of, until};
use crate::place::{Place, succeed};
use crate::startup::built_drive;
use crate::table::Row;
use drive_adapters::SystemClock;
use drive_core::forge::Permission;
use drive_core::time::Timestamp;
use drive_engine::ports::Clock;
use drive_testkit::github::Simulator;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

pub(crate) const REPO: &str = "acme/widgets";
pub(crate) const SECRET: &str = "a-secret-of-this-benchmark";
const ROUNDS: usize = 100;
/// Pull requests that one owner watches.
const MANY: u64 = 50;
/// Nothing is polled without a notification.
const SLOW: &str = "[cruise]\npoll_initial = \"1h\"\npoll_max = \"1h\"\nmax_rounds = 1000\n";

pub(crate) fn run() -> Vec<Row> {
    let Some(drive) = built_drive() else {
        return Vec::new();
    };
    let simulator = Simulator::start();
    simulator.add_repo("acme", "widgets");
    simulator.add_person(REPO, "ann", Permission::Write);
    let place = Place::new(drive, 10);
    prepare(&place, &simulator);
    let owner = Ended(start(
        &place,
        &["cruise", "run", "--plan-only", "Plan it", "-q"],
    ));
    rest(&place, 0);
    let serving = serve(&place);
    simulator.add_hook(REPO, &serving.1, SECRET);

    let mut hooked = Vec::new();
    let mut asked = Vec::new();
    for round in 0..ROUNDS {
        hooked.push(started_after(&place, || {
            simulator.comment(REPO, "ann", 1, "Say who owns it.");
            for delivery in simulator.take_deliveries() {
                let _ = delivery.send();
            }
        }));
        rest(&place, 2 * round + 1);
        let _ = simulator.take_deliveries();
        asked.push(started_after(&place, || {
            let fix = ["cruise", "fix", "-q", "--comment", "And why."];
            succeed(place.drive(&fix).env("GITHUB_TOKEN", Simulator::TOKEN));
        }));
        rest(&place, 2 * round + 2);
        let _ = simulator.take_deliveries();
    }
    drop((serving, owner));
    let mut rows = vec![
        row("a webhook", hooked, "p99 ≤ 100 ms"),
        row("`drive cruise fix --comment`", asked, "p99 ≤ 150 ms"),
    ];
    rows.extend(local());
    rows.extend(fifty());
    rows
}

/// Measures one comment on each of many pull requests with one owner, which is notified of only one
/// of them: from the end of the poll that read them until the last fixer runs.
fn fifty() -> Option<Row> {
    let simulator = Simulator::start();
    simulator.add_repo("acme", "widgets");
    simulator.add_person(REPO, "ann", Permission::Write);
    let place = Place::new(built_drive()?, 10);
    prepare(&place, &simulator);
    let owners = (1..=MANY).map(|number| {
        let task = format!("Plan it, number {number}");
        let owner = Ended(start(
            &place,
            &["cruise", "run", "--plan-only", &task, "-q"],
        ));
        until("a cruise", || waiting(&place) == number, Instant::now());
        owner
    });
    drop(owners.collect::<Vec<Ended>>());
    let owner = Ended(start(&place, &["cruise", "resume", "--all", "-q"]));
    let journal = fleet::connection(&fleet::database_of(&place));
    let owned = "SELECT count(*) FROM leases WHERE json_extract(owner, '$.process.pid') = CAST(?1 AS INTEGER)";
    let pid = owner.0.id().to_string();
    let count = |sql: &str, value: &str| {
        let found = journal.query_row(sql, [value], |row| row.get::<_, u64>(0));
        found.unwrap_or(0)
    };
    until("the owner", || count(owned, &pid) == MANY, Instant::now());
    until("the quiet", || waiting(&place) == MANY, Instant::now());
    let serving = serve(&place);
    simulator.add_hook(REPO, &serving.1, SECRET);
    let before = SystemClock.now();
    for number in 1..=MANY {
        simulator.comment(REPO, "ann", number, "Say who owns it.");
    }
    if let Some(first) = simulator.take_deliveries().first() {
        let _ = first.send();
    }
    let running = "SELECT count(DISTINCT run) FROM events WHERE at > ?1 AND json_extract(body, '$.event') = 'processStarted'";
    let since = before.to_string();
    until(
        "the fixers",
        || count(running, &since) == MANY,
        Instant::now(),
    );
    let moment = |sql: &str| {
        let found = journal.query_row(sql, [&since], |row| row.get::<_, Option<String>>(0));
        let found = found.ok().flatten();
        found.and_then(|at| at.parse::<Timestamp>().ok())
    };
    let polled = moment(
        "SELECT min(at) FROM events WHERE at > ?1 AND json_extract(body, '$.event') = 'effectEnded' AND json_extract(body, '$.key') LIKE 'poll/%'",
    )?;
    let last = moment(
        "SELECT max(first) FROM (SELECT min(at) AS first FROM events WHERE at > ?1 AND json_extract(body, '$.event') = 'processStarted' GROUP BY run)",
    )?;
    let took = Duration::try_from(last.duration_since(polled)).unwrap_or_default();
    Some(Row {
        what: format!(
            "{MANY} comments on {MANY} pull requests with one owner: from the end of the poll that saw them until the last fixer runs"
        ),
        plain: "up to 5 min (`cruise.poll_max`)".to_owned(),
        ours: format!("{} ms", took.as_millis()),
        result: format!("{:.2} s", took.as_secs_f64()),
        bound: "≤ 5 s".to_owned(),
    })
}

/// The number of cruises that only wait for comments.
fn waiting(place: &Place) -> u64 {
    let output = place
        .drive(&["cruise", "list", "--json"])
        .stdout(Stdio::piped())
        .output();
    let output = output.expect("drive starts");
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let cruises = listed["cruises"].as_array().into_iter().flatten();
    let waits = cruises.filter(|one| is_waiting(one) && one["nextPollAt"].is_string());
    waits.count() as u64
}

/// From the command to the fixer's start on the local forge.
fn local() -> Option<Row> {
    let place = Place::new(built_drive()?, 10);
    place.script("agent", fleet::AGENT);
    let settings = format!("kind = \"local\"\n{SLOW}");
    place.settings(&fleet::settings(&place, &settings));
    let owner = Ended(start(
        &place,
        &["cruise", "run", "--plan-only", "Plan it", "-q"],
    ));
    rest(&place, 0);
    let mut asked = Vec::new();
    for round in 0..ROUNDS {
        asked.push(started_after(&place, || {
            succeed(&mut place.drive(&["cruise", "fix", "-q", "--comment", "And why."]));
        }));
        rest(&place, round + 1);
    }
    drop(owner);
    let how = "`drive cruise fix --comment` on the local forge";
    Some(row(how, asked, "p99 ≤ 150 ms"))
}

fn row(how: &str, mut times: Vec<Duration>, bound: &str) -> Row {
    times.sort();
    let shown = |time: Duration| format!("{} ms", time.as_millis());
    Row {
        what: format!("a comment's arrival by {how} until the fixer runs"),
        plain: "up to 5 min (`cruise.poll_max`)".to_owned(),
        ours: format!("p50 {}", shown(percentile(&times, 50))),
        result: format!("p99 {}", shown(percentile(&times, 99))),
        bound: bound.to_owned(),
    }
}

/// The time within which so many of a hundred are, of times in their order.
fn percentile(times: &[Duration], hundredths: usize) -> Duration {
    let at = (times.len() * hundredths).div_ceil(100).saturating_sub(1);
    times[at]
}

pub(crate) fn prepare(place: &Place, simulator: &Simulator) {
    place.script("agent", fleet::AGENT);
    let forge = format!(
        "kind = \"github\"\nrepo = {REPO:?}\napi_url = {:?}\n{SLOW}",
        simulator.api_url()
    );
    place.settings(&fleet::settings(place, &forge));
    let repo = place.path("repo");
    place.git(
        &repo,
        &["remote", "add", "origin", &simulator.git_url(REPO)],
    );
    place.git(&repo, &["fetch", "-q", "origin"]);
    place.git(&repo, &["reset", "-q", "--hard", "origin/main"]);
}

/// A process that ends with its owner.
pub(crate) struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(place: &Place, args: &[&str]) -> Child {
    let mut command = place.drive(args);
    command
        .env("GITHUB_TOKEN", Simulator::TOKEN)
        .env("DRIVE_WEBHOOK_SECRET", SECRET)
        .stdout(Stdio::piped());
    command.spawn().expect("drive starts")
}

/// Starts the receiver; returns it and its address.
pub(crate) fn serve(place: &Place) -> (Ended, String) {
    let mut child = start(place, &["serve", "--json", "--listen", "127.0.0.1:0"]);
    let mut stdout = BufReader::new(child.stdout.take().expect("its output"));
    let mut told = String::new();
    let document: Value = loop {
        let read = stdout.read_line(&mut told).expect("its output");
        assert!(read > 0, "drive serve ended: {told}");
        if let Ok(document) = serde_json::from_str(&told) {
            break document;
        }
    };
    let url = document["webhooks"].as_str().expect("it takes webhooks");
    (Ended(child), url.to_owned())
}

/// Waits until so many rounds are over and nothing is open.
fn rest(place: &Place, rounds: usize) {
    let quiet = || {
        let status = status_of(place);
        is_waiting(&status) && status["rounds"].as_u64() >= Some(rounds as u64)
    };
    until("the quiet", quiet, Instant::now());
}

/// How long after a comment was reported the journal says that the fixer runs.
fn started_after(place: &Place, tell: impl FnOnce()) -> Duration {
    let before = SystemClock.now();
    let journal = fleet::connection(&fleet::database_of(place));
    tell();
    let mut at = None;
    let read = || {
        let found = journal.query_row(
            "SELECT min(at) FROM events WHERE at > ?1 AND json_extract(body, '$.event') = 'processStarted'",
            [before.to_string()],
            |row| row.get::<_, Option<String>>(0),
        );
        at = found
            .ok()
            .flatten()
            .and_then(|at| at.parse::<Timestamp>().ok());
        at.is_some()
    };
    until("the fixer", read, Instant::now());
    let at = at.unwrap_or(before);
    Duration::try_from(at.duration_since(before)).unwrap_or_default()
}
