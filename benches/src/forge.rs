//! Measures the cost of watching pull requests: requests and bytes in an hour of simulated time, and memory.
//!
//! The baseline requests the three comment lists of each pull request separately, every time.

use crate::table::Row;
use drive_adapters::forge::github::{
    Bounds, Endpoint, GitHub, MemoryBudgets, MemoryCache, Pause, Route, Surroundings, Token,
};
use drive_core::forge::ReviewState;
use drive_core::ids::PrNumber;
use drive_core::time::Timestamp;
use drive_engine::CancelToken;
use drive_engine::ports::{Clock, Forge, Since};
use drive_testkit::github::{Logged, SimClock, Simulator, compile_schema};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3600);
/// The default of `cruise.poll_max`: how often an idle pull request is looked at.
const IDLE_POLL: Duration = Duration::from_secs(300);
/// The poll interval of a busy one.
const BUSY_POLL: Duration = Duration::from_secs(30);
/// The hourly request limit of one token.
const HOURLY: usize = 5000;

struct SimPause(SimClock);

impl Pause for SimPause {
    fn pause(&self, wait: Duration, _: &CancelToken) {
        self.0.advance(wait);
    }
}

/// The cost of an hour.
struct Cost {
    requests: usize,
    counted: usize,
    bytes: usize,
}

impl Cost {
    fn of(requests: &[Logged]) -> Self {
        Self {
            requests: requests.len(),
            counted: requests.iter().filter(|request| request.counts()).count(),
            bytes: requests.iter().map(|r| r.sent + r.received).sum(),
        }
    }
}

pub(crate) fn run() -> Vec<Row> {
    // Memory first: what a later measurement frees, this one would be given for nothing.
    let mut rows: Vec<Row> = memory().into_iter().collect();
    rows.push(schema());
    for (repos, pulls) in [(1, 1), (1, 100), (10, 100)] {
        rows.push(hour(repos, pulls, false));
        rows.push(hour(repos, pulls, true));
    }
    rows
}

fn schema() -> Row {
    let start = Instant::now();
    let count = compile_schema();
    let took = start.elapsed();
    Row {
        what: format!("compile all {count} validators of GitHub's description"),
        plain: "–".to_owned(),
        ours: format!("{} ms", took.as_millis()),
        result: format!("{:.2} s", took.as_secs_f64()),
        bound: "< 1 s".to_owned(),
    }
}

/// One hour of watching; if busy, people write every minute in each repository.
fn hour(repos: u64, pulls: u64, busy: bool) -> Row {
    let clock = SimClock::default();
    let simulator = Simulator::start_at(clock.clone());
    simulator.set_hourly_limit(1_000_000);
    simulator.stop_judging();
    for repo in 0..repos {
        simulator.add_quiet_repo("acme", &format!("r{repo}"), pulls);
    }
    clock.advance(HOUR);
    let plain = plain_round(&simulator, pulls);
    let around = surroundings(&clock);
    let mut watchers: Vec<(GitHub, Since)> = (0..repos)
        .map(|repo| {
            let forge = watcher(&simulator.api_url(), repo, around.clone());
            (forge, Since(Some(clock.now())))
        })
        .collect();
    let watched: Vec<PrNumber> = (1..=pulls).map(PrNumber::new).collect();
    poll_all(&mut watchers, &watched);
    simulator.forget_requests();

    let interval = if busy { BUSY_POLL } else { IDLE_POLL };
    let end = clock.now().checked_add(HOUR).unwrap_or(Timestamp::MAX);
    let (mut rounds, mut delivered, mut written) = (0, 0, 0);
    while clock.now() < end {
        clock.advance(interval);
        rounds += 1;
        if busy && rounds % 2 == 0 {
            for repo in 0..repos {
                written += write(&simulator, repo, PrNumber::new(rounds % pulls + 1), rounds);
            }
        }
        delivered += poll_all(&mut watchers, &watched);
    }
    assert!(delivered >= written, "{delivered} of {written} arrived");
    let ours = Cost::of(&simulator.requests());
    let words = if busy { "busy" } else { "idle" };
    let row = Row {
        what: format!(
            "{} watched pull requests in {repos} repositories, {words}, an hour",
            repos * pulls
        ),
        plain: format!(
            "{} requests, {} KiB",
            plain.counted as u64 * repos * rounds,
            plain.bytes as u64 * repos * rounds / 1024
        ),
        ours: format!(
            "{} requests of which {} count, {} KiB",
            ours.requests,
            ours.counted,
            ours.bytes / 1024
        ),
        result: format!(
            "{:.1} % of a token",
            ours.counted as f64 * 100.0 / HOURLY as f64
        ),
        bound: if busy { "< 100 %" } else { "< 10 %" }.to_owned(),
    };
    eprintln!("  {}: {}", row.what, row.ours);
    row
}

