//! Tests pages that are notified of changes.

use crate::serve::serving::Serving;
use crate::spawn::support::World;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A guard against hanging; no test depends on this time.
const PATIENCE: Duration = Duration::from_secs(60);

/// An event stream, after its header.
fn stream(serving: &Serving, path: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(serving.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let (host, cookie) = (serving.address, &serving.cookie);
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
    }
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.contains("text/event-stream"), "{head}");
    reader
}

/// Waits for the next message.
fn next(stream: &mut BufReader<TcpStream>) {
    let mut line = String::new();
    while !line.starts_with("data: changed") {
        line.clear();
        assert_ne!(stream.read_line(&mut line).unwrap(), 0, "the stream ended");
    }
}

#[test]
fn a_page_hears_of_a_run_that_another_process_starts() {
    let world = World::with_agent("echo done");
    let serving = Serving::start(&world, &[], &[]);
    let mut all = stream(&serving, "/events");
    // Changes before the stream began are unknown, so a page refreshes once.
    next(&mut all);
    let (_, run) = world.spawn(&["a task"]);
    next(&mut all);
    let id = run["runId"].as_str().unwrap();
    let mut one = stream(&serving, &format!("/runs/{id}/events"));
    next(&mut one);
    assert_eq!(serving.stranger("/events").status, 401);
    // A server that stops does not wait for its streams.
    let ended = serving.interrupt();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn pages_load_one_script_and_refresh_by_themselves_only_without_it_and_without_a_form() {
    let world = World::with_agent("echo half > half.txt; sleep 300");
    let mut child = world.start(&["spawn", "--json", "Take your time"]);
    let serving = Serving::start(&world, &[], &[]);
    let script = "<script src=\"/live.js\" defer></script>";
    let refresh = "<meta http-equiv=\"refresh\"";
    let list = loop {
        let list = serving.get("/").body;
        if list.contains("/runs/r") {
            break list;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(
        list.contains(script) && list.contains("data-events=\"/events\""),
        "{list}"
    );
    assert!(list.contains(&format!("<noscript>{refresh}")), "{list}");
    let id = list.split("/runs/").nth(1).unwrap();
    let id = id.split('"').next().unwrap();
    let page = serving.get(&format!("/runs/{id}")).body;
    assert!(page.contains(script) && page.contains("<form"), "{page}");
    assert!(
        page.contains(&format!("data-events=\"/runs/{id}/events\"")),
        "{page}"
    );
    assert!(!page.contains(refresh), "{page}");
    assert_eq!(serving.send(&format!("/runs/{id}"), "do=stop").status, 303);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    serving.kill();
}
