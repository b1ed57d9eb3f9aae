//! One call: who asks, what is asked, and what the model's server answers.

use super::count::Counter;
use super::{Dialect, Grant, OnUsage, Outside};
use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::Response;
use drive_core::agent::Usage;
use drive_core::network::host_of_url;
use serde_json::json;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use subtle::ConstantTimeEq;
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_stream::wrappers::ReceiverStream;
use ureq::Agent;

/// The largest request: models take 32 MB, and what does not fit must reach them to be refused.
pub(super) const MOST_REQUEST: usize = 64 * 1024 * 1024;
/// Calls at once: an agent and the agents it starts. More wait before their body is read.
pub(super) const MOST_CALLS: usize = 16;
/// The size of all requests together that wait to be sent, in KiB.
const MOST_WAITING: u32 = 256 * 1024;
/// How much of an answer is passed on at once.
const PIECE: usize = 16 * 1024;
/// Pieces that wait for a slow agent.
const PIECES: usize = 4;

/// Headers that carry a key.
const KEYS: [&str; 4] = ["authorization", "x-api-key", "x-goog-api-key", "api-key"];

/// Headers of a request that are about one connection, or about the agent's login elsewhere.
const NOT_SENT: [&str; 13] = [
    "accept-encoding",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Parts of a header's name by which a server between may choose another server or path: a key is for
/// one server alone.
const STEERING: [&str; 9] = [
    "base",
    "forward",
    "host",
    "original-",
    "override",
    "rewrite",
    "target",
    "upstream",
    "url",
];

/// The same of an answer.
const NOT_ANSWERED: [&str; 8] = [
    "connection",
    "content-length",
    "keep-alive",
    "proxy-authenticate",
    "set-cookie",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What every call needs.
pub(super) struct Shared {
    dialect: Dialect,
    grants: Vec<(Grant, Agent)>,
    used: Mutex<Usage>,
    on_usage: OnUsage,
    calls: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    /// Whether the run is over.
    is_over: AtomicBool,
}

impl Shared {
    pub(super) fn new(
        dialect: Dialect,
        grants: &[Grant],
        outside: &Outside,
        on_usage: OnUsage,
    ) -> Self {
        let with_client = |grant: &Grant| (grant.clone(), outside.client(&grant.upstream));
        Self {
            dialect,
            grants: grants.iter().map(with_client).collect(),
            used: Mutex::default(),
            on_usage,
            calls: Arc::new(Semaphore::new(MOST_CALLS)),
            waiting: Arc::new(Semaphore::new(MOST_WAITING as usize)),
            is_over: AtomicBool::new(false),
        }
    }

    /// Ends every answer that is still passed on.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub(super) fn usage(&self) -> Usage {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, more: Usage) {
        if more == Usage::default() {
            return;
        }
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used = used.plus(more);
        let now = *used;
        drop(used);
        (self.on_usage)(now);
    }

    /// Who asks, and the headers that carry the key in place of the dummy.
    fn granted(&self, headers: &HeaderMap) -> Option<(&(Grant, Agent), HeaderMap)> {
        let mut found = None;
        let mut real = HeaderMap::new();
        for name in KEYS {
            let Some(value) = headers.get(name).and_then(|value| value.to_str().ok()) else {
                continue;
            };
            let (scheme, shown) = match value.split_at_checked(7) {
                Some((scheme, shown)) if scheme.eq_ignore_ascii_case("bearer ") => (scheme, shown),
                Some(_) | None => ("", value),
            };
            let is_shown = |dummy: &str| bool::from(dummy.as_bytes().ct_eq(shown.as_bytes()));
            let Some(entry) = self.grants.iter().find(|entry| is_shown(&entry.0.dummy)) else {
                continue;
            };
            // One call has one key: another one's would go to the wrong server.
            if found.is_some_and(|known: &(Grant, Agent)| known.0.dummy != entry.0.dummy) {
                continue;
            }
            if !entry.0.real.is_empty() {
                let mut value = HeaderValue::try_from(format!("{scheme}{}", entry.0.real)).ok()?;
                value.set_sensitive(true);
                real.insert(HeaderName::from_static(name), value);
            }
            found = found.or(Some(entry));
        }
        found.map(|entry| (entry, real))
    }
}

pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new().fallback(answer).with_state(shared)
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Some((entry, real)) = shared.granted(&parts.headers) else {
        return refusal(StatusCode::UNAUTHORIZED, "this is not a key of this run");
    };
    let path = parts.uri.path();
    if !shared.dialect.allows(&parts.method, path) {
        let message = format!("drive passes on calls of a model only, not {path}");
        tracing::debug!(%path, "the broker refused a path");
        return refusal(StatusCode::FORBIDDEN, &message);
    }
    let announced = body.size_hint().lower();
    // Held until the model has answered, also where the agent has gone meanwhile.
    let size = body.size_hint().exact().unwrap_or(MOST_REQUEST as u64);
    let size = u32::try_from(size / 1024 + 1).unwrap_or(MOST_WAITING);
    let (calls, waiting) = (shared.calls.clone(), shared.waiting.clone());
    let (Ok(call_permit), Ok(size_permit)) = (
        calls.acquire_owned().await,
        waiting.acquire_many_owned(size.min(MOST_WAITING)).await,
    ) else {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, "the run is over");
    };
    let read = axum::body::to_bytes(body, MOST_REQUEST);
    let Some(body) = (match usize::try_from(announced) {
        Ok(length) if length <= MOST_REQUEST => read.await.ok(),
        Ok(_) | Err(_) => None,
    }) else {
        let message = format!("the request is larger than {MOST_REQUEST} bytes");
        return refusal(StatusCode::PAYLOAD_TOO_LARGE, &message);
    };
    let (grant, client) = entry;
    let call = Call {
        method: parts.method,
        url: address(grant, &parts.uri),
        headers: outgoing(&parts.headers, real, grant),
        body,
    };
    let (client, upstream) = (client.clone(), grant.upstream.clone());
    // The model is waited for outside the one thread that serves every connection.
    let sent = tokio::task::spawn_blocking(move || {
        let answered = call.send(&client);
        drop(size_permit);
        answered.map(|answered| (answered, call_permit))
    });
    match sent.await {
        Ok(Ok((answered, permit))) => passed_on(shared, answered, permit),
        Ok(Err(error)) => unreachable_model(&upstream, &error.to_string()),
        Err(error) => unreachable_model(&upstream, &error.to_string()),
    }
}

