//! GraphQL: queries, which may be retried, and mutations, which never are. GitHub counts them
//! separately from REST, and reports an exhausted limit in a successful response.

use super::client::{Client, Turn, Written};
use super::refusal::{date, named_end, rate_limited, refused, unreadable};
use super::transport::{Ask, JSON, Reply};
use drive_core::forge::RequestBudget;
use drive_core::problem::{Kind, Problem};
use drive_core::time::{Timestamp, after};
use drive_engine::ports::GoAhead;
use serde_json::{Value, json};
use std::time::Duration;
use ureq::http::Method;

/// The name under which the budget of this API is stored.
const API: &str = "graphql";
/// How long to wait for a limit whose end is not given.
const UNNAMED_WAIT: Duration = Duration::from_secs(60);

impl Client {
    /// Sends a query, which changes nothing and may be repeated. Also returns the forge's time.
    pub(super) fn query(
        &self,
        query: &str,
        variables: &Value,
    ) -> Result<(Value, Option<Timestamp>), Problem> {
        self.await_queries()?;
        let body = json!({"query": query, "variables": variables}).to_string();
        self.repeat(|| {
            let reply = self.send(Ask {
                method: Method::POST,
                url: self.endpoint.graphql(),
                etag: None,
                accept: JSON,
                body: Some(body.clone().into_bytes()),
            })?;
            self.observe(&reply)?;
            if reply.status != 200 {
                return Ok(Turn::Refused(reply));
            }
            if let Some(problem) = self.too_many(&reply)? {
                return Ok(Turn::Over(problem));
            }
            match data(&reply, &self.repo()) {
                Ok(data) => Ok(Turn::Done((data, date(&reply)))),
                Err(problem) => Ok(Turn::Failed(problem)),
            }
        })
    }

    /// Sends a mutation.
    pub(super) fn mutate(&self, mutation: &str, input: &Value) -> Result<Written, Problem> {
        let written = self.mutate_if(mutation, input, &mut || Ok(true))?;
        written
            .ok_or_else(|| Problem::new(Kind::Internal, "an unconditional mutation was not sent"))
    }

    /// Like `mutate`, if it is still allowed when its turn comes. `None` if it was not sent.
    pub(super) fn mutate_if(
        &self,
        mutation: &str,
        input: &Value,
        go_ahead: &mut GoAhead<'_>,
    ) -> Result<Option<Written>, Problem> {
        self.await_queries()?;
        let body = json!({"query": mutation, "variables": {"input": input}});
        let reply = match self.write_if(Method::POST, self.endpoint.graphql(), &body, go_ahead)? {
            Some(Written::Answered(reply)) => reply,
            other @ (Some(Written::Unknown(_)) | None) => return Ok(other),
        };
        if reply.status != 200 {
            return Err(refused(&reply, &self.repo()));
        }
        if let Some(problem) = self.too_many(&reply)? {
            return Err(problem);
        }
        match data(&reply, &self.repo()) {
            Ok(_) => Ok(Some(Written::Answered(reply))),
            Err(problem) if problem.kind == Kind::ForgeAnswer => {
                Ok(Some(Written::Unknown(problem)))
            }
            Err(problem) => Err(problem),
        }
    }

    /// Until when the forge refuses queries; `None` if it accepts them.
    pub(super) fn queries_paused(&self) -> Result<Option<Timestamp>, Problem> {
        let paused = self.budget_of(API)?.and_then(|budget| budget.paused_until);
        Ok(paused.filter(|until| *until > self.now()))
    }

    fn await_queries(&self) -> Result<(), Problem> {
        match self.queries_paused()? {
            Some(until) => self.wait_until(until),
            None => Ok(()),
        }
    }

    /// The problem of an answer that reports a limit. All users of this token pause until the limit ends.
    fn too_many(&self, reply: &Reply) -> Result<Option<Problem>, Problem> {
        if !is_limit(reply) {
            return Ok(None);
        }
        let now = self.now();
        let until = named_end(reply, now).unwrap_or_else(|| after(now, UNNAMED_WAIT));
        let budget = RequestBudget {
            limit: reply.number("x-ratelimit-limit").unwrap_or(0),
            remaining: 0,
            resets_at: until,
            paused_until: Some(until),
        };
        self.store_budget_of(API, &budget)?;
        Ok(Some(rate_limited(until)))
    }
}

/// Whether a successful answer reports a limit.
fn is_limit(reply: &Reply) -> bool {
    let value: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let mut errors = value["errors"].as_array().into_iter().flatten();
    errors.any(|error| {
        let words = error["message"].as_str().unwrap_or_default();
        error["type"] == "RATE_LIMITED" || words.contains("secondary rate limit")
    })
}

/// The data of an answer, or the error that it contains.
fn data(reply: &Reply, repo: &str) -> Result<Value, Problem> {
    let mut value: Value =
        serde_json::from_slice(&reply.body).map_err(|error| unreadable(repo, error))?;
    let errors = value["errors"].as_array().cloned().unwrap_or_default();
    if errors.is_empty() {
        return Ok(value["data"].take());
    }
    let words: Vec<&str> = errors
        .iter()
        .filter_map(|error| error["message"].as_str())
        .collect();
    Err(Problem::new(
        Kind::ForgeRejected,
        format!("the forge rejected a query about `{repo}`"),
    )
    .cause(words.join("; ")))
}
