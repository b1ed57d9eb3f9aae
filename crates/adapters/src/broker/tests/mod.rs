mod outside;
mod renewal;
mod tokens;

use super::*;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::ControlFlow;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

const DUMMY: &str = "drive-0123456789";
const REAL: &str = "sk-real";

/// A server that answers every connection with these pieces, each when it is sent.
struct Model {
    address: SocketAddr,
    asked: Receiver<String>,
    pieces: Option<Sender<String>>,
}

impl Model {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, asked) = channel();
        let (pieces, given) = channel::<String>();
        std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            tell.send(request(&stream)).unwrap();
            for piece in given {
                (&stream).write_all(piece.as_bytes()).unwrap();
            }
        });
        Self {
            address,
            asked,
            pieces: Some(pieces),
        }
    }

    /// A server that answers immediately.
    fn answering(answer: &str) -> Self {
        let mut model = Self::start();
        model
            .pieces
            .take()
            .unwrap()
            .send(answer.to_owned())
            .unwrap();
        model
    }

    fn send(&self, piece: &str) {
        self.pieces
            .as_ref()
            .unwrap()
            .send(piece.to_owned())
            .unwrap();
    }

    fn asked(&self) -> String {
        self.asked.recv_timeout(Duration::from_secs(20)).unwrap()
    }
}

/// The head of a request and its body, as one text.
fn request(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut text = String::new();
    let mut length = 0;
    loop {
        let before = text.len();
        reader.read_line(&mut text).unwrap();
        let line = text[before..].to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    text + &String::from_utf8(body).unwrap()
}

fn grant(upstream: &str) -> Grant {
    Grant {
        dummy: DUMMY.to_owned(),
        real: REAL.to_owned(),
        upstream: upstream.to_owned(),
        headers: vec![("x-team".to_owned(), "blue".to_owned())],
    }
}

/// A running broker and its port.
struct Running {
    broker: Broker,
    port: u16,
}

fn start(dialect: Dialect, upstream: &str, outside: &Outside, on_usage: OnUsage) -> Running {
    let (listener, port) = Broker::bind().unwrap();
    let grants = [grant(upstream)];
    let renew = Box::new(Vec::new);
    let broker = Broker::start(listener, dialect, &grants, outside, renew, on_usage).unwrap();
    Running { broker, port }
}

fn broker(dialect: Dialect, upstream: &str) -> Running {
    start(
        dialect,
        upstream,
        &Outside::default(),
        Box::new(|_| ControlFlow::Continue(())),
    )
}

fn before(model: &Model, dialect: Dialect) -> Running {
    broker(dialect, &format!("http://{}/base", model.address))
}

fn connect(broker: &Running) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", broker.port)).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    stream
}

