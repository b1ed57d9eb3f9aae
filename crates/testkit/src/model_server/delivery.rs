//! Delivers a model's events: whole, in pieces, slowly, or cut off.

use super::dialect::{Answer, Rendered};
use super::protocol::Protocol;
use super::script::Fault;
use axum::body::{Body, Bytes};
use std::io;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

/// The number of events that wait for a slow client, which slows the server down but never fills its memory.
const QUEUED_EVENTS: usize = 16;
/// The size of the pieces in which a flood's text is sent.
const FLOOD_PIECE: usize = 1024;
/// The number of pieces in which a turn's text is sent, so that parsers get more than one.
const TEXT_PIECES: usize = 3;

/// The body with the answer, subject to the fault.
pub(super) fn body(protocol: Protocol, answer: Answer, fault: Option<Fault>) -> Body {
    let (wire, events) = mpsc::channel(QUEUED_EVENTS);
    tokio::spawn(async move {
        // A disconnected client ends the task at its next event.
        let _ = Wire(wire).send(protocol, &answer, fault).await;
    });
    Body::from_stream(ReceiverStream::new(events))
}

/// The body of an answer in one piece. A client whose stream broke falls back to this form, and the
/// fault applies here as well.
pub(super) fn whole_body(whole: String, fault: Option<Fault>) -> Body {
    let (wire, pieces) = mpsc::channel(QUEUED_EVENTS);
    tokio::spawn(async move {
        let wire = Wire(wire);
        let half = || whole.chars().take(whole.len() / 2).collect::<String>();
        let _ = match fault {
            None
            | Some(
                Fault::Status { .. }
                | Fault::HangBeforeHeaders
                | Fault::Flood { .. }
                | Fault::Drip { .. },
            ) => wire.all(vec![whole]).await,
            Some(Fault::HangAfterHeaders | Fault::HangMidStream) => wire.hang().await,
            Some(Fault::EndEarly | Fault::Malformed) => wire.all(vec![half()]).await,
            Some(Fault::DropMidEvent) => match wire.all(vec![half()]).await {
                Ok(()) => wire.break_off().await,
                gone => gone,
            },
        };
    });
    Body::from_stream(ReceiverStream::new(pieces))
}

type Sent = Result<(), mpsc::error::SendError<io::Result<Bytes>>>;

struct Wire(mpsc::Sender<io::Result<Bytes>>);

impl Wire {
    async fn send(&self, protocol: Protocol, answer: &Answer, fault: Option<Fault>) -> Sent {
        let rendered = protocol.render(answer);
        let events = || events(protocol, answer, &rendered);
        match fault {
            None | Some(Fault::Status { .. } | Fault::HangBeforeHeaders) => {
                self.all(events()).await
            }
            Some(Fault::HangAfterHeaders) => self.hang().await,
            Some(Fault::HangMidStream) => {
                self.all(first_half(events())).await?;
                self.hang().await
            }
            Some(Fault::DropMidEvent) => {
                self.all(first_half(events())).await?;
                self.bytes("data: {\"type\":").await?;
                self.break_off().await
            }
            Some(Fault::EndEarly) => self.all(first_half(events())).await,
            Some(Fault::Malformed) => {
                self.all(first_half(events())).await?;
                self.bytes("data: {\"type\": not json\n\n").await
            }
            Some(Fault::Flood { bytes, pause }) => {
                let piece = protocol.delta(answer, &"x".repeat(FLOOD_PIECE));
                self.flood(piece.into(), &rendered, bytes, pause).await
            }
            Some(Fault::Drip { pause }) => {
                for byte in events().concat().into_bytes() {
                    self.0.send(Ok(Bytes::copy_from_slice(&[byte]))).await?;
                    tokio::time::sleep(pause).await;
                }
                Ok(())
            }
        }
    }

    async fn flood(&self, piece: Bytes, rendered: &Rendered, bytes: u64, pause: Duration) -> Sent {
        self.all(rendered.head.clone()).await?;
        let mut sent = 0;
        while sent < bytes {
            self.0.send(Ok(piece.clone())).await?;
            sent += FLOOD_PIECE as u64;
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
        }
        self.all(rendered.tail.clone()).await
    }

    async fn all(&self, events: Vec<String>) -> Sent {
        for event in events {
            self.0.send(Ok(Bytes::from(event))).await?;
        }
        Ok(())
    }

    async fn bytes(&self, bytes: &'static str) -> Sent {
        self.0.send(Ok(Bytes::from_static(bytes.as_bytes()))).await
    }

    /// Resets the connection before the end of the body.
    async fn break_off(&self) -> Sent {
        let broken = io::Error::new(io::ErrorKind::ConnectionReset, "scripted fault");
        self.0.send(Err(broken)).await
    }

    /// Waits until the client disconnects or the server stops.
    async fn hang(&self) -> Sent {
        self.0.closed().await;
        Ok(())
    }
}

fn events(protocol: Protocol, answer: &Answer, rendered: &Rendered) -> Vec<String> {
    let pieces = pieces(&answer.turn.text);
    let mut events = rendered.head.clone();
    events.extend(pieces.iter().map(|text| protocol.delta(answer, text)));
    events.extend_from_slice(&rendered.tail);
    events
}

/// The first half of the events, in any case without the one that ends the answer.
fn first_half(mut events: Vec<String>) -> Vec<String> {
    events.truncate(events.len() / 2);
    events
}

fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let size = characters.len().div_ceil(TEXT_PIECES).max(1);
    characters
        .chunks(size)
        .map(|piece| piece.iter().collect())
        .collect()
}
