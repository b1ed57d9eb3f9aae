//! The network of a tree that reaches hosts by name.
//!
//! The tree has its own network namespace, which contains only a loopback interface. The init binds sockets
//! in it and passes them out, so that nothing inside can be attacked: threads of the supervisor answer name
//! queries with loopback addresses, accept connections to them, and connect to the real hosts outside.

mod dns;
mod names;
mod outward;
mod pump;
mod sockets;

pub(super) use names::Names;
pub(super) use sockets::{bind, receive, send};

use super::super::wire::Request;
use dns::Query;
use drive_core::network::Refused;
use outward::Outward;
use pump::{STACK, pump};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::set_socket_linger;
use sockets::Sockets;
use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The maximum number of simultaneous connections; further ones wait. Each needs six descriptors,
/// of usually 1024.
const MOST_CONNECTIONS: usize = 128;
/// The maximum number of refused hosts that are reported.
const MOST_REFUSED: usize = 64;
/// How many queries are answered before connections are accepted again.
const QUESTIONS: usize = 64;
/// The maximum size of a query.
const MOST_QUESTION: usize = 1024;
/// How long a client may take for a query over TCP.
const ASKING: Duration = Duration::from_secs(10);
/// The interval at which waiting connections are checked while all slots are in use.
const FULL: Duration = Duration::from_millis(20);

/// The relay of one tree. Its threads end with the process.
pub(super) struct Relay {
    shared: Arc<Shared>,
}

struct Shared {
    names: Mutex<Names>,
    outward: Outward,
    refused: Mutex<RefusedHosts>,
    connections: AtomicUsize,
}

#[derive(Default)]
struct RefusedHosts {
    known: BTreeSet<Refused>,
    news: Vec<Refused>,
}

impl Relay {
    /// Starts to serve the sockets that the init passed out.
    pub(super) fn start(request: &Request, handed: Vec<OwnedFd>) -> io::Result<Self> {
        let sockets = Sockets::new(handed)?;
        let shared = Arc::new(Shared {
            names: Mutex::new(Names::new(&request.reach)),
            outward: Outward {
                proxy: request.reach.proxy.clone(),
                pins: request.pins.iter().cloned().collect(),
            },
            refused: Mutex::default(),
            connections: AtomicUsize::new(0),
        });
        let relay = Self {
            shared: shared.clone(),
        };
        start(move || shared.listen(&sockets))?;
        Ok(relay)
    }

    /// The hosts that were refused since the last call.
    pub(super) fn news(&self) -> Vec<Refused> {
        std::mem::take(&mut lock(&self.shared.refused).news)
    }
}

fn start(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new()
        .stack_size(STACK)
        .spawn(work)
        .map(drop)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn listen(self: &Arc<Self>, sockets: &Sockets) {
        loop {
            let is_full = self.connections.load(Ordering::Relaxed) >= MOST_CONNECTIONS;
            let mut fds = vec![PollFd::new(&sockets.questions, PollFlags::IN)];
            if !is_full {
                let listeners = [&sockets.long_questions]
                    .into_iter()
                    .chain(&sockets.listeners);
                fds.extend(listeners.map(|listener| PollFd::new(listener, PollFlags::IN)));
            }
            let pause = is_full.then_some(FULL);
            let pause = pause.and_then(|pause| Timespec::try_from(pause).ok());
            if poll(&mut fds, pause.as_ref()).is_err() {
                continue;
            }
            let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
            if ready.next() == Some(true) {
                self.answer_questions(sockets);
            }
            if ready.next() == Some(true) {
                self.accept(&sockets.long_questions, Self::answer_stream);
            }
            for (listener, is_ready) in sockets.listeners.iter().zip(ready) {
                if is_ready {
                    self.accept(listener, Self::serve);
                }
            }
        }
    }

    fn answer_questions(&self, sockets: &Sockets) {
        let mut message = [0; MOST_QUESTION];
        for _ in 0..QUESTIONS {
            let Ok((length, from)) = sockets.questions.recv_from(&mut message) else {
                return;
            };
            if let Some(answer) = self.answer(&message[..length]) {
                let _ = sockets.questions.send_to(&answer, from);
            }
        }
    }

    fn answer(&self, message: &[u8]) -> Option<Vec<u8>> {
        let query = Query::read(message)?;
        let (answer, refused) = lock(&self.names).answer(&query);
        if let Some(refused) = refused {
            self.note(refused);
        }
        Some(query.answered(&answer))
    }

    /// Answers queries over TCP, which are prefixed with their length.
    fn answer_stream(&self, mut stream: TcpStream) {
        let _ = stream.set_read_timeout(Some(ASKING));
        let _ = stream.set_write_timeout(Some(ASKING));
        for _ in 0..QUESTIONS {
            let mut length = [0; 2];
            let mut message = [0; MOST_QUESTION];
            if stream.read_exact(&mut length).is_err() {
                return;
            }
            let Some(message) = message.get_mut(..usize::from(u16::from_be_bytes(length))) else {
                return;
            };
            let answer = match stream.read_exact(message) {
                Ok(()) => self.answer(message),
                Err(_) => None,
            };
            let Some(answer) = answer else { return };
            let sized = [&(answer.len() as u16).to_be_bytes()[..], &answer].concat();
            if stream.write_all(&sized).is_err() {
                return;
            }
        }
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener, serve: fn(&Self, TcpStream)) {
        let Ok((stream, _)) = listener.accept() else {
            return;
        };
        self.connections.fetch_add(1, Ordering::Relaxed);
        let place = Place(self.clone());
        // If no thread can be started, the connection is closed.
        let _ = start(move || serve(&place.0, stream));
    }

    /// Serves one connection of the tree: finds its target and carries its bytes.
    fn serve(&self, inside: TcpStream) {
        let Ok(at) = inside.local_addr() else { return };
        let (target, known) = {
            let names = lock(&self.names);
            (names.target(at), names.host_at(at.ip()).map(str::to_owned))
        };
        let Some(target) = target else {
            if let Some(name) = known {
                let host = format!("{name}:{}", at.port());
                self.note(Refused::NotAllowed { host });
            }
            return reset(&inside);
        };
        match self.outward.connect(&target) {
            Ok(outside) => {
                let _ = pump(&inside, &outside);
            }
            Err(refused) => {
                self.note(refused);
                reset(&inside);
            }
        }
    }

    fn note(&self, refused: Refused) {
        let mut all = lock(&self.refused);
        if all.known.len() < MOST_REFUSED && all.known.insert(refused.clone()) {
            all.news.push(refused);
        }
    }
}

/// A slot of an open connection.
struct Place(Arc<Shared>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Resets a connection, like a host that refuses it, so that it does not look like an empty answer.
fn reset(stream: &TcpStream) {
    let _ = set_socket_linger(stream, Some(Duration::ZERO));
}
