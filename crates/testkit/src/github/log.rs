//! The request log of the simulated GitHub: each request, its cost, and violations of GitHub's own
//! rules.

use super::http::{Answer, Request};
use std::collections::BTreeSet;

/// How an answer is delivered.
#[derive(Debug)]
pub(crate) enum Carried {
    /// The whole answer is sent.
    Whole(Answer),
    /// Half of the answer is sent, then the connection breaks.
    CutShort(Answer),
    /// No answer is sent.
    Never,
}

/// A request and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// The method.
    pub method: String,
    /// The path and the query.
    pub target: String,
    /// The status; 0 if no answer was given.
    pub status: u16,
    /// The size of the received body, in bytes.
    pub received: usize,
    /// The size of the sent body, in bytes.
    pub sent: usize,
}

impl Logged {
    pub(crate) fn new(request: &Request, carried: &Carried) -> Self {
        let (status, sent) = match carried {
            Carried::Whole(answer) => (answer.status, answer.body.len()),
            Carried::CutShort(answer) => (answer.status, answer.body.len() / 2),
            Carried::Never => (0, 0),
        };
        let target = if request.raw_query.is_empty() {
            request.path.clone()
        } else {
            format!("{}?{}", request.path, request.raw_query)
        };
        Self {
            method: request.method.clone(),
            target,
            status,
            received: request.body.len(),
            sent,
        }
    }

    /// Whether it counts towards the hourly limit.
    pub fn counts(&self) -> bool {
        self.status != 304
    }
}

/// The complete log.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) requests: Vec<Logged>,
    /// All operations that were requested, by their names in the description.
    pub(crate) operations: BTreeSet<String>,
    pub(crate) violations: Vec<String>,
}

impl Log {
    pub(crate) fn push(&mut self, logged: Logged) {
        self.requests.push(logged);
    }

    pub(crate) fn violation(&mut self, text: String) {
        self.violations.push(text);
    }
}
