//! The request log of the simulated GitHub: each request, its cost, and violations of GitHub's own
//! rules.

use super::http::{Answer, Request};
use std::collections::BTreeSet;

/// How an answer travels.
#[derive(Debug)]
pub(crate) enum Carried {
    /// As it is.
    Whole(Answer),
    /// Half of it, then the connection is gone.
    CutShort(Answer),
    /// Not at all.
    Never,
}

/// One request and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// The method.
    pub method: String,
    /// The path and the query.
    pub target: String,
    /// The status, or 0 when no answer was given.
    pub status: u16,
    /// Bytes of the body received.
    pub received: usize,
    /// Bytes of the body sent back.
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

    /// Whether it used up a part of the hourly limit.
    pub fn counts(&self) -> bool {
        self.status != 304
    }
}

/// All of it.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) requests: Vec<Logged>,
    /// The operations that were ever asked for, as the description names them.
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
