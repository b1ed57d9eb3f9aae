//! One HTTP exchange: a deadline over all of it, a cap on the body, no retry of any kind.

use super::token::Token;
use drive_core::Problem;
use std::time::Duration;
use ureq::Agent;
use ureq::config::RedirectAuthHeaders;
use ureq::http::{HeaderMap, Method, Request};

/// How much one exchange may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// From the first byte sent to the last byte read.
    pub deadline: Duration,
    /// The largest answer.
    pub body_bytes: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(30),
            body_bytes: 16 * 1024 * 1024,
        }
    }
}

/// Whether the proxy of the environment is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Through the proxy that the environment names, if any.
    Environment,
    /// Straight.
    Direct,
}

/// One request.
#[derive(Debug)]
pub(super) struct Ask<'a> {
    pub(super) method: Method,
    pub(super) url: &'a str,
    pub(super) etag: Option<&'a str>,
    pub(super) accept: &'static str,
    pub(super) body: Option<Vec<u8>>,
}

/// The usual form of an answer.
pub(super) const JSON: &str = "application/vnd.github+json";
/// The text of a change.
pub(super) const DIFF: &str = "application/vnd.github.diff";

/// One answer, read whole.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Reply {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.header(name)?.trim().parse().ok()
    }
}

/// Sends requests of one token.
#[derive(Debug)]
pub(super) struct Transport {
    agent: Agent,
    token: Token,
    bounds: Bounds,
}

impl Transport {
    pub(super) fn new(token: Token, bounds: Bounds, route: Route) -> Self {
        let builder = Agent::config_builder()
            .timeout_global(Some(bounds.deadline))
            .http_status_as_error(false)
            .max_redirects(3)
            .redirect_auth_headers(RedirectAuthHeaders::SameHost)
            .user_agent(concat!(
                "infinite-improbability-drive/",
                env!("CARGO_PKG_VERSION")
            ));
        let builder = match route {
            Route::Environment => builder,
            Route::Direct => builder.proxy(None),
        };
        Self {
            agent: builder.build().new_agent(),
            token,
            bounds,
        }
    }

    /// Sends once. An error means that the answer is not known, not that nothing happened.
    pub(super) fn send(&self, ask: Ask<'_>) -> Result<Reply, Problem> {
        let mut request = Request::builder()
            .method(ask.method)
            .uri(ask.url)
            .header("accept", ask.accept)
            .header("authorization", self.token.header())
            .header("x-github-api-version", "2022-11-28");
        if let Some(etag) = ask.etag {
            request = request.header("if-none-match", etag);
        }
        let sent = match ask.body {
            Some(body) => request
                .header("content-type", "application/json")
                .body(body)
                .map_err(ureq::Error::from)
                .and_then(|request| self.agent.run(request)),
            None => request
                .body(())
                .map_err(ureq::Error::from)
                .and_then(|request| self.agent.run(request)),
        };
        let lost = |error: ureq::Error| lost(ask.url, error);
        let response = sent.map_err(lost)?;
        let (parts, mut body) = response.into_parts();
        let body = body
            .with_config()
            .limit(self.bounds.body_bytes)
            .read_to_vec()
            .map_err(lost)?;
        Ok(Reply {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body,
        })
    }
}

fn lost(url: &str, error: ureq::Error) -> Problem {
    let host = url.split('/').nth(2).unwrap_or(url);
    let (kind, message) = if matches!(error, ureq::Error::Timeout(_)) {
        ("forgeTimeout", format!("`{host}` did not answer in time"))
    } else if matches!(error, ureq::Error::BodyExceedsLimit(_)) {
        (
            "forgeAnswerTooLarge",
            format!("`{host}` answered with more than a request may bring"),
        )
    } else {
        ("forgeUnreachable", format!("no answer from `{host}`"))
    };
    Problem::environment(kind, message)
        .hint("check the network and `forge.api_url`; drive tries again by itself")
        .because(error)
}
