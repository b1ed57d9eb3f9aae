use super::*;
use std::time::Duration;

const GITHUB: &str = "192.0.2.1:443";

fn limits() -> Limits {
    Limits {
        connections: 4,
        per_address: 2,
        body_bytes: 100,
        ..Limits::default()
    }
}

fn source(address: &str) -> Source {
    Source::of(address.parse().unwrap())
}

fn remote(number: u8) -> Source {
    source(&format!("198.51.100.{number}:9"))
}

/// A table and the receivers of its connections, by number.
struct Fixture {
    table: Table,
    closed: Vec<oneshot::Receiver<()>>,
    now: Instant,
}

impl Fixture {
    fn new() -> Self {
        Self {
            table: Table::new(limits()),
            closed: Vec::new(),
            now: Instant::now(),
        }
    }

    fn admit(&mut self, source: Source) -> Option<u64> {
        let (id, closed) = self.table.admit(source, self.now)?;
        self.closed.push(closed);
        Some(id)
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    /// Numbers of the connections that were asked to close.
    fn closed(&mut self) -> Vec<usize> {
        let all = self.closed.iter_mut().enumerate();
        all.filter(|(_, one)| !one.is_empty())
            .map(|(number, _)| number)
            .collect()
    }
}

#[test]
fn addresses_of_one_sender_count_as_one() {
    assert_eq!(source("127.0.0.1:1"), Source::Loopback);
    assert_eq!(source("[::1]:1"), Source::Loopback);
    assert_eq!(source("[::ffff:127.0.0.1]:1"), Source::Loopback);
    assert_eq!(source("[::ffff:192.0.2.1]:1"), source(GITHUB));
    assert_eq!(source("[2001:db8::1]:1"), source("[2001:db8::2:3]:4"));
    assert_ne!(source("[2001:db8:0:1::1]:1"), source("[2001:db8::1]:1"));
}

#[test]
fn one_address_cannot_take_all_slots() {
    let mut fixture = Fixture::new();
    let admitted = [0; 4].map(|_| fixture.admit(remote(1)));
    assert_eq!(admitted, [Some(0), Some(1), None, None]);
    assert_eq!(fixture.admit(source(GITHUB)), Some(2));
}

#[test]
fn loopback_may_take_all_slots_since_all_senders_behind_a_proxy_share_it() {
    let mut fixture = Fixture::new();
    let admitted = [0; 5].map(|_| fixture.admit(Source::Loopback));
    assert_eq!(admitted, [Some(0), Some(1), Some(2), Some(3), None]);
}

#[test]
fn an_address_at_its_limit_loses_its_own_slowest_request() {
    let mut fixture = Fixture::new();
    fixture.admit(remote(2));
    fixture.admit(remote(1));
    fixture.admit(remote(1));
    fixture.pass(limits().shed_header);
    assert!(fixture.admit(remote(1)).is_some());
    assert_eq!(fixture.closed(), [1]);
}

#[test]
fn a_full_server_closes_the_slowest_of_the_address_that_holds_most() {
    let mut fixture = Fixture::new();
    fixture.admit(source(GITHUB));
    fixture.admit(remote(1));
    fixture.admit(remote(1));
    fixture.admit(remote(2));
    assert_eq!(fixture.admit(remote(3)), None, "none is late yet");
    assert_eq!(
        fixture.table.next_due(fixture.now),
        Some(fixture.now + limits().shed_header)
    );
    fixture.pass(limits().shed_header);
    assert!(fixture.admit(remote(3)).is_some());
    assert_eq!(fixture.closed(), [1]);
}

#[test]
fn an_incomplete_header_goes_before_a_body_and_a_body_before_an_answer() {
    let mut fixture = Fixture::new();
    for _ in 0..4 {
        fixture.admit(Source::Loopback);
    }
    let now = fixture.now;
    fixture.table.enter(0, Phase::Answer, now);
    fixture.table.enter(1, Phase::Body, now);
    fixture.pass(limits().shed_answer);
    let mut order = Vec::new();
    for _ in 0..4 {
        fixture.admit(Source::Loopback);
        order.extend(
            fixture
                .closed()
                .into_iter()
                .filter(|id| !order.contains(id))
                .collect::<Vec<_>>(),
        );
    }
    assert_eq!(order, [2, 3, 1, 0]);
}

#[test]
fn each_phase_has_its_own_deadline() {
    let mut fixture = Fixture::new();
    fixture.admit(remote(1));
    let begun = fixture.now;
    assert_eq!(fixture.table.deadline(0), Some(begun + limits().header));
    fixture.pass(Duration::from_secs(1));
    fixture.table.enter(0, Phase::Answer, fixture.now);
    assert_eq!(
        fixture.table.deadline(0),
        Some(fixture.now + limits().answer)
    );
    fixture.table.remove(0);
    assert_eq!(fixture.table.deadline(0), None);
}

#[test]
fn where_memory_is_short_the_largest_body_is_given_up() {
    let mut fixture = Fixture::new();
    for _ in 0..3 {
        fixture.admit(Source::Loopback);
    }
    assert!(fixture.table.hold(0, 70));
    assert!(fixture.table.hold(1, 30));
    assert!(fixture.table.hold(2, 5), "the small ones stay");
    assert_eq!(fixture.closed(), [0]);
    assert!(!fixture.table.hold(1, 80), "it is the largest itself");
    assert!(fixture.table.hold(2, 90));
    assert_eq!(fixture.closed(), [0]);
}

#[test]
fn streams_have_a_number_and_a_time_of_their_own_and_go_first() {
    let mut fixture = Fixture::new();
    fixture.table = Table::new(Limits {
        streams: 1,
        ..limits()
    });
    let loopback = source("127.0.0.1:9");
    let stream = fixture.admit(loopback).unwrap();
    assert!(fixture.table.has_room_for_stream(stream));
    fixture.table.enter(stream, Phase::Stream, fixture.now);
    assert_eq!(
        fixture.table.deadline(stream),
        Some(fixture.now + Limits::default().stream)
    );
    let header = fixture.admit(loopback).unwrap();
    assert!(!fixture.table.has_room_for_stream(header));
    fixture.admit(loopback).unwrap();
    fixture.admit(loopback).unwrap();
    // A stream is closed first, whatever else is slow: its browser reconnects.
    fixture.pass(Duration::from_secs(60));
    fixture.admit(loopback).unwrap();
    assert_eq!(fixture.closed(), [0]);
    assert!(fixture.table.has_room_for_stream(header));
}

#[test]
fn a_server_that_stops_ends_its_streams_and_nothing_else() {
    let mut fixture = Fixture::new();
    let loopback = source("127.0.0.1:9");
    fixture.admit(loopback).unwrap();
    let stream = fixture.admit(loopback).unwrap();
    fixture.table.enter(stream, Phase::Stream, fixture.now);
    fixture.table.close_streams();
    assert_eq!(fixture.closed(), [1]);
}
