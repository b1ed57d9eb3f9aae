//! Notifies pages of changes by server-sent events. The page then requests itself again and
//! replaces the parts that differ, so that one renderer makes all texts.

use super::Sources;
use crate::connections::Ticket;
use axum::body::Body;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use drive_core::ids::RunId;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_stream::wrappers::ReceiverStream;

/// The maximum time between two checks of the journal, for changes without a notification.
const LOOK: Duration = Duration::from_secs(1);
/// The minimum time between two messages.
const PAUSE: Duration = Duration::from_millis(200);
/// How often something is sent, so that a closed browser is detected.
const BEAT: Duration = Duration::from_secs(15);

const CHANGED: &str = "data: changed\n\n";
const ALIVE: &str = ":\n\n";

/// Wakes the streams when another process delivered something.
pub(super) struct Bell {
    rung: watch::Sender<()>,
    /// Notifies until it is dropped.
    _listening: Mutex<Option<Box<dyn Send>>>,
}

impl Bell {
    pub(super) fn new(sources: &Sources) -> Self {
        let rung = watch::Sender::new(());
        let ring = rung.clone();
        let listening = sources.runs.listen(Box::new(move || {
            ring.send_replace(());
        }));
        Self {
            rung,
            _listening: Mutex::new(listening),
        }
    }
}

/// The state that the streams need.
pub(super) type Ringing = State<(Arc<Sources>, Arc<Bell>)>;

/// Handles `GET /events`: changes of any run.
pub(super) async fn all(ringing: Ringing, connection: ConnectInfo<Ticket>) -> Response {
    stream(ringing, connection, |_| true)
}

/// Handles `GET /runs/{id}/events`: changes of a run and its children.
pub(super) async fn one(
    ringing: Ringing,
    connection: ConnectInfo<Ticket>,
    Path(id): Path<String>,
) -> Response {
    let below = format!("{id}+");
    stream(ringing, connection, move |run| {
        run.as_str() == id || run.as_str().starts_with(&below)
    })
}

fn stream(
    State((sources, bell)): Ringing,
    ConnectInfo(ticket): ConnectInfo<Ticket>,
    is_shown: impl Fn(&RunId) -> bool + Send + 'static,
) -> Response {
    if !ticket.begin_stream() {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many live pages\n").into_response();
    }
    let (tell, told) = mpsc::channel::<Result<&'static str, Infallible>>(1);
    let rung = bell.rung.subscribe();
    tokio::spawn(follow(sources, rung, tell, is_shown));
    let body = Body::from_stream(ReceiverStream::new(told));
    ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
}

/// Sends messages until the browser has disconnected.
async fn follow(
    sources: Arc<Sources>,
    mut rung: watch::Receiver<()>,
    tell: mpsc::Sender<Result<&'static str, Infallible>>,
    is_shown: impl Fn(&RunId) -> bool,
) {
    let mut mark = None;
    let mut beat = Instant::now() + BEAT;
    loop {
        let (store, from) = (sources.runs.clone(), mark.unwrap_or(u64::MAX));
        let news = tokio::task::spawn_blocking(move || store.news(from)).await;
        let Ok(Ok(news)) = news else {
            return;
        };
        // Changes between the page and this stream are unknown, so the page refreshes once.
        let is_news = mark.is_none() || news.runs.iter().any(&is_shown);
        mark = Some(news.mark);
        let message = if is_news {
            Some(CHANGED)
        } else {
            (Instant::now() >= beat).then_some(ALIVE)
        };
        if let Some(message) = message {
            if tell.send(Ok(message)).await.is_err() {
                return;
            }
            beat = Instant::now() + BEAT;
            sleep(PAUSE).await;
        }
        let until = sleep_until(beat.min(Instant::now() + LOOK));
        tokio::select! {
            _ = rung.changed() => {}
            () = until => {}
            () = tell.closed() => return,
        }
    }
}
