//! One HTTP exchange, with a deadline and a size limit, and without retries.

use super::token::Token;
use drive_core::problem::{Kind, Problem};
use drive_engine::CancelToken;
use drive_engine::cancel::Urgency;
use std::io::Read;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use ureq::Agent;
use ureq::http::{HeaderMap, Method, Request};

/// How many redirects one request may follow.
const MOST_REDIRECTS: u32 = 3;

/// The limits of one exchange.
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

/// How much longer than its deadline an exchange may take before it is given up.
const MARGIN: Duration = Duration::from_secs(5);

/// Whether to use the proxy of the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Through the proxy that the environment names, if any.
    Environment,
    /// A direct connection, without a proxy.
    Direct,
}

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Ask<'a> {
    pub(super) method: Method,
    pub(super) url: &'a str,
    pub(super) etag: Option<&'a str>,
    pub(super) accept: &'static str,
    pub(super) body: Option<Vec<u8>>,
}

/// The usual media type of an answer.
pub(super) const JSON: &str = "application/vnd.github+json";
/// The media type of a diff.
pub(super) const DIFF: &str = "application/vnd.github.diff";

/// A complete answer.
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

/// Sends requests.
#[derive(Debug)]
pub(super) struct Transport {
    agent: Agent,
    bounds: Bounds,
}

impl Transport {
    pub(super) fn new(bounds: Bounds, route: Route) -> Self {
        let builder = Agent::config_builder()
            .timeout_global(Some(bounds.deadline))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
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
            bounds,
        }
    }

    /// Sends a request once. An error means that the answer is unknown, not that nothing happened.
    /// After an urgent stop request, this does not wait for the answer.
    ///
    /// A renamed repository answers with its new address and does nothing else: the same request is
    /// sent there, with the token only on the same server.
    pub(super) fn send(
        &self,
        ask: Ask<'_>,
        token: &Token,
        cancel: &CancelToken,
    ) -> Result<Reply, Problem> {
        let mut reply = self.send_logged(&ask, token, cancel)?;
        for _ in 0..MOST_REDIRECTS {
            let Some(url) = moved_to(&reply, ask.url) else {
                break;
            };
            let there = Ask {
                url: &url,
                ..ask.clone()
            };
            reply = self.send_logged(&there, token, cancel)?;
        }
        Ok(reply)
    }

    fn send_logged(
        &self,
        ask: &Ask<'_>,
        token: &Token,
        cancel: &CancelToken,
    ) -> Result<Reply, Problem> {
        let start = Instant::now();
        let replied = self.send_there(ask, token, cancel);
        let (method, url, ms) = (&ask.method, ask.url, start.elapsed().as_millis());
        match &replied {
            Ok(reply) => {
                tracing::debug!(target: "drive::http", ms, "{method} {url}: {}", reply.status);
            }
            Err(problem) => {
                tracing::debug!(target: "drive::http", ms, "{method} {url}: {}", problem.message);
            }
        }
        replied
    }

    fn send_there(
        &self,
        ask: &Ask<'_>,
        token: &Token,
        cancel: &CancelToken,
    ) -> Result<Reply, Problem> {
        if cancel.asked() == Some(Urgency::Now) {
            return Err(not_waited_for(ask.url));
        }
        self.carry_out(ask.url, self.exchange(ask, token)?, cancel)
    }

    /// Reads the end of something on another server, without the token: at most the last `keep`
    /// bytes of an answer of at most `most` bytes.
    pub(super) fn get_elsewhere(
        &self,
        url: &str,
        (keep, most): (usize, u64),
        cancel: &CancelToken,
    ) -> Result<Reply, Problem> {
        let request = Request::builder().method(Method::GET).uri(url).body(None);
        let exchange = Exchange {
            agent: self.agent.clone(),
            request: request.map_err(|error| lost(url, error.into()))?,
            body_bytes: most,
            keep: Some(keep),
        };
        self.carry_out(url, exchange, cancel)
    }

    fn carry_out(
        &self,
        url: &str,
        exchange: Exchange,
        cancel: &CancelToken,
    ) -> Result<Reply, Problem> {
        let (answer, answered) = channel();
        let stop = answer.clone();
        let _guard = cancel.on_cancel(move |urgency| {
            if urgency == Urgency::Now {
                let _ = stop.send(None);
            }
        });
        let call = move || {
            let _ = answer.send(Some(exchange.run()));
        };
        std::thread::Builder::new()
            .name("forge".to_owned())
            .spawn(call)
            .map_err(|error| {
                Problem::new(Kind::NoThread, "cannot start a thread").because(error)
            })?;
        match answered.recv_timeout(self.bounds.deadline.saturating_add(MARGIN)) {
            Ok(Some(replied)) => replied.map_err(|error| lost(url, error)),
            Ok(None) => Err(not_waited_for(url)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Err(too_late(url)),
        }
    }

    fn exchange(&self, ask: &Ask<'_>, token: &Token) -> Result<Exchange, Problem> {
        let mut request = Request::builder()
            .method(ask.method.clone())
            .uri(ask.url)
            .header("accept", ask.accept)
            .header("authorization", token.header())
            .header("x-github-api-version", "2022-11-28");
        if let Some(etag) = ask.etag {
            request = request.header("if-none-match", etag);
        }
        if ask.body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let request = request
            .body(ask.body.clone())
            .map_err(|error| lost(ask.url, error.into()))?;
        Ok(Exchange {
            agent: self.agent.clone(),
            request,
            body_bytes: self.bounds.body_bytes,
            keep: None,
        })
    }
}

