//! The limits of the server.

use std::time::Duration;

/// What connections may take. Every time is absolute: bytes that trickle in do not extend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests served at once.
    pub connections: usize,
    /// Of these, by one remote address. Loopback has no limit of its own: behind a proxy on this
    /// machine all senders share its address.
    pub per_address: usize,
    /// Connections that wait for a slot; the next one waits in the kernel's queue.
    pub waiting: usize,
    /// Of these, by one remote address; its next connection is closed.
    pub waiting_per_address: usize,
    /// How long a request's header may take.
    pub header: Duration,
    /// How long its body may take; GitHub itself gives up after ten seconds.
    pub body: Duration,
    /// How long its answer may take.
    pub answer: Duration,
    /// How long an answer may take that sends events; the browser asks for it again.
    pub stream: Duration,
    /// Such answers at once.
    pub streams: usize,
    /// How long an incomplete header keeps its slot while another connection waits for one.
    pub shed_header: Duration,
    /// The same for an incomplete body.
    pub shed_body: Duration,
    /// The same for an answer that is not taken.
    pub shed_answer: Duration,
    /// Bytes of bodies held in memory at once.
    pub body_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            per_address: 64,
            waiting: 512,
            waiting_per_address: 128,
            header: Duration::from_secs(5),
            body: Duration::from_secs(10),
            answer: Duration::from_secs(30),
            stream: Duration::from_secs(600),
            streams: 64,
            shed_header: Duration::from_millis(250),
            shed_body: Duration::from_millis(500),
            shed_answer: Duration::from_secs(5),
            body_bytes: 64 * 1024 * 1024,
        }
    }
}
