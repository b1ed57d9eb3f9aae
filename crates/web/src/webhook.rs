//! The webhook receiver.
//!
//! It authenticates the sender and answers before it does any work: a thread deduplicates the
//! delivery and nudges the process that polls. A delivery is only a hint, so a lost, duplicated or
//! replayed one only changes when the next poll happens.
//!
//! If the headers alone show that a request is not from GitHub, it is refused before its body is
//! read. A body is checked while it arrives, and kept only if drive handles its event.

use crate::connections::{Limits, Ticket};
use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use drive_core::forge::webhook::{Hint, Nudge, SignatureCheck, WebhookSecret, read, reads_body};
use drive_core::problem::{Kind, Problem};
use drive_engine::ports::{Clock, Deliveries, Nudges};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

/// The path for deliveries.
pub const PATH: &str = "/webhooks/github";
/// The maximum size of a payload that GitHub sends.
pub const BODY_BYTES: usize = 25 * 1024 * 1024;

/// The maximum number of nudges that wait for the thread.
const QUEUE: usize = 1024;
/// The maximum length of an id from GitHub.
const ID_BYTES: usize = 128;

/// The objects to which the receiver passes deliveries.
pub struct Handlers {
    /// Stores deliveries.
    pub deliveries: Arc<dyn Deliveries>,
    /// Wakes the processes that poll a repository.
    pub nudges: Arc<dyn Nudges>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Called with problems that occur after the answer.
    pub report: Box<dyn Fn(Problem) + Send>,
}

/// The routes of the receiver. Its thread ends when they are dropped.
pub fn router(secret: WebhookSecret, handlers: Handlers) -> Result<Router, Problem> {
    let (queue, deliveries) = sync_channel(QUEUE);
    std::thread::Builder::new()
        .name("drive-webhooks".to_owned())
        .spawn(move || work(&deliveries, &handlers))
        .map_err(|error| {
            Problem::new(Kind::ThreadFailed, "cannot start the webhook thread").because(error)
        })?;
    let shared = Shared { secret, queue };
    Ok(Router::new()
        .route(PATH, post(receive))
        .with_state(Arc::new(shared)))
}

struct Shared {
    secret: WebhookSecret,
    queue: SyncSender<Delivery>,
}

struct Delivery {
    id: String,
    nudge: Nudge,
}

type Reply = (StatusCode, &'static str);

const WRONG_SIGNATURE: Reply = (StatusCode::UNAUTHORIZED, "wrong signature\n");
const TOO_LARGE: Reply = (StatusCode::PAYLOAD_TOO_LARGE, "too large\n");
const BUSY: Reply = (StatusCode::SERVICE_UNAVAILABLE, "busy, retry later\n");

async fn receive(State(shared): State<Arc<Shared>>, request: Request) -> Reply {
    match take(&shared, request).await {
        Ok(reply) | Err(reply) => reply,
    }
}

async fn take(shared: &Shared, request: Request) -> Result<Reply, Reply> {
    let (head, body) = request.into_parts();
    let ticket = head.extensions.get::<ConnectInfo<Ticket>>();
    let ticket = ticket.map(|ConnectInfo(ticket)| ticket);
    let signature = text(&head.headers, "x-hub-signature-256")
        .ok_or((StatusCode::UNAUTHORIZED, "no signature\n"))?;
    let check = (shared.secret.check(signature)).ok_or(WRONG_SIGNATURE)?;
    let event = text(&head.headers, "x-github-event")
        .ok_or((StatusCode::BAD_REQUEST, "no X-GitHub-Event\n"))?;
    let id = text(&head.headers, "x-github-delivery")
        .filter(|id| !id.is_empty() && id.len() <= ID_BYTES)
        .ok_or((StatusCode::BAD_REQUEST, "no X-GitHub-Delivery\n"))?;
    if !is_json(&head.headers) {
        let advice = "set the webhook's content type to application/json\n";
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, advice));
    }
    let announced = text(&head.headers, CONTENT_LENGTH.as_str());
    let announced = announced.and_then(|length| length.parse::<usize>().ok());
    if announced.is_some_and(|length| length > BODY_BYTES) {
        return Err(TOO_LARGE);
    }
    let loading = load(body, check, reads_body(event), ticket);
    let time = ticket.map_or(Limits::default().body, Ticket::body_time);
    let raw = tokio::time::timeout(time, loading)
        .await
        .map_err(|_| (StatusCode::REQUEST_TIMEOUT, "too slow\n"))??;
    match read(event, &raw) {
        Ok(Hint::Nudge(nudge)) => enqueue(shared, id, nudge),
        Ok(Hint::Ping) => Ok((StatusCode::ACCEPTED, "pong\n")),
        Ok(Hint::Nothing) => Ok((StatusCode::ACCEPTED, "ignored\n")),
        Err(_) => Err((StatusCode::BAD_REQUEST, "not valid JSON\n")),
    }
}

/// The raw body of a signed delivery, limited in size; empty if it is only checked.
async fn load(
    mut body: Body,
    mut check: SignatureCheck,
    keeps: bool,
    ticket: Option<&Ticket>,
) -> Result<Vec<u8>, Reply> {
    let mut raw = Vec::new();
    let mut bytes = 0;
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(|_| (StatusCode::BAD_REQUEST, "truncated\n"))?;
        let Ok(piece) = frame.into_data() else {
            continue;
        };
        bytes += piece.len();
        if bytes > BODY_BYTES {
            return Err(TOO_LARGE);
        }
        check.feed(&piece);
        if keeps {
            if ticket.is_some_and(|ticket| !ticket.hold(piece.len())) {
                return Err(BUSY);
            }
            raw.extend_from_slice(&piece);
        }
        // Pieces that have arrived already must not delay other requests.
        tokio::task::yield_now().await;
    }
    if check.holds() {
        Ok(raw)
    } else {
        Err(WRONG_SIGNATURE)
    }
}

fn enqueue(shared: &Shared, id: &str, nudge: Nudge) -> Result<Reply, Reply> {
    let delivery = Delivery {
        id: id.to_owned(),
        nudge,
    };
    match shared.queue.try_send(delivery) {
        Ok(()) => Ok((StatusCode::ACCEPTED, "accepted\n")),
        Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => Err(BUSY),
    }
}

fn work(queue: &Receiver<Delivery>, handlers: &Handlers) {
    for delivery in queue {
        let at = handlers.clock.now();
        let first = handlers.deliveries.is_first(&delivery.id, at);
        // If the store fails, the delivery must still count: polling twice is harmless.
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
