//! The HTTP side: reads, records and answers requests.

use super::delivery;
use super::dialect::{Answer, Ask};
use super::protocol::Protocol;
use super::record::{Purpose, RecordedRequest};
use super::script::{Fault, Turn};
use super::shared::Shared;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::Response;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The maximum size of a request; tests use prompts of several megabytes.
const REQUEST_BYTES: usize = 64 * 1024 * 1024;
/// How often the condition of a delayed answer is checked.
const HELD_POLL: Duration = Duration::from_millis(20);
/// Headers that contain keys and are not recorded.
const KEY_HEADERS: [&str; 5] = [
    "authorization",
    "cookie",
    "proxy-authorization",
    "x-api-key",
    "x-goog-api-key",
];

pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .fallback(answer)
        .layer(DefaultBodyLimit::max(REQUEST_BYTES))
        .with_state(shared)
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri
        .path_and_query()
        .map_or_else(|| uri.path().to_owned(), ToString::to_string);
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let protocol = Protocol::of(&path);
    let ask = protocol.map_or(Ask::Unknown, |protocol| protocol.read(&path, &body));
    let request = record(protocol, &method, path, &headers, body, &ask);
    let (model, offered) = (request.model.clone(), request.tools.clone());
    let number = shared.record(request);
    let Some(protocol) = protocol else {
        return json_answer(StatusCode::NOT_FOUND, &json!({"error": "no such path"}));
    };
    let keys = KEY_HEADERS.iter().filter_map(|name| headers.get(*name));
    let shown = keys.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    if !shared.opens_for(shown) {
        return failure(protocol, 401, None);
    }
    match ask {
        Ask::Unknown => json_answer(StatusCode::NOT_FOUND, &protocol.error(404)),
        Ask::Side(body) => json_answer(StatusCode::OK, &body),
        Ask::SideText { text, streamed } => {
            let answer = Answer {
                id: format!("side_{number}"),
                turn: Turn::text(text),
                model,
                offered,
            };
            respond(protocol, answer, None, streamed).await
        }
        Ask::Turn(asked) => {
            let (turn, fault) = shared.next(&asked.opening, asked.position);
            if let Some(path) = &turn.held_until {
                until(path).await;
            }
            let answer = Answer {
                id: format!("turn_{number}"),
                turn,
                model,
                offered,
            };
            respond(protocol, answer, fault, asked.streamed).await
        }
    }
}

async fn respond(
    protocol: Protocol,
    answer: Answer,
    fault: Option<Fault>,
    streamed: bool,
) -> Response {
    if let Some(Fault::Status { code, retry_after }) = fault {
        return failure(protocol, code, retry_after);
    }
    if fault == Some(Fault::HangBeforeHeaders) {
        // Dropping the server ends it.
        std::future::pending::<()>().await;
    }
    if !streamed {
        let whole = protocol.whole(&answer).to_string();
        return with_type("application/json", delivery::whole_body(whole, fault));
    }
    with_type("text/event-stream", delivery::body(protocol, answer, fault))
}

/// Dropping the server ends it.
async fn until(path: &Path) {
    while !path.exists() {
        tokio::time::sleep(HELD_POLL).await;
    }
}

fn failure(protocol: Protocol, code: u16, retry_after: Option<u32>) -> Response {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json_answer(status, &protocol.error(code));
    if let Some(seconds) = retry_after {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, header::HeaderValue::from(seconds));
    }
    response
}

fn json_answer(status: StatusCode, body: &Value) -> Response {
    let mut response = with_type("application/json", Body::from(body.to_string()));
    *response.status_mut() = status;
    response
}

fn with_type(media_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static(media_type),
    );
    response
}

fn record(
    protocol: Option<Protocol>,
    method: &Method,
    path: String,
    headers: &HeaderMap,
    body: Value,
    ask: &Ask,
) -> RecordedRequest {
    let (purpose, prompt, tool_results) = match ask {
        Ask::Turn(asked) => (
            Purpose::Turn(asked.position),
            asked.prompt.clone(),
            asked.tool_results.clone(),
        ),
        Ask::Side(_) | Ask::SideText { .. } => (Purpose::Side, String::new(), Vec::new()),
        Ask::Unknown => (Purpose::Unknown, String::new(), Vec::new()),
    };
    RecordedRequest {
        protocol,
        method: method.to_string(),
        model: model(&path, &body),
        path,
        purpose,
        prompt,
        tool_results,
        tools: protocol.map_or_else(Vec::new, |protocol| protocol.tools(&body)),
        headers: public_headers(headers),
        body,
    }
}

/// The model of a request: Gemini names it in the path, the others in the body.
fn model(path: &str, body: &Value) -> String {
    if let Some(model) = body["model"].as_str() {
        return model.to_owned();
    }
    let named = path
        .split_once("/models/")
        .and_then(|(_, rest)| rest.split_once(':'));
    named.map_or_else(String::new, |(model, _)| model.to_owned())
}

fn public_headers(headers: &HeaderMap) -> BTreeMap<String, String> {
    headers
        .iter()
        .filter(|(name, _)| !KEY_HEADERS.contains(&name.as_str()))
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.to_string(), value)
        })
        .collect()
}
