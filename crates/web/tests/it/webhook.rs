//! Tests the receiver over real HTTP on loopback.

use drive_adapters::store::{Database, SqliteDeliveries, SqliteNudges};
use drive_core::forge::webhook::{Nudge, WebhookSecret};
use drive_core::forge::{Permission, ReviewState};
use drive_core::ids::PrNumber;
use drive_core::problem::{Kind, Problem};
use drive_core::time::Timestamp;
use drive_engine::ports::{Clock, Deliveries, NudgeLog, Nudges};
use drive_testkit::github::Simulator;
use drive_web::server::{Exposure, Listen, Server};
use drive_web::webhook::{self, BODY_BYTES, Handlers, PATH};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// A guard against hanging; no test depends on this time.
const PATIENCE: Duration = Duration::from_secs(60);

const SECRET: &str = "It's a Secret to Everybody";

const COMMENT: &[u8] = br#"{"action":"created","repository":{"full_name":"octo/hello"},
    "issue":{"number":7,"pull_request":{}},"comment":{"id":1,"user":null}}"#;

struct Standing;

impl Clock for Standing {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

/// Deliveries in memory, which can be made to fail or to wait for a gate.
#[derive(Default)]
struct Ledger {
    seen: Mutex<BTreeSet<String>>,
    broken: bool,
    gate: Option<Arc<Gate>>,
}

#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    fn wait(&self) {
        let guard = self.open.lock().unwrap();
        drop(self.opened.wait_while(guard, |open| !*open).unwrap());
    }
}

impl Deliveries for Ledger {
    fn is_first(&self, id: &str, _at: Timestamp) -> Result<bool, Problem> {
        if let Some(gate) = &self.gate {
            gate.wait();
        }
        if self.broken {
            return Err(Problem::new(Kind::DiskFull, "no space left"));
        }
        Ok(self.seen.lock().unwrap().insert(id.to_owned()))
    }
}

struct Fixture {
    server: Server,
    secret: WebhookSecret,
    nudges: Receiver<Nudge>,
    problems: Receiver<Problem>,
}

impl Fixture {
    fn new(ledger: Ledger) -> Self {
        Self::with(Arc::new(ledger), None)
    }

    /// Without `place`, nudges go to the channel.
    fn with(deliveries: Arc<dyn Deliveries>, place: Option<Arc<dyn Nudges>>) -> Self {
        let secret = WebhookSecret::new(SECRET).unwrap();
        let (nudged, nudges) = sync_channel(16);
        let (reported, problems) = channel();
        let handlers = Handlers {
            deliveries,
            nudges: place.unwrap_or(Arc::new(nudged)),
            clock: Arc::new(Standing),
            report: Box::new(move |problem| reported.send(problem).unwrap()),
        };
        let router = webhook::router(secret.clone(), handlers).unwrap();
        let server = Server::start(Listen::Loopback { port: 0 }, router).unwrap();
        Self {
            server,
            secret,
            nudges,
            problems,
        }
    }

    fn deliver(&self, event: &str, id: &str, body: &[u8]) -> u16 {
        let signature = self.secret.sign(body);
        self.send(&headers(event, id, &signature), body)
    }

    fn send(&self, headers: &[(&str, &str)], body: &[u8]) -> u16 {
        status(self.server.address(), "POST", headers, body)
    }

    /// Every nudge before the server and its thread ended.
    fn finish(self) -> (Vec<Nudge>, Vec<Problem>) {
        drop(self.server);
        (self.nudges.iter().collect(), self.problems.iter().collect())
    }
}

fn headers<'a>(event: &'a str, id: &'a str, signature: &'a str) -> [(&'a str, &'a str); 4] {
    [
        ("Content-Type", "application/json"),
        ("X-GitHub-Event", event),
        ("X-GitHub-Delivery", id),
        ("X-Hub-Signature-256", signature),
    ]
}

