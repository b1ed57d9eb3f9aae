//! Passes on a response piece by piece and counts its tokens.

use super::count::Counter;
use super::shared::Shared;
use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::Response;
use drive_core::agent::Usage;
use std::io::{self, Read};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio_stream::Stream;

/// The approximate number of bytes per token.
const TOKEN: u64 = 4;
/// How many bytes of a response are passed on at once.
const PIECE: usize = 16 * 1024;
/// How many pieces wait for a slow agent.
const PIECES: usize = 4;

/// Headers of a response that concern one connection or a login.
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

/// The beginning of a response, or why there is none.
pub(super) type Told = Result<Response, String>;

/// The pieces of a response, until the broker refuses calls.
struct Pieces<C> {
    receiver: Receiver<io::Result<Bytes>>,
    closing: Pin<Box<C>>,
}

impl<C: Future<Output = &'static str>> Stream for Pieces<C> {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.closing.as_mut().poll(cx) {
            Poll::Ready(why) => Poll::Ready(Some(Err(io::Error::other(why)))),
            Poll::Pending => self.receiver.poll_recv(cx),
        }
    }
}

/// A call to the model.
pub(super) struct Asked {
    pub(super) shared: Arc<Shared>,
    /// The estimated tokens of the call; zero once the response reports them.
    expected: u64,
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.settle();
    }
}

impl Asked {
    /// A call that will be sent.
    pub(super) fn new(shared: Arc<Shared>, path: &str, body: &[u8]) -> Self {
        let expected = if shared.dialect.is_paid(path) {
            body.len() as u64 / TOKEN
        } else {
            0
        };
        shared.expected.fetch_add(expected, Ordering::Relaxed);
        Self { shared, expected }
    }

    /// Passes on a response, and counts its tokens.
    pub(super) fn pass(
        mut self,
        answered: ureq::http::Response<ureq::Body>,
        tell: oneshot::Sender<Told>,
    ) {
        let (parts, body) = answered.into_parts();
        let media_type = parts.headers.get(header::CONTENT_TYPE);
        let media_type = media_type.and_then(|value| value.to_str().ok());
        let counter = Counter::new(self.shared.dialect, media_type.unwrap_or_default());
        let (sender, receiver) = channel(PIECES);
        let closing = Box::pin(self.shared.closing());
        let mut response = Response::new(Body::from_stream(Pieces { receiver, closing }));
        *response.status_mut() = parts.status;
        let kept = parts.headers.iter();
        let kept = kept.filter(|(name, _)| !NOT_ANSWERED.contains(&name.as_str()));
        response
            .headers_mut()
            .extend(kept.map(|(name, value)| (name.clone(), value.clone())));
        let _ = tell.send(Ok(response));
        if !parts.status.is_success() {
            self.settle();
        }
        let reader = body.into_with_config().limit(u64::MAX).reader();
        self.copy(reader, counter, &sender);
    }

    /// Passes on each piece as it arrives, and continues to count after the agent has gone. It ends
    /// early if the broker refuses calls.
    fn copy(&mut self, mut from: impl Read, mut counter: Counter, to: &Sender<io::Result<Bytes>>) {
        let mut piece = vec![0; PIECE];
        while !self.shared.is_closed() {
            match from.read(&mut piece) {
                Ok(0) => break,
                Ok(length) => {
                    // The tokens are counted first: once the agent has read the piece, it may make
                    // its next call.
                    self.add(counter.push(&piece[..length]));
                    let _ = to.blocking_send(Ok(Bytes::copy_from_slice(&piece[..length])));
                }
                Err(error) => {
                    self.add(counter.finish());
                    let _ = to.blocking_send(Err(error));
                    return;
                }
            }
        }
        self.add(counter.finish());
        // The response reported no tokens: it had another form, was too long to parse, or was cut off.
        self.add(Usage {
            input: self.expected,
            ..Usage::default()
        });
    }

    fn add(&mut self, more: Usage) {
        if more != Usage::default() {
            self.shared.add(more);
            self.settle();
        }
    }

    /// Removes the estimate.
    fn settle(&mut self) {
        let tokens = std::mem::take(&mut self.expected);
        self.shared.expected.fetch_sub(tokens, Ordering::Relaxed);
    }
}