/// A request that is being sent, with everything it needs.
struct Exchange {
    agent: Agent,
    request: Request<Option<Vec<u8>>>,
    body_bytes: u64,
    /// How many bytes of the answer's end are kept; `None` keeps everything.
    keep: Option<usize>,
}

impl Exchange {
    fn run(self) -> Result<Reply, ureq::Error> {
        let (parts, body) = self.request.into_parts();
        let response = match body {
            Some(body) => self.agent.run(Request::from_parts(parts, body)),
            None => self.agent.run(Request::from_parts(parts, ())),
        }?;
        let (parts, mut body) = response.into_parts();
        let config = body.with_config().limit(self.body_bytes);
        let body = match self.keep {
            None => config.read_to_vec()?,
            Some(keep) => read_end(config.reader(), keep)?,
        };
        Ok(Reply {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body,
        })
    }
}

/// Reads everything and returns the last `keep` bytes.
fn read_end(mut reader: impl Read, keep: usize) -> std::io::Result<Vec<u8>> {
    let (mut end, mut chunk) = (Vec::new(), [0; 16 * 1024]);
    loop {
        let count = reader.read(&mut chunk)?;
        if count == 0 {
            return Ok(end);
        }
        end.extend_from_slice(&chunk[..count]);
        end.drain(..end.len().saturating_sub(keep));
    }
}

fn host(url: &str) -> &str {
    url.split('/').nth(2).unwrap_or(url)
}

fn not_waited_for(url: &str) -> Problem {
    Problem::new(
        Kind::Interrupted,
        format!("interrupted while waiting for `{}`", host(url)),
    )
    .hint("the request may have been carried out: check the forge")
}

fn too_late(url: &str) -> Problem {
    let message = format!("`{}` did not answer in time", host(url));
    Problem::new(Kind::ForgeTimeout, message).hint(TRY_AGAIN)
}

const TRY_AGAIN: &str = "check the network and `forge.api_url`; drive retries";

/// The new address on the same server, if the answer is a redirect.
fn moved_to(reply: &Reply, url: &str) -> Option<String> {
    if !matches!(reply.status, 301 | 302 | 307 | 308) {
        return None;
    }
    let to = reply.header("location")?;
    let is_same = origin(to).is_some() && origin(to) == origin(url);
    is_same.then(|| to.to_owned())
}

/// Scheme, host and port of an address.
fn origin(url: &str) -> Option<&str> {
    let rest = url.split_once("://")?.1;
    let path = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    url.get(..url.len() - rest.len() + path)
}

fn lost(url: &str, error: ureq::Error) -> Problem {
    let host = host(url);
    if matches!(error, ureq::Error::Timeout(_)) {
        return too_late(url).because(error);
    }
    let (kind, message) = if matches!(error, ureq::Error::BodyExceedsLimit(_)) {
        (
            Kind::ForgeAnswerTooLarge,
            format!("the answer of `{host}` is too large"),
        )
    } else {
        (Kind::ForgeUnreachable, format!("no answer from `{host}`"))
    };
    Problem::new(kind, message).hint(TRY_AGAIN).because(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_on_the_same_server_is_followed() {
        let moved = |status, to: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("location", to.parse().unwrap());
            let reply = Reply {
                status,
                headers,
                body: Vec::new(),
            };
            moved_to(&reply, "https://api.github.com/repos/o/r/pulls")
        };
        let new = "https://api.github.com/repositories/7/pulls";
        for status in [301, 302, 307, 308] {
            assert_eq!(moved(status, new), Some(new.to_owned()));
        }
        assert_eq!(moved(200, new), None);
        assert_eq!(moved(303, new), None);
        for elsewhere in [
            "https://evil.example/pulls",
            "https://api.github.com.evil.example/pulls",
            "https://api.github.com@evil.example/pulls",
            "http://api.github.com/pulls",
            "https://api.github.com:444/pulls",
            "/pulls",
        ] {
            assert_eq!(moved(301, elsewhere), None, "{elsewhere}");
        }
    }
}