/// People alternately comment and review.
fn write(simulator: &Simulator, repo: u64, pr: PrNumber, round: u64) -> usize {
    let repo = format!("acme/r{repo}");
    let body = format!("remark {round}, with a sentence or two about what should change and why");
    if round.is_multiple_of(4) {
        simulator.review(&repo, "rita", pr.get(), ReviewState::Commented, &body);
    } else {
        simulator.comment(&repo, "rita", pr.get(), &body);
    }
    1
}

fn poll_all(watchers: &mut [(GitHub, Since)], watched: &[PrNumber]) -> usize {
    let mut comments = 0;
    for (forge, since) in watchers {
        match forge.poll(watched, *since) {
            Ok(polled) => {
                comments += polled.comments.len();
                *since = polled.next;
            }
            Err(problem) => panic!("a poll failed: {problem}"),
        }
    }
    comments
}

/// One round of the baseline in one repository: three lists for each pull request.
fn plain_round(simulator: &Simulator, pulls: u64) -> Cost {
    simulator.forget_requests();
    let agent = ureq::Agent::config_builder()
        .proxy(None)
        .build()
        .new_agent();
    for pr in 1..=pulls {
        for list in ["issues/N/comments", "pulls/N/comments", "pulls/N/reviews"] {
            let list = list.replace('N', &pr.to_string());
            let url = format!("{}/repos/acme/r0/{list}", simulator.api_url());
            let bearer = format!("Bearer {}", Simulator::TOKEN);
            let answer = agent.get(&url).header("authorization", bearer).call();
            let body = answer.and_then(|mut answer| answer.body_mut().read_to_vec());
            assert!(body.is_ok(), "{body:?}");
        }
    }
    Cost::of(&simulator.requests())
}

fn watcher(api_url: &str, repo: u64, around: Surroundings) -> GitHub {
    let endpoint = Endpoint::new(api_url, &format!("acme/r{repo}"));
    let (Ok(endpoint), Some(token)) = (endpoint, Token::new(Simulator::TOKEN)) else {
        panic!("the simulator has an address and a token");
    };
    GitHub::new(endpoint, token, Bounds::default(), Route::Direct, around)
}

/// Requests and bytes are the same wherever answers are kept; memory is the faster place.
fn surroundings(clock: &SimClock) -> Surroundings {
    Surroundings {
        cache: Arc::new(MemoryCache::default()),
        budgets: Arc::new(MemoryBudgets::default()),
        clock: Arc::new(clock.clone()),
        pause: Arc::new(SimPause(clock.clone())),
        cancel: CancelToken::new(),
    }
}

/// The growth of this process while it watches a thousand pull requests of a simulator that runs in
/// another one.
fn memory() -> Option<Row> {
    let exe = std::env::current_exe().ok()?;
    let mut server = Command::new(exe)
        .arg(SERVE)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut url = String::new();
    BufReader::new(server.stdout.take()?)
        .read_line(&mut url)
        .ok()?;
    let clock = SimClock::default();
    clock.advance(HOUR);
    let around = surroundings(&clock);
    let before = resident_kib()?;
    let mut watchers: Vec<(GitHub, Since)> = (0..10)
        .map(|repo| {
            let since = clock.now().checked_sub(HOUR * 2).ok();
            (watcher(url.trim(), repo, around.clone()), Since(since))
        })
        .collect();
    let watched: Vec<PrNumber> = (1..=100).map(PrNumber::new).collect();
    for _ in 0..5 {
        poll_all(&mut watchers, &watched);
    }
    let grown = resident_kib()?.saturating_sub(before);
    drop(server.stdin.take());
    let _ = server.wait();
    Some(Row {
        what: "memory for 1,000 watched pull requests in 10 repositories".to_owned(),
        plain: "–".to_owned(),
        ours: format!("{grown} KiB more"),
        result: format!("{:.1} KiB each", grown as f64 / 1000.0),
        bound: "< 64 KiB each".to_owned(),
    })
}

/// The argument that makes this program a simulator.
pub(crate) const SERVE: &str = "forge-simulator";

/// Serves a thousand pull requests until the standard input ends.
pub(crate) fn serve() {
    let simulator = Simulator::start();
    simulator.stop_judging();
    for repo in 0..10 {
        simulator.add_quiet_repo("acme", &format!("r{repo}"), 100);
    }
    println!("{}", simulator.api_url());
    let _ = std::io::stdout().flush();
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
