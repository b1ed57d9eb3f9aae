//! The limits of the server.

use std::time::Duration;

/// Limits on connections. Every time is absolute: bytes that trickle in do not extend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of requests that are served at once.
    pub connections: usize,
    /// How many of these may come from one remote address. Loopback is exempt: all senders behind a
    /// proxy on this machine share its address.
    pub per_address: usize,
    /// The maximum number of connections that wait for a slot; further ones wait in the kernel's queue.
    pub waiting: usize,
    /// How many of these may come from one remote address; its next connection is closed.
    pub waiting_per_address: usize,
    /// The time limit for a request's header.
    pub header: Duration,
    /// The time limit for its body; GitHub itself gives up after ten seconds.
    pub body: Duration,
    /// The time limit for its answer.
    pub answer: Duration,
    /// The time limit for an answer that sends events; the browser then requests it again.
    pub stream: Duration,
    /// The maximum number of such answers at once.
    pub streams: usize,
    /// How long an incomplete header keeps its slot while another connection waits for one.
    pub shed_header: Duration,
    /// How long an incomplete body keeps its slot while another connection waits for one.
    pub shed_body: Duration,
    /// How long an answer that is not read keeps its slot while another connection waits for one.
    pub shed_answer: Duration,
    /// The maximum number of body bytes in memory at once.
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
