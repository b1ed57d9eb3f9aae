//! The webhook receiver.
//!
//! It authenticates the sender and answers before it does any work: a thread deduplicates the
//! delivery and nudges the process that polls. A delivery is only a hint, so one that is lost,
//! duplicated or replayed changes only when the next poll happens.

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use drive_core::forge::webhook::{Hint, Nudge, WebhookSecret, read};
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::{Clock, Deliveries, Nudges};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;
use tokio::sync::Semaphore;

/// The path for deliveries.
pub const PATH: &str = "/webhooks/github";
/// GitHub sends no payload larger than this.
pub const BODY_BYTES: usize = 25 * 1024 * 1024;

/// Bodies held in memory at once.
const BODIES: usize = 4;
/// Nudges that wait for the thread.
const QUEUE: usize = 1024;
/// How long a body may take to arrive; GitHub itself gives up after ten seconds.
const BODY_TIME: Duration = Duration::from_secs(10);
/// Longer ids are none of GitHub's.
const ID_BYTES: usize = 128;

/// What the receiver hands on to.
pub struct Handlers {
    /// Remembers deliveries.
    pub deliveries: Arc<dyn Deliveries>,
    /// Polls.
    pub nudges: Arc<dyn Nudges>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Told what went wrong after the answer was given.
    pub report: Box<dyn Fn(Problem) + Send>,
}

/// The routes of the receiver. Ends its thread when they are dropped.
pub fn router(secret: WebhookSecret, handlers: Handlers) -> Result<Router, Problem> {
    let (queue, deliveries) = sync_channel(QUEUE);
    std::thread::Builder::new()
        .name("drive-webhooks".to_owned())
        .spawn(move || work(&deliveries, &handlers))
        .map_err(|error| {
            Problem::new(Kind::ThreadFailed, "cannot start the webhook thread").because(error)
        })?;
    let shared = Shared {
        secret,
        queue,
        bodies: Semaphore::new(BODIES),
    };
    Ok(Router::new()
        .route(PATH, post(receive))
        .with_state(Arc::new(shared)))
}

struct Shared {
    secret: WebhookSecret,
    queue: SyncSender<Delivery>,
    bodies: Semaphore,
}

struct Delivery {
    id: String,
    nudge: Nudge,
}

type Reply = (StatusCode, &'static str);

async fn receive(State(shared): State<Arc<Shared>>, request: Request) -> Reply {
    match take(&shared, request).await {
        Ok(reply) | Err(reply) => reply,
    }
}

async fn take(shared: &Shared, request: Request) -> Result<Reply, Reply> {
    let (head, body) = request.into_parts();
    let signature = text(&head.headers, "x-hub-signature-256")
        .ok_or((StatusCode::UNAUTHORIZED, "no signature\n"))?;
    let raw = load(shared, body).await?;
    if !shared.secret.signed(signature, &raw) {
        return Err((StatusCode::UNAUTHORIZED, "wrong signature\n"));
    }
    let event = text(&head.headers, "x-github-event")
        .ok_or((StatusCode::BAD_REQUEST, "no X-GitHub-Event\n"))?;
    let id = text(&head.headers, "x-github-delivery")
        .filter(|id| !id.is_empty() && id.len() <= ID_BYTES)
        .ok_or((StatusCode::BAD_REQUEST, "no X-GitHub-Delivery\n"))?;
    if !is_json(&head.headers) {
        let advice = "set the webhook's content type to application/json\n";
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, advice));
    }
    match read(event, &raw) {
        Ok(Hint::Nudge(nudge)) => enqueue(shared, id, nudge),
        Ok(Hint::Ping) => Ok((StatusCode::ACCEPTED, "pong\n")),
        Ok(Hint::Nothing) => Ok((StatusCode::ACCEPTED, "ignored\n")),
        Err(_) => Err((StatusCode::BAD_REQUEST, "not valid JSON\n")),
    }
}

/// The raw body, bounded in size, time and number.
async fn load(shared: &Shared, body: Body) -> Result<Bytes, Reply> {
    let busy = (StatusCode::SERVICE_UNAVAILABLE, "busy, retry later\n");
    let _permit = shared.bodies.try_acquire().map_err(|_| busy)?;
    match tokio::time::timeout(BODY_TIME, to_bytes(body, BODY_BYTES)).await {
        Ok(Ok(raw)) => Ok(raw),
        Ok(Err(_)) => Err((StatusCode::PAYLOAD_TOO_LARGE, "too large or truncated\n")),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "too slow\n")),
    }
}

fn enqueue(shared: &Shared, id: &str, nudge: Nudge) -> Result<Reply, Reply> {
    let delivery = Delivery {
        id: id.to_owned(),
        nudge,
    };
    match shared.queue.try_send(delivery) {
        Ok(()) => Ok((StatusCode::ACCEPTED, "accepted\n")),
        Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
            Err((StatusCode::SERVICE_UNAVAILABLE, "busy, retry later\n"))
        }
    }
}

fn work(queue: &Receiver<Delivery>, handlers: &Handlers) {
    for delivery in queue {
        let at = handlers.clock.now();
        let first = handlers.deliveries.is_first(&delivery.id, at);
        // A store that fails must not cost the hint: polling twice is harmless.
        let is_first = first.unwrap_or_else(|problem| {
            (handlers.report)(problem);
            true
        });
        if is_first && let Err(problem) = handlers.nudges.nudge(delivery.nudge) {
            (handlers.report)(problem);
        }
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = text(headers, "content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}
