//! Measures signed webhook deliveries in parallel with senders that hold connections and send
//! unsigned requests.

use crate::arrival::{self, REPO, SECRET};
use crate::fleet;
use crate::place::Place;
use crate::startup::built_drive;
use crate::table::Row;
use drive_core::forge::webhook::WebhookSecret;
use drive_testkit::github::Simulator;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const TRICKLERS: usize = 64;
const UNSIGNED: usize = 1000;
const SENDERS: usize = 8;
const SIGNED: usize = 200;
/// A usual size of GitHub's payloads.
const BYTES: usize = 30 * 1024;
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn run() -> Vec<Row> {
    let Some(drive) = built_drive() else {
        return Vec::new();
    };
    let simulator = Simulator::start();
    simulator.add_repo("acme", "widgets");
    let place = Place::new(drive, 10);
    arrival::prepare(&place, &simulator);
    let (_serving, url) = arrival::serve(&place);
    let address = url.trim_start_matches("http://");
    let (host, path) = address.split_once('/').expect("an address with a path");
    let receiver = Receiver {
        host: host.to_owned(),
        path: format!("/{path}"),
        secret: WebhookSecret::new(SECRET).expect("a secret"),
    };
    let (alone, _) = receiver.deliver_all("alone", || false);
    let over = AtomicBool::new(false);
    let left = AtomicUsize::new(0);
    let (beside, lost) = std::thread::scope(|scope| {
        scope.spawn(|| receiver.trickle(&over));
        for _ in 0..SENDERS {
            scope.spawn(|| receiver.send_unsigned(&left));
        }
        let busy = || left.load(Ordering::SeqCst) < UNSIGNED;
        let answered = receiver.deliver_all("beside", busy);
        over.store(true, Ordering::SeqCst);
        answered
    });
    let stored: u64 = fleet::connection(&fleet::database_of(&place))
        .query_row("SELECT count(*) FROM webhook_deliveries", [], |row| {
            row.get(0)
        })
        .unwrap_or_default();
    let shown = |times: &[Duration]| format!("p99 {} ms", p99(times).as_millis());
    vec![Row {
        what: format!(
            "signed deliveries beside {TRICKLERS} trickling connections and {UNSIGNED} unsigned bodies, \
             against none beside"
        ),
        plain: shown(&alone),
        ours: shown(&beside),
        result: format!("{lost} of {} lost, {stored} stored", beside.len() + lost),
        bound: "none lost, p99 ≤ 1 s".to_owned(),
    }]
}

fn p99(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    times
        .get(times.len() * 99 / 100)
        .copied()
        .unwrap_or_default()
}

struct Receiver {
    host: String,
    path: String,
    secret: WebhookSecret,
}

impl Receiver {
    fn head(&self, id: &str, signature: &str, bytes: usize) -> String {
        format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             X-GitHub-Event: issue_comment\r\nX-GitHub-Delivery: {id}\r\n\
             X-Hub-Signature-256: {signature}\r\nContent-Length: {bytes}\r\n\r\n",
            self.path, self.host
        )
    }

    fn forged(&self) -> String {
        format!("sha256={}", "0".repeat(64))
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.host).expect("the receiver listens");
        let _ = stream.set_read_timeout(Some(PATIENCE));
        stream
    }

    /// Delivers the signed ones and more while `busy`, and returns the times of the accepted ones
    /// and how many were not.
    fn deliver_all(&self, name: &str, busy: impl Fn() -> bool) -> (Vec<Duration>, usize) {
        let body = format!(
            r#"{{"repository":{{"full_name":"{REPO}"}},"issue":{{"number":1,"pull_request":{{}}}},"text":"{}"}}"#,
            "x".repeat(BYTES)
        );
        let signature = self.secret.sign(body.as_bytes());
        let mut times = Vec::new();
        let mut lost = 0;
        let mut number = 0;
        while number < SIGNED || busy() {
            number += 1;
            let head = self.head(&format!("{name}-{number}"), &signature, body.len());
            let begun = Instant::now();
            let mut stream = self.connect();
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
            let mut answer = String::new();
            let _ = stream.read_to_string(&mut answer);
            if answer.starts_with("HTTP/1.1 202 ") {
                times.push(begun.elapsed());
            } else {
                lost += 1;
            }
        }
        (times, lost)
    }

    /// Sends bodies with a forged signature until enough were sent.
    fn send_unsigned(&self, sent: &AtomicUsize) {
        let body = "x".repeat(BYTES);
        let head = self.head("forged", &self.forged(), body.len());
        while sent.fetch_add(1, Ordering::SeqCst) < UNSIGNED {
            let mut stream = self.connect();
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
            let _ = stream.read_to_end(&mut Vec::new());
        }
    }

    /// Holds connections by sending a byte now and then, half in the header and half in the body,
    /// and reopens those that were closed.
    fn trickle(&self, over: &AtomicBool) {
        let open = |number: usize| {
            let mut stream = self.connect();
            let head = self.head("slow", &self.forged(), 1024 * 1024);
            let begun = if number.is_multiple_of(2) {
                "POST "
            } else {
                &head
            };
            let _ = stream.write_all(begun.as_bytes());
            let _ = stream.set_nonblocking(true);
            stream
        };
        let mut streams: Vec<TcpStream> = (0..TRICKLERS).map(open).collect();
        while !over.load(Ordering::SeqCst) {
            for (number, stream) in streams.iter_mut().enumerate() {
                let sent = stream.write(b"x");
                let read = stream.read(&mut [0; 512]);
                let held = read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
                if sent.is_err() || !held {
                    *stream = open(number);
                }
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
