//! Tests senders that hold connections or send unsigned requests, in parallel with signed deliveries.

use drive_core::forge::webhook::{Nudge, WebhookSecret};
use drive_core::problem::Problem;
use drive_core::time::Timestamp;
use drive_engine::ports::{Clock, Deliveries, Nudges};
use drive_web::Limits;
use drive_web::server::{Listen, Server};
use drive_web::webhook::{self, BODY_BYTES, Handlers, PATH};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A guard against hanging; no test depends on this time.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long to wait for an answer that is expected not to come.
const SILENCE: Duration = Duration::from_secs(1);
const FOREVER: Duration = Duration::from_secs(3600);

const SECRET: &str = "It's a Secret to Everybody";
const COMMENT: &[u8] = br#"{"action":"created","repository":{"full_name":"octo/hello"},
    "issue":{"number":7,"pull_request":{}},"comment":{"id":1,"user":null}}"#;
const TRICKLERS: usize = 64;
const UNSIGNED: usize = 1000;
const SIGNED: usize = 100;

/// Accepts everything, and counts the nudges.
#[derive(Clone, Default)]
struct Counter(Arc<AtomicUsize>);

impl Clock for Counter {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

impl Deliveries for Counter {
    fn is_first(&self, _id: &str, _at: Timestamp) -> Result<bool, Problem> {
        Ok(true)
    }
}

impl Nudges for Counter {
    fn nudge(&self, _nudge: Nudge) -> Result<(), Problem> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

fn start(limits: Limits) -> (Server, Counter) {
    let counter = Counter::default();
    let handlers = Handlers {
        deliveries: Arc::new(counter.clone()),
        nudges: Arc::new(counter.clone()),
        clock: Arc::new(counter.clone()),
        report: Box::new(|problem| panic!("{problem}")),
    };
    let router = webhook::router(WebhookSecret::new(SECRET).unwrap(), handlers).unwrap();
    let listen = Listen::Loopback { port: 0 };
    let server = Server::start_within(listen, router, limits).unwrap();
    (server, counter)
}

fn head(signature: &str, length: usize) -> String {
    format!(
        "POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         X-GitHub-Event: issue_comment\r\nX-GitHub-Delivery: d1\r\n\
         X-Hub-Signature-256: {signature}\r\nContent-Length: {length}\r\n\r\n"
    )
}

fn forged() -> String {
    WebhookSecret::new("another").unwrap().sign(COMMENT)
}

fn connect(address: SocketAddr, patience: Duration) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(patience)).unwrap();
    stream
}

/// The status of the answer, if there is one.
fn status(stream: &mut TcpStream) -> Option<u16> {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    answer.split(' ').nth(1)?.parse().ok()
}

fn deliver(address: SocketAddr, patience: Duration) -> Option<u16> {
    let signature = WebhookSecret::new(SECRET).unwrap().sign(COMMENT);
    let mut stream = connect(address, patience);
    let _ = stream.write_all(&[head(&signature, COMMENT.len()).as_bytes(), COMMENT].concat());
    status(&mut stream)
}

/// Connections that send a byte now and then, half of them in the header and half in a body with a
/// forged signature, and that reconnect when they are closed.
struct Tricklers {
    address: SocketAddr,
    streams: Vec<TcpStream>,
}

impl Tricklers {
    fn new(address: SocketAddr) -> Self {
        let streams = (0..TRICKLERS).map(|number| Self::open(address, number));
        let streams = streams.collect();
        Self { address, streams }
    }

    fn open(address: SocketAddr, number: usize) -> TcpStream {
        let mut stream = TcpStream::connect(address).unwrap();
        let head = head(&forged(), BODY_BYTES);
        let begun = if number.is_multiple_of(2) {
            "POST "
        } else {
            &head
        };
        let _ = stream.write_all(begun.as_bytes());
        stream.set_nonblocking(true).unwrap();
        stream
    }

    fn trickle(&mut self) {
        for (number, stream) in self.streams.iter_mut().enumerate() {
            let sent = stream.write(b"x");
            let read = stream.read(&mut [0; 512]);
            let open = sent.is_ok() && read.is_err_and(|e| e.kind() == ErrorKind::WouldBlock);
            if !open {
                *stream = Self::open(self.address, number);
            }
        }
    }
}

/// Limits that 64 such connections exhaust.
fn narrow() -> Limits {
    Limits {
        connections: TRICKLERS,
        ..Limits::default()
    }
}