fn ask(broker: &Running, request_line: &str, headers: &str, body: &str) -> String {
    let mut stream = connect(broker);
    let length = body.len();
    let text = format!(
        "{request_line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\
         {headers}\r\n{body}"
    );
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn bearer(broker: &Running, request_line: &str, body: &str) -> String {
    let headers = format!("authorization: Bearer {DUMMY}\r\n");
    ask(broker, request_line, &headers, body)
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nset-cookie: a=b\r\n\r\nhi";

#[test]
fn the_key_takes_the_place_of_the_dummy_in_each_header_that_may_hold_one() {
    for (name, shown, sent) in [
        ("authorization", format!("Bearer {DUMMY}"), "Bearer sk-real"),
        ("x-api-key", DUMMY.to_owned(), REAL),
        ("x-goog-api-key", DUMMY.to_owned(), REAL),
        ("api-key", DUMMY.to_owned(), REAL),
    ] {
        let model = Model::answering(OK);
        let broker = before(&model, Dialect::Anthropic);
        let headers = format!(
            "{name}: {shown}\r\ncookie: c=1\r\nproxy-authorization: p\r\nx-team: red\r\n\
             anthropic-version: 1\r\naccept-encoding: gzip\r\n"
        );
        let line = "POST /v1/messages?beta=true&key=abc";
        let answer = ask(&broker, line, &headers, "{\"a\": 1}");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.ends_with("hi\r\n0\r\n\r\n"), "{answer}");
        assert!(!answer.contains("set-cookie"), "{answer}");
        let asked = model.asked();
        assert!(
            asked.starts_with("POST /base/v1/messages?beta=true HTTP/1.1\r\n"),
            "{asked}"
        );
        assert!(asked.ends_with("\r\n\r\n{\"a\": 1}"), "{asked}");
        for line in [
            format!("{name}: {sent}\r\n"),
            "x-team: blue\r\n".to_owned(),
            "anthropic-version: 1\r\n".to_owned(),
            "accept-encoding: identity\r\n".to_owned(),
        ] {
            assert!(asked.contains(&line), "{line} is missing in {asked}");
        }
        for gone in [DUMMY, "cookie", "proxy-authorization", "red", "gzip"] {
            assert!(!asked.contains(gone), "{gone} is in {asked}");
        }
    }
}

#[test]
fn without_the_dummy_nobody_is_answered() {
    let model = Model::start();
    let broker = before(&model, Dialect::Anthropic);
    for headers in [
        String::new(),
        "authorization: Bearer wrong\r\n".to_owned(),
        format!("authorization: Bearer {DUMMY}x\r\n"),
        format!("authorization: Basic {DUMMY}\r\n"),
        format!("x-other: {DUMMY}\r\n"),
        format!("authorization: Bearer {REAL}\r\n"),
    ] {
        let answer = ask(&broker, "POST /v1/messages", &headers, "{}");
        assert!(answer.starts_with("HTTP/1.1 401"), "{headers}: {answer}");
    }
    assert!(model.asked.try_recv().is_err(), "the model was asked");
}

#[test]
fn another_path_of_the_account_is_refused_by_name() {
    let model = Model::start();
    let broker = before(&model, Dialect::OpenAi);
    let answer = bearer(&broker, "GET /files", "");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    assert!(answer.contains("not /files"), "{answer}");
    assert!(model.asked.try_recv().is_err(), "the model was asked");
}

#[test]
fn the_agent_reads_each_event_before_the_model_sends_the_next_one() {
    let model = Model::start();
    let broker = before(&model, Dialect::OpenAi);
    let mut stream = connect(&broker);
    let head = format!(
        "POST /responses HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {DUMMY}\r\n\
         content-length: 2\r\n\r\n{{}}"
    );
    stream.write_all(head.as_bytes()).unwrap();
    model.asked();
    model.send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n");
    let mut reader = BufReader::new(stream);
    for number in 0..3 {
        model.send(&format!("data: {number}\n\n"));
        let expected = format!("data: {number}\n");
        let mut line = String::new();
        while line != expected {
            line.clear();
            assert_ne!(reader.read_line(&mut line).unwrap(), 0, "it ended early");
        }
    }
}

#[test]
fn a_request_over_the_limit_is_refused_before_it_is_read() {
    let model = Model::start();
    let broker = before(&model, Dialect::OpenAi);
    let mut stream = connect(&broker);
    let length = serve::MOST_REQUEST + 1;
    let head = format!(
        "POST /responses HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {DUMMY}\r\n\
         content-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 413"), "{line}");
}

#[test]
fn connections_over_the_limit_wait_for_one_that_ends() {
    let model = Model::answering(OK);
    let broker = before(&model, Dialect::OpenAi);
    let mut open: Vec<TcpStream> = (0..connections::MOST).map(|_| connect(&broker)).collect();
    let mut waiting = connect(&broker);
    waiting
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let head = "GET /files HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    waiting.write_all(head.as_bytes()).unwrap();
    assert!(waiting.read(&mut [0; 1]).is_err(), "it was served");
    open.pop();
    waiting
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let mut answer = String::new();
    waiting.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
}

/// The load that an agent leaves behind is limited: calls keep their slots even after it has gone.
#[test]
fn calls_over_the_limit_wait_for_one_that_the_model_has_answered() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let (tell, called) = channel();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        while let Ok((stream, _)) = silent.accept() {
            open.push(stream);
            if tell.send(()).is_err() {
                return;
            }
        }
    });
    let broker = broker(Dialect::OpenAi, &format!("http://{address}"));
    let call = || {
        let mut stream = connect(&broker);
        let text = format!(
            "POST /responses HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {DUMMY}\r\n\
             content-length: 2\r\n\r\n{{}}"
        );
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    let open: Vec<TcpStream> = (0..shared::MOST_CALLS).map(|_| call()).collect();
    for _ in &open {
        called.recv_timeout(Duration::from_secs(20)).unwrap();
    }
    drop(open);
    let _more: Vec<TcpStream> = (0..8).map(|_| call()).collect();
    assert!(called.recv_timeout(Duration::from_millis(500)).is_err());
}

