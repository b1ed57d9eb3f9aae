//! Serves one call: checks the caller and the request, and passes on the response.

use super::dialect::Dialect;
use super::grant::Grant;
use super::pass::Asked;
use super::shared::{
    CALLS_MADE, Carrier, Entry, MOST_CALLS_OF_RUN, MOST_WAITING, RUN_OVER, Shared,
};
use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::Response;
use drive_core::network::host_of_url;
use serde_json::json;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use tokio::sync::oneshot;
use ureq::Agent;

/// The largest request, in bytes. Models accept 32 MB, and a larger request must reach them to be refused.
pub(super) const MOST_REQUEST: usize = 64 * 1024 * 1024;
/// The headers that contain the key in place of the dummy.
fn key_headers(carriers: &[Carrier], real: &str) -> HeaderMap {
    let header = |(name, scheme): &Carrier| {
        let mut value = HeaderValue::try_from(format!("{scheme}{real}")).ok()?;
        value.set_sensitive(true);
        Some((HeaderName::from_static(name), value))
    };
    let carriers = carriers.iter().filter(|_| !real.is_empty());
    carriers.filter_map(header).collect()
}

pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new().fallback(answer).with_state(shared)
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Some((index, carriers)) = shared.granted(&parts.headers) else {
        return refusal(StatusCode::UNAUTHORIZED, "this is not a key of this run");
    };
    let path = parts.uri.path();
    let mut query = parts.uri.query().into_iter().flat_map(|all| all.split('&'));
    let refused = if !shared.dialect.allows(&parts.method, path) {
        Some(path)
    } else {
        query.find(|part| !shared.dialect.allows_query(part))
    };
    if let Some(refused) = refused {
        let message = format!("drive passes on calls of a model only, not {refused}");
        tracing::debug!(%refused, "the broker refused a call");
        return refusal(StatusCode::FORBIDDEN, &message);
    }
    if shared.made.fetch_add(1, Ordering::Relaxed) >= MOST_CALLS_OF_RUN {
        shared.close(CALLS_MADE);
    }
    tokio::select! {
        biased;
        why = shared.closing() => refusal(StatusCode::FORBIDDEN, why),
        answer = called(&shared, index, carriers, parts, body) => answer,
    }
}

async fn called(
    shared: &Arc<Shared>,
    index: usize,
    carriers: Vec<Carrier>,
    parts: Parts,
    body: Body,
) -> Response {
    let announced = body.size_hint().lower();
    // The memory is reserved until the model has answered, even if the agent has gone meanwhile.
    let size = body.size_hint().exact().unwrap_or(MOST_REQUEST as u64);
    let size = u32::try_from(size / 1024 + 1).unwrap_or(MOST_WAITING);
    let (calls, waiting) = (shared.calls.clone(), shared.waiting.clone());
    let (Ok(call_permit), Ok(size_permit)) = (
        calls.acquire_owned().await,
        waiting.acquire_many_owned(size.min(MOST_WAITING)).await,
    ) else {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, RUN_OVER);
    };
    let read = axum::body::to_bytes(body, MOST_REQUEST);
    let Some(body) = (match usize::try_from(announced) {
        Ok(length) if length <= MOST_REQUEST => read.await.ok(),
        Ok(_) | Err(_) => None,
    }) else {
        let message = format!("the request is larger than {MOST_REQUEST} bytes");
        return refusal(StatusCode::PAYLOAD_TOO_LARGE, &message);
    };
    if let Some(message) = shared.dialect.refuses(&parts.headers, &body) {
        return refusal(StatusCode::FORBIDDEN, message);
    }
    let Entry {
        grant,
        client,
        real,
    } = &shared.grants[index];
    let real = real.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let mut call = Call {
        method: parts.method,
        url: address(grant, &parts.uri),
        headers: outgoing(shared.dialect, &parts.headers, &carriers, &real, grant),
        body,
    };
    let asked = Asked::new(shared.clone(), parts.uri.path(), &call.body);
    let client = client.clone();
    let (tell, told) = oneshot::channel();
    // The wait for the model is outside of the one thread that serves every connection. The
    // response is read to its end even if the agent has gone, because it must be paid for.
    tokio::task::spawn_blocking(move || {
        let mut answered = call.send(&client);
        let is_refused = |answer: &ureq::http::Response<_>| answer.status() == 401;
        if answered.as_ref().is_ok_and(is_refused)
            && let Some(real) = asked.shared.renewed(index, &real)
        {
            call.headers.extend(key_headers(&carriers, &real));
            answered = call.send(&client);
        }
        drop(size_permit);
        match answered {
            Ok(answered) => asked.pass(answered, tell),
            Err(error) => drop(tell.send(Err(error.to_string()))),
        }
        drop(call_permit);
    });
    match told.await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => unreachable_model(&grant.upstream, &error),
        Err(error) => unreachable_model(&grant.upstream, &error.to_string()),
    }
}

/// The address of the call. A key in the query is removed, because a header contains it.
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

fn outgoing(
    dialect: Dialect,
    incoming: &HeaderMap,
    carriers: &[Carrier],
    real: &str,
    grant: &Grant,
) -> HeaderMap {
    let mut headers: HeaderMap = incoming
        .iter()
        .filter(|(name, _)| dialect.allows_header(name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    headers.extend(key_headers(carriers, real));
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
    fn send(&self, client: &Agent) -> Result<ureq::http::Response<ureq::Body>, ureq::Error> {
        let mut request = ureq::http::Request::builder()
            .method(self.method.clone())
            .uri(&self.url);
        if let Some(headers) = request.headers_mut() {
            headers.clone_from(&self.headers);
        }
        if self.method == Method::GET {
            client.run(request.body(())?)
        } else {
            client.run(request.body(&self.body[..])?)
        }
    }
}

fn unreachable_model(upstream: &str, error: &str) -> Response {
    // The address may contain a password, which is left out.
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