#[test]
fn tricklers_and_unsigned_bodies_cost_no_signed_delivery() {
    let (server, counter) = start(narrow());
    let address = server.address();
    let over = AtomicBool::new(false);
    let tricklers = Mutex::new(Tricklers::new(address));
    let unsigned = AtomicUsize::new(0);
    let answers: Vec<Option<u16>> = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut tricklers = tricklers.lock().unwrap();
            while !over.load(Ordering::SeqCst) {
                tricklers.trickle();
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        for _ in 0..8 {
            scope.spawn(|| {
                let body = vec![b' '; 4 * 1024];
                let head = head(&forged(), body.len());
                while unsigned.fetch_add(1, Ordering::SeqCst) < UNSIGNED {
                    let mut stream = connect(address, PATIENCE);
                    let _ = stream.write_all(&[head.as_bytes(), &body].concat());
                    let status = status(&mut stream);
                    assert_ne!(status, Some(202), "an unsigned body was accepted");
                }
            });
        }
        let answers = (0..SIGNED).map(|_| deliver(address, PATIENCE)).collect();
        over.store(true, Ordering::SeqCst);
        answers
    });
    assert_eq!(answers, vec![Some(202); SIGNED]);
    drop(tricklers);
    drop(server);
    assert_eq!(counter.0.load(Ordering::SeqCst), SIGNED);
}

#[test]
fn without_shedding_the_same_tricklers_starve_a_signed_delivery() {
    let (server, _) = start(Limits {
        header: FOREVER,
        body: FOREVER,
        shed_header: FOREVER,
        shed_body: FOREVER,
        ..narrow()
    });
    let mut tricklers = Tricklers::new(server.address());
    tricklers.trickle();
    assert_eq!(deliver(server.address(), SILENCE), None);
    drop(tricklers);
    assert_eq!(deliver(server.address(), PATIENCE), Some(202));
}

/// Sends single bytes until the connection ends, and returns what was received.
fn trickle_until_the_end(stream: &mut TcpStream) -> Vec<u8> {
    let pause = Duration::from_millis(10);
    stream.set_read_timeout(Some(pause)).unwrap();
    let mut answer = Vec::new();
    for _ in 0..PATIENCE.as_millis() / pause.as_millis() {
        let sent = stream.write(b"x");
        let mut buffer = [0; 512];
        match stream.read(&mut buffer) {
            Ok(0) => return answer,
            Ok(read) => answer.extend_from_slice(&buffer[..read]),
            Err(error) if error.kind() == ErrorKind::WouldBlock && sent.is_ok() => {}
            Err(_) => return answer,
        }
    }
    panic!("the connection never ended");
}

#[test]
fn a_header_that_trickles_ends_at_its_deadline() {
    let (server, _) = start(Limits {
        header: Duration::from_millis(300),
        ..Limits::default()
    });
    let mut stream = connect(server.address(), PATIENCE);
    stream.write_all(b"POST / HTTP/1.1\r\nX-Long: ").unwrap();
    assert_eq!(trickle_until_the_end(&mut stream), b"");
    assert_eq!(deliver(server.address(), PATIENCE), Some(202));
}

#[test]
fn a_body_that_trickles_ends_at_its_deadline_with_an_answer() {
    let (server, _) = start(Limits {
        body: Duration::from_millis(300),
        ..Limits::default()
    });
    let mut stream = connect(server.address(), PATIENCE);
    let head = head(&forged(), BODY_BYTES);
    stream.write_all(head.as_bytes()).unwrap();
    let answer = trickle_until_the_end(&mut stream);
    assert!(answer.starts_with(b"HTTP/1.1 408 "), "{answer:?}");
}

#[test]
fn a_body_for_an_unknown_path_is_not_read_to_its_end() {
    let (server, _) = start(Limits::default());
    let mut stream = connect(server.address(), PATIENCE);
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
        .write_all(
            b"POST /elsewhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999999999\r\n\r\n",
        )
        .unwrap();
    let piece = vec![b'x'; 64 * 1024];
    while stream.write_all(&piece).is_ok() {}
}

#[test]
fn what_the_header_shows_to_be_wrong_is_refused_before_the_body_is_sent() {
    let (server, _) = start(Limits::default());
    let signature = forged();
    let whole = head(&signature, 1000);
    let cases = [
        (whole.replace("X-Hub-Signature-256", "X-Nothing"), 401),
        (whole.replace(&signature, "sha256=short"), 401),
        (whole.replace("X-GitHub-Event", "X-Nothing"), 400),
        (whole.replace("X-GitHub-Delivery", "X-Nothing"), 400),
        (whole.replace("application/json", "text/plain"), 415),
        (whole.replace(PATH, "/elsewhere"), 404),
        (head(&signature, BODY_BYTES + 1), 413),
    ];
    for (head, expected) in cases {
        let mut stream = connect(server.address(), PATIENCE);
        stream.write_all(head.as_bytes()).unwrap();
        assert_eq!(status(&mut stream), Some(expected), "{head}");
    }
}