#[test]
fn a_header_that_the_model_does_not_need_is_left_out() {
    let all = "helicone-target-url: https://evil.example\r\nx-portkey-custom-host: evil\r\n\
               x-forwarded-host: evil\r\nx-http-method-override: evil\r\nx-original-url: /evil\r\n\
               x-goog-fieldmask: evil\r\nx-openai-account-routing-override: evil\r\n\
               chatgpt-account-id: evil\r\nx-goog-user-project: evil\r\ncookie: evil\r\n\
               originator: codex\r\nx-codex-window-id: 1\r\nanthropic-beta: a\r\n\
               x-stainless-os: Linux\r\nx-goog-api-client: genai\r\naccept: */*\r\n";
    for (dialect, line, kept) in [
        (
            Dialect::OpenAi,
            "POST /responses",
            ["originator: codex", "x-codex-window-id: 1"],
        ),
        (
            Dialect::Anthropic,
            "POST /v1/messages",
            ["anthropic-beta: a", "x-stainless-os: linux"],
        ),
        (
            Dialect::Gemini,
            "POST /v1beta/models/pro:generateContent",
            ["x-goog-api-client: genai", "accept: */*"],
        ),
    ] {
        let model = Model::answering(OK);
        let broker = before(&model, dialect);
        let headers = format!("authorization: Bearer {DUMMY}\r\n{all}");
        ask(&broker, line, &headers, "{}");
        let asked = model.asked().to_lowercase();
        assert!(!asked.contains("evil"), "{asked}");
        for kept in kept {
            assert!(asked.contains(kept), "{kept} is missing in {asked}");
        }
    }
}

#[test]
fn the_key_of_another_server_is_not_sent_along() {
    let model = Model::answering(OK);
    let (listener, port) = Broker::bind().unwrap();
    let other = Grant {
        dummy: "drive-other".to_owned(),
        real: "sk-other".to_owned(),
        ..grant("http://127.0.0.1:1")
    };
    let grants = [grant(&format!("http://{}", model.address)), other];
    let on_usage = Box::new(|_| ControlFlow::Continue(()));
    let outside = Outside::default();
    let renew = Box::new(Vec::new);
    let dialect = Dialect::OpenAi;
    let broker = Broker::start(listener, dialect, &grants, &outside, renew, on_usage).unwrap();
    let headers = format!("authorization: Bearer {DUMMY}\r\nx-api-key: drive-other\r\n");
    ask(&Running { broker, port }, "POST /responses", &headers, "{}");
    let asked = model.asked();
    assert!(
        asked.contains(REAL) && !asked.contains("sk-other"),
        "{asked}"
    );
}

#[test]
fn a_model_that_cannot_be_reached_is_named_and_the_key_is_not() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let broker = broker(Dialect::OpenAi, &upstream);
    let answer = bearer(&broker, "POST /responses", "{}");
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
    let server = upstream.trim_start_matches("http://");
    let message = format!("drive could not reach {server}: ");
    assert!(answer.contains(&message), "{answer}");
    assert!(!answer.contains(REAL), "{answer}");
}

#[test]
fn an_error_and_a_redirect_of_the_model_are_passed_on_as_they_are() {
    let other = Model::start();
    for (answer, status) in [
        (
            "HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\nno".to_owned(),
            "401",
        ),
        (
            format!(
                "HTTP/1.1 307 Elsewhere\r\nlocation: http://{}/\r\ncontent-length: 0\r\n\r\n",
                other.address
            ),
            "307",
        ),
    ] {
        let model = Model::answering(&answer);
        let broker = before(&model, Dialect::OpenAi);
        let answer = bearer(&broker, "POST /responses", "{}");
        assert_eq!(&answer[9..12], status, "{answer}");
    }
    assert!(other.asked.try_recv().is_err(), "the key went elsewhere");
}