/// Where the call goes. A key in the query is left out: it is in a header.
fn address(grant: &Grant, uri: &Uri) -> String {
    let query: Vec<&str> = uri
        .query()
        .into_iter()
        .flat_map(|query| query.split('&'))
        .filter(|part| !part.is_empty() && !part.starts_with("key="))
        .collect();
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{}{}{mark}{}", grant.upstream, uri.path(), query.join("&"))
}

fn outgoing(incoming: &HeaderMap, real: HeaderMap, grant: &Grant) -> HeaderMap {
    let is_kept = |name: &HeaderName| {
        let name = name.as_str();
        let steers = STEERING.iter().any(|part| name.contains(part));
        !KEYS.contains(&name) && !NOT_SENT.contains(&name) && !steers
    };
    let mut headers: HeaderMap = incoming
        .iter()
        .filter(|(name, _)| is_kept(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    headers.extend(real);
    for (name, value) in &grant.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.insert(name, value);
        }
    }
    headers
}

struct Call {
    method: Method,
    url: String,
    headers: HeaderMap,
    body: Bytes,
}

impl Call {
    fn send(self, client: &Agent) -> Result<ureq::http::Response<ureq::Body>, ureq::Error> {
        let mut request = ureq::http::Request::builder()
            .method(self.method.clone())
            .uri(self.url);
        if let Some(headers) = request.headers_mut() {
            *headers = self.headers;
        }
        if self.method == Method::GET {
            client.run(request.body(())?)
        } else {
            client.run(request.body(&self.body[..])?)
        }
    }
}

fn passed_on(
    shared: Arc<Shared>,
    answered: ureq::http::Response<ureq::Body>,
    permit: OwnedSemaphorePermit,
) -> Response {
    let (parts, body) = answered.into_parts();
    let media_type = parts.headers.get(header::CONTENT_TYPE);
    let media_type = media_type.and_then(|value| value.to_str().ok());
    let counter = Counter::new(shared.dialect, media_type.unwrap_or_default());
    let (sender, receiver) = channel(PIECES);
    tokio::task::spawn_blocking(move || {
        let reader = body.into_with_config().limit(u64::MAX).reader();
        pass(reader, counter, &shared, &sender);
        drop(permit);
    });
    let mut response = Response::new(Body::from_stream(ReceiverStream::new(receiver)));
    *response.status_mut() = parts.status;
    let kept = parts.headers.iter();
    let kept = kept.filter(|(name, _)| !NOT_ANSWERED.contains(&name.as_str()));
    response
        .headers_mut()
        .extend(kept.map(|(name, value)| (name.clone(), value.clone())));
    response
}

/// Passes on each piece as it comes. It ends early when the agent has gone, or the broker.
fn pass(
    mut from: impl Read,
    mut counter: Counter,
    shared: &Shared,
    to: &Sender<io::Result<Bytes>>,
) {
    let mut piece = vec![0; PIECE];
    loop {
        let (sent, is_over) = match from.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => {
                // Counted first: once the agent has read it, its next call may follow.
                shared.add(counter.push(&piece[..length]));
                (Ok(Bytes::copy_from_slice(&piece[..length])), false)
            }
            Err(error) => (Err(error), true),
        };
        let is_over = is_over || shared.is_over.load(Ordering::Relaxed);
        if to.blocking_send(sent).is_err() || is_over {
            break;
        }
    }
    shared.add(counter.finish());
}

fn unreachable_model(upstream: &str, error: &str) -> Response {
    // Without a password that the address may hold.
    let server = host_of_url(upstream).map_or("the model".to_owned(), |host| host.to_string());
    tracing::debug!(%error, "the broker could not reach the model");
    let message = if error.contains("://") {
        format!("drive could not reach {server}")
    } else {
        format!("drive could not reach {server}: {error}")
    };
    refusal(StatusCode::BAD_GATEWAY, &message)
}

/// An error in a form that every agent shows to its user.
fn refusal(status: StatusCode, message: &str) -> Response {
    let body = json!({
        "type": "error",
        "error": {"type": "drive_broker", "code": status.as_u16(), "message": message},
    });
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
