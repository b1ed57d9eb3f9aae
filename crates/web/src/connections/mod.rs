//! A listener that limits the slots, time and memory of connections.

mod limits;
mod table;

pub use limits::Limits;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use table::{Phase, Source, Table};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

/// The pause after a failed accept, e.g. when file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// The slots, shared by the listener and the connections.
struct Slots {
    table: Mutex<Table>,
    /// Notified when a slot becomes free, or may be taken earlier than planned.
    changed: Notify,
    body_time: Duration,
}

impl Slots {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct BoundedListener {
    listener: TcpListener,
    limits: Limits,
    slots: Arc<Slots>,
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    stream: TcpStream,
    address: SocketAddr,
    source: Source,
    since: Instant,
}

impl BoundedListener {
    pub(crate) fn new(listener: TcpListener, limits: Limits) -> Self {
        let slots = Slots {
            table: Mutex::new(Table::new(limits)),
            changed: Notify::new(),
            body_time: limits.body,
        };
        Self {
            listener,
            limits,
            slots: Arc::new(slots),
            waiting: VecDeque::new(),
        }
    }

    /// Ends the streams, so that the server can stop.
    pub(crate) fn streams(&self) -> Streams {
        Streams(self.slots.clone())
    }

    /// The next waiting connection that gets a slot: the first of the source with the fewest slots.
    fn admit(&mut self, now: Instant) -> Option<(BoundedStream, SocketAddr)> {
        let patience = self.limits.body;
        self.waiting.retain(|one| now < one.since + patience);
        let mut table = self.slots.table();
        let mut held = BTreeMap::new();
        for one in &self.waiting {
            held.entry(one.source)
                .or_insert_with(|| table.held_by(one.source));
        }
        let mut sources: Vec<Source> = held.keys().copied().collect();
        sources.sort_by_key(|source| held.get(source).copied());
        let (source, (id, closed)) = sources
            .into_iter()
            .find_map(|source| Some((source, table.admit(source, now)?)))?;
        drop(table);
        let ticket = Ticket {
            id,
            slots: self.slots.clone(),
        };
        let slot = Slot(ticket);
        let first = self.waiting.iter().position(|one| one.source == source)?;
        let one = self.waiting.remove(first)?;
        Some((BoundedStream::new(one.stream, slot, closed), one.address))
    }

    fn take(&mut self, stream: TcpStream, address: SocketAddr) {
        let source = Source::of(address);
        let before = self.waiting.iter().filter(|one| one.source == source);
        let full = before.count() >= self.limits.waiting_per_address;
        if full && source != Source::Loopback {
            return;
        }
        self.waiting.push_back(Waiting {
            stream,
            address,
            source,
            since: Instant::now(),
        });
    }
}

impl Listener for BoundedListener {
    type Io = BoundedStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let now = Instant::now();
            if let Some(admitted) = self.admit(now) {
                return admitted;
            }
            let is_queue_free = self.waiting.len() < self.limits.waiting;
            let due = self.slots.table().next_due(now);
            let due = due.filter(|_| !self.waiting.is_empty());
            tokio::select! {
                accepted = self.listener.accept(), if is_queue_free => match accepted {
                    Ok((stream, address)) => self.take(stream, address),
                    Err(_) => sleep(ACCEPT_PAUSE).await,
                },
                () = self.slots.changed.notified() => {}
                () = sleep_until(due.unwrap_or(now)), if due.is_some() => {}
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// The answers that send events until they are ended.
pub(crate) struct Streams(Arc<Slots>);

impl Streams {
    pub(crate) fn end(&self) {
        self.0.table().close_streams();
    }
}

/// A request's handle on its connection, for reporting its progress.
#[derive(Clone)]
pub(crate) struct Ticket {
    id: u64,
    slots: Arc<Slots>,
}

impl Ticket {
    /// The header is complete; a body may follow.
    pub(crate) fn header_is_complete(&self) {
        self.enter(Phase::Body);
    }

    /// The request is complete; only the answer remains.
    pub(crate) fn request_is_complete(&self) {
        if !self.slots.table().is_stream(self.id) {
            self.enter(Phase::Answer);
        }
        self.slots.table().release(self.id);
    }

    /// Begins an answer that sends events until it is ended; false if there are too many.
    #[must_use]
    pub(crate) fn begin_stream(&self) -> bool {
        let mut table = self.slots.table();
        let is_free = table.has_room_for_stream(self.id);
        if is_free {
            table.enter(self.id, Phase::Stream, Instant::now());
        }
        is_free
    }

    /// Counts bytes of the body in memory; false if that is too much for the server.
    #[must_use]
    pub(crate) fn hold(&self, bytes: usize) -> bool {
        self.slots.table().hold(self.id, bytes)
    }

    /// The time limit for a whole body.
    pub(crate) fn body_time(&self) -> Duration {
        self.slots.body_time
    }

    fn enter(&self, phase: Phase) {
        self.slots.table().enter(self.id, phase, Instant::now());
        self.slots.changed.notify_one();
    }
}

impl Connected<IncomingStream<'_, BoundedListener>> for Ticket {
    fn connect_info(stream: IncomingStream<'_, BoundedListener>) -> Self {
        stream.io().slot.0.clone()
    }
}

/// Releases its slot when the connection ends.
struct Slot(Ticket);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.slots.table().remove(self.0.id);
        self.0.slots.changed.notify_one();
    }
}

/// A connection with a slot. It ends at its deadline, or when its slot is given away.
pub(crate) struct BoundedStream {
    stream: TcpStream,
    slot: Slot,
    closed: oneshot::Receiver<()>,
    deadline: Pin<Box<Sleep>>,
    /// Why it ended; the receiver must not be polled again.
    ended: Option<io::ErrorKind>,
}

impl BoundedStream {
    fn new(stream: TcpStream, slot: Slot, closed: oneshot::Receiver<()>) -> Self {
        Self {
            stream,
            slot,
            closed,
            // The deadline is in the table; it is read when this timer ends.
            deadline: Box::pin(sleep(Duration::ZERO)),
            ended: None,
        }
    }

    /// Returns an error once the connection must end. Called before every transfer, so that a
    /// sender whose bytes never stop is stopped too.
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if self.ended.is_none() {
            self.ended = self.end(context);
        }
        self.ended.map_or(Ok(()), |kind| Err(kind.into()))
    }

    fn end(&mut self, context: &mut Context<'_>) -> Option<io::ErrorKind> {
        if Pin::new(&mut self.closed).poll(context).is_ready() {
            return Some(io::ErrorKind::ConnectionAborted);
        }
        while self.deadline.as_mut().poll(context).is_ready() {
            let ticket = &self.slot.0;
            let deadline = ticket.slots.table().deadline(ticket.id);
            let deadline = deadline.filter(|deadline| *deadline > Instant::now());
            let Some(deadline) = deadline else {
                return Some(io::ErrorKind::TimedOut);
            };
            self.deadline.as_mut().reset(deadline);
        }
        None
    }
}

impl AsyncRead for BoundedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for BoundedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