fn status(address: SocketAddr, method: &str, headers: &[(&str, &str)], body: &[u8]) -> u16 {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut head = format!("{method} {PATH} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    stream.write_all(head.as_bytes()).unwrap();
    // A server that refuses early may close the connection before it has read everything.
    let _ = stream.write_all(body);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    answer
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .unwrap_or(0)
}

fn nudge(pr: PrNumber) -> Nudge {
    Nudge {
        repository: "octo/hello".to_owned(),
        pr,
    }
}

#[test]
fn a_signed_comment_nudges_its_pull_request() {
    let fixture = Fixture::new(Ledger::default());
    assert_eq!(fixture.deliver("issue_comment", "d1", COMMENT), 202);
    assert_eq!(fixture.finish(), (vec![nudge(PrNumber::new(7))], vec![]));
}

#[test]
fn a_doubled_delivery_nudges_once() {
    let fixture = Fixture::new(Ledger::default());
    let codes = ["d1", "d1", "d2"].map(|id| fixture.deliver("issue_comment", id, COMMENT));
    assert_eq!(codes, [202, 202, 202]);
    assert_eq!(
        fixture.finish().0,
        [nudge(PrNumber::new(7)), nudge(PrNumber::new(7))]
    );
}

/// The stores of a state directory, as `drive serve` uses them.
fn durable(state: &tempfile::TempDir) -> (SqliteDeliveries, SqliteNudges) {
    let database = Database::open(&state.path().join("drive.sqlite3")).unwrap();
    let database = Arc::new(database);
    let nudges = SqliteNudges::new(database.clone(), Arc::new(Standing));
    (SqliteDeliveries::new(database), nudges)
}

#[test]
fn a_delivery_that_github_sends_twice_nudges_once_even_across_a_restart() {
    const REPO: &str = "octo/hello";
    let state = tempfile::tempdir().unwrap();
    let start = || {
        let (deliveries, nudges) = durable(&state);
        Fixture::with(Arc::new(deliveries), Some(Arc::new(nudges)))
    };
    let fixture = start();
    let simulator = Simulator::start();
    simulator.add_repo("octo", "hello");
    simulator.push_file(REPO, "feature", "a.txt", "a\n");
    let pr = simulator.open_pull(REPO, "ann", "feature");
    let url = format!("http://{}{PATH}", fixture.server.address());
    simulator.add_hook(REPO, &url, SECRET);
    simulator.comment(REPO, "ann", pr, "please look");

    let deliveries = simulator.take_deliveries();
    let [delivery] = deliveries.as_slice() else {
        panic!("one comment, one delivery: {deliveries:?}");
    };
    let codes = [delivery.send().unwrap(), delivery.send().unwrap()];
    assert_eq!(codes, [202, 202]);
    assert_eq!(fixture.finish().1, []);

    // Another process takes over, and GitHub sends the delivery again.
    let again = start();
    let (event, id) = ("issue_comment", delivery.id.as_str());
    assert_eq!(again.deliver(event, id, &delivery.body), 202);
    assert_eq!(again.deliver(event, "another", &delivery.body), 202);
    assert_eq!(again.finish().1, []);
    let heard = durable(&state).1.newer_than(0, REPO).unwrap();
    let heard: Vec<Nudge> = heard.into_iter().map(|kept| kept.nudge).collect();
    assert_eq!(
        heard,
        [nudge(PrNumber::new(pr)), nudge(PrNumber::new(pr))],
        "one for each id"
    );
}

#[test]
fn everything_github_tells_about_a_pull_request_nudges_it() {
    const REPO: &str = "octo/hello";
    let fixture = Fixture::new(Ledger::default());
    let simulator = Simulator::start();
    simulator.add_repo("octo", "hello");
    simulator.add_person(REPO, "wim", Permission::Write);
    simulator.push_file(REPO, "feature", "a.txt", "a\n");
    let url = format!("http://{}{PATH}", fixture.server.address());
    simulator.add_hook(REPO, &url, SECRET);
    let pr = simulator.open_pull(REPO, "ann", "feature");
    simulator.comment(REPO, "wim", pr, "please look");
    simulator.comment_on_line(REPO, "wim", pr, "a.txt", 1, "this line");
    simulator.review(REPO, "wim", pr, ReviewState::Approved, "fine");
    simulator.push_file(REPO, "feature", "b.txt", "b\n");
    simulator.close_pull(REPO, "ann", pr);
    let deliveries = simulator.take_deliveries();
    let events: BTreeSet<&str> = deliveries.iter().map(|one| one.event).collect();
    let expected = [
        "issue_comment",
        "pull_request",
        "pull_request_review",
        "pull_request_review_comment",
    ];
    assert_eq!(events, BTreeSet::from(expected));
    for delivery in &deliveries {
        assert_eq!(delivery.send().unwrap(), 202, "{}", delivery.event);
    }
    let count = deliveries.len();
    assert_eq!(
        fixture.finish(),
        (vec![nudge(PrNumber::new(pr)); count], vec![])
    );
}

#[test]
fn nobody_without_the_secret_is_heard() {
    let fixture = Fixture::new(Ledger::default());
    let other = WebhookSecret::new("another").unwrap().sign(COMMENT);
    let good = fixture.secret.sign(COMMENT);
    let unsigned = &headers("issue_comment", "d1", "")[..3];
    assert_eq!(fixture.send(unsigned, COMMENT), 401);
    assert_eq!(
        fixture.send(&headers("issue_comment", "d1", &other), COMMENT),
        401
    );
    assert_eq!(
        fixture.send(&headers("issue_comment", "d1", &good), b"{}"),
        401
    );
    assert_eq!(fixture.finish(), (vec![], vec![]));
}

#[test]
fn what_drive_does_not_watch_is_accepted_and_ignored() {
    let fixture = Fixture::new(Ledger::default());
    let issue = br#"{"repository":{"full_name":"octo/hello"},"issue":{"number":7}}"#;
    let codes = [
        fixture.deliver("ping", "d1", b"{\"zen\":\"Keep it logically awesome.\"}"),
        fixture.deliver("star", "d2", COMMENT),
        fixture.deliver("issue_comment", "d3", issue),
    ];
    assert_eq!(codes, [202, 202, 202]);
    assert_eq!(fixture.finish(), (vec![], vec![]));
}

#[test]
fn a_delivery_that_cannot_be_read_is_told_so() {
    let fixture = Fixture::new(Ledger::default());
    let good = fixture.secret.sign(COMMENT);
    let [json, event, id, signature] = headers("issue_comment", "d1", &good);
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let long = ("X-GitHub-Delivery", &*"x".repeat(200));
    let codes = [
        fixture.deliver("issue_comment", "d1", b"{\"repository\":"),
        fixture.send(&[json, id, signature], COMMENT),
        fixture.send(&[json, event, signature], COMMENT),
        fixture.send(&[json, event, long, signature], COMMENT),
        fixture.send(&[form, event, id, signature], COMMENT),
        status(fixture.server.address(), "GET", &[], b""),
    ];
    assert_eq!(codes, [400, 400, 400, 400, 415, 405]);
    assert_eq!(fixture.finish(), (vec![], vec![]));
}

#[test]
fn a_body_beyond_the_cap_is_not_taken() {
    let fixture = Fixture::new(Ledger::default());
    let body = vec![b' '; BODY_BYTES + 1];
    let code = fixture.deliver("issue_comment", "d1", &body);
    // The refusal may be lost when the connection closes before the body is read, but the status is
    // never 202.
    assert!([413, 0].contains(&code), "{code}");
    assert_eq!(fixture.deliver("issue_comment", "d2", COMMENT), 202);
    assert_eq!(fixture.finish().0, [nudge(PrNumber::new(7))]);
}

#[test]
fn the_answer_comes_before_any_work() {
    let gate = Arc::new(Gate::default());
    let fixture = Fixture::new(Ledger {
        gate: Some(gate.clone()),
        ..Ledger::default()
    });
    // The work cannot begin before the gate opens, but all answers have arrived.
    let codes = ["d1", "d2", "d3"].map(|id| fixture.deliver("issue_comment", id, COMMENT));
    assert_eq!(codes, [202, 202, 202]);
    assert!(fixture.nudges.try_recv().is_err());
    gate.open();
    assert_eq!(fixture.finish().0.len(), 3);
}

#[test]
fn a_store_that_fails_costs_no_hint_and_is_reported() {
    let fixture = Fixture::new(Ledger {
        broken: true,
        ..Ledger::default()
    });
    assert_eq!(fixture.deliver("issue_comment", "d1", COMMENT), 202);
    let (nudges, problems) = fixture.finish();
    let kinds: Vec<Kind> = problems.into_iter().map(|problem| problem.kind).collect();
    assert_eq!(
        (nudges, kinds),
        (vec![nudge(PrNumber::new(7))], vec![Kind::DiskFull])
    );
}

#[test]
fn githubs_example_of_a_pull_request_is_read() {
    let fixture = Fixture::new(Ledger::default());
    let body = include_bytes!("../../../testkit/data/github/examples/pulls__get.200.default.json");
    let pull: serde_json::Value = serde_json::from_slice(body).unwrap();
    let payload = serde_json::json!({
        "action": "synchronize",
        "repository": pull["base"]["repo"],
        "pull_request": pull,
    });
    let body = serde_json::to_vec(&payload).unwrap();
    for (event, id) in [
        ("pull_request", "d1"),
        ("pull_request_review", "d2"),
        ("pull_request_review_comment", "d3"),
    ] {
        assert_eq!(fixture.deliver(event, id, &body), 202, "{event}");
    }
    let expected = Nudge {
        repository: "octocat/Hello-World".to_owned(),
        pr: PrNumber::new(1347),
    };
    assert_eq!(fixture.finish().0, vec![expected; 3]);
}

#[test]
fn only_loopback_is_listened_on_without_being_asked() {
    let everywhere: SocketAddr = "0.0.0.0:0".parse().unwrap();
    let here: SocketAddr = "127.0.0.1:8042".parse().unwrap();
    assert_eq!(
        Listen::parse(everywhere, Exposure::Unasked)
            .unwrap_err()
            .kind,
        Kind::ListenExposed
    );
    assert_eq!(
        Listen::parse(everywhere, Exposure::Wanted),
        Ok(Listen::Exposed(everywhere))
    );
    assert_eq!(
        Listen::parse(here, Exposure::Unasked),
        Ok(Listen::Loopback { port: 8042 })
    );
    let fixture = Fixture::new(Ledger::default());
    assert!(fixture.server.address().ip().is_loopback());
}

#[test]
fn a_port_that_is_taken_is_a_problem_with_its_address() {
    let fixture = Fixture::new(Ledger::default());
    let taken = fixture.server.address();
    let listen = Listen::Loopback { port: taken.port() };
    let problem = Server::start(listen, drive_web::Router::new()).unwrap_err();
    assert_eq!(problem.kind, Kind::ListenFailed);
    assert_eq!(problem.message, format!("cannot listen on `{taken}`"));
}
