//! The simulator's server on a loopback port, for direct and for proxied HTTP.

use super::http::{Answer, Request};
use super::log::Carried;
use super::service::Service;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{HeaderValue, Request as HttpRequest, Response, StatusCode, header};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// The maximum size of a push in tests.
const BODY_BYTES: usize = 64 * 1024 * 1024;

pub(crate) type Shared = Arc<Mutex<Service>>;

/// A running server. Dropping it stops it.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start(service: Shared) -> std::io::Result<Self> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            runtime.block_on(async move {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                    return;
                };
                let router = Router::new().fallback(carry).with_state((service, address));
                tokio::select! {
                    _ = axum::serve(listener, router) => {}
                    _ = stopped => {}
                }
            });
            // Requests that hang on purpose must not delay the end of the test.
            runtime.shutdown_timeout(Duration::from_millis(200));
        });
        Ok(Self {
            address,
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn carry(
    State((service, address)): State<(Shared, SocketAddr)>,
    request: HttpRequest<Body>,
) -> Response<Body> {
    if request.method() == "CONNECT" {
        return respond(Answer::text(403, "no tunnels"), None);
    }
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, BODY_BYTES).await else {
        return respond(Answer::text(413, "too large"), None);
    };
    let request = read(&parts, body.to_vec(), address);
    let handled = tokio::task::spawn_blocking(move || {
        service
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .handle(&request)
    });
    match handled.await {
        Ok(Carried::Whole(answer)) => respond(answer, None),
        Ok(Carried::CutShort(answer)) => {
            let promised = answer.body.len();
            respond(answer, Some(promised))
        }
        Ok(Carried::Never) => std::future::pending().await,
        Err(error) => respond(Answer::text(500, &format!("simulator: {error}")), None),
    }
}

/// Converts a request. It may arrive directly, below `/api/v3` as on an enterprise server, or
/// through a proxy with the host in its target.
fn read(parts: &axum::http::request::Parts, body: Vec<u8>, address: SocketAddr) -> Request {
    let path = parts.uri.path();
    let (base, path) = match path.strip_prefix("/api/v3") {
        Some(rest) => ("/api/v3", rest),
        None if path == "/api/graphql" => ("/api", "/graphql"),
        None => ("", path),
    };
    let (api, html) = match parts.uri.host() {
        Some(host) if host.ends_with("github.localhost") => (
            "http://api.github.localhost".to_owned(),
            "http://github.localhost".to_owned(),
        ),
        Some(_) | None => (
            format!("http://{address}{base}"),
            format!("http://{address}"),
        ),
    };
    let headers = parts.headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.as_str().to_owned(), value)
    });
    Request {
        method: parts.method.as_str().to_owned(),
        path: path.to_owned(),
        raw_query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: headers.collect(),
        body,
        api,
        html,
    }
}

/// Converts an answer. With `promised`, the header announces this length, and half of the body is sent.
fn respond(mut answer: Answer, promised: Option<usize>) -> Response<Body> {
    if promised.is_some() {
        answer.body.truncate(answer.body.len() / 2);
    }
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or_default();
    for (name, value) in answer.headers {
        let name = header::HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&value)) {
            response.headers_mut().append(name, value);
        }
    }
    if let Some(length) = promised {
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    response
}
