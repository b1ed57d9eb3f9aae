//! The connection table: decides who gets a slot, and which connection is closed for it.
//!
//! A signature can only be checked once the whole body has arrived, so until then signed and
//! unsigned requests look alike. Signed ones are not starved, because no connection can keep its
//! slot: each phase of a request ends at a fixed time, and when slots or memory are short, the
//! address that holds most of them loses its slowest request first.

use super::limits::Limits;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// The source to which a connection is attributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// All programs on this machine, and all senders behind a proxy on it.
    Loopback,
    /// A remote address. For IPv6, its /64 network, because one sender usually has all of it.
    Remote(IpAddr),
}

impl Source {
    pub(super) fn of(address: SocketAddr) -> Self {
        match address.ip().to_canonical() {
            ip if ip.is_loopback() => Source::Loopback,
            IpAddr::V4(ip) => Source::Remote(IpAddr::V4(ip)),
            IpAddr::V6(ip) => {
                let network = ip.to_bits() & !u128::from(u64::MAX);
                Source::Remote(IpAddr::V6(Ipv6Addr::from_bits(network)))
            }
        }
    }
}

/// The phase of a request. A connection serves only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// It sends events. It is closed first, because its browser reconnects.
    Stream,
    Header,
    Body,
    Answer,
}

struct Entry {
    source: Source,
    phase: Phase,
    /// When the phase began.
    since: Instant,
    /// Bytes of the body in memory.
    bytes: usize,
    /// Closes the connection; `None` after that was requested.
    close: Option<oneshot::Sender<()>>,
}

/// The connections that have a slot.
pub(super) struct Table {
    limits: Limits,
    next: u64,
    entries: BTreeMap<u64, Entry>,
}

impl Table {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            next: 0,
            entries: BTreeMap::new(),
        }
    }

    /// Gives a connection of `source` a slot, and closes another one if necessary; `None` if it must wait.
    pub(super) fn admit(
        &mut self,
        source: Source,
        now: Instant,
    ) -> Option<(u64, oneshot::Receiver<()>)> {
        if !self.has_room(source) {
            let full = self.is_at_its_limit(source).then_some(source);
            let victim = self.slowest(full, now)?;
            self.close(victim);
        }
        let (close, closed) = oneshot::channel();
        let id = self.next;
        self.next += 1;
        let entry = Entry {
            source,
            phase: Phase::Header,
            since: now,
            bytes: 0,
            close: Some(close),
        };
        self.entries.insert(id, entry);
        Some((id, closed))
    }

    /// The number of slots that a source holds.
    pub(super) fn held_by(&self, source: Source) -> usize {
        self.open().filter(|(_, one)| one.source == source).count()
    }

    /// When the next connection may be closed for a waiting one.
    pub(super) fn next_due(&self, now: Instant) -> Option<Instant> {
        let due = self.open().map(|(_, one)| one.since + self.patience(one));
        due.filter(|due| *due > now).min()
    }

    pub(super) fn enter(&mut self, id: u64, phase: Phase, now: Instant) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.phase = phase;
            entry.since = now;
        }
    }

    /// Whether a connection may begin to send events.
    pub(super) fn has_room_for_stream(&self, id: u64) -> bool {
        let streams = self.open().filter(|(_, one)| one.phase == Phase::Stream);
        self.entries.contains_key(&id) && streams.count() < self.limits.streams
    }

    pub(super) fn is_stream(&self, id: u64) -> bool {
        let entry = self.entries.get(&id);
        entry.is_some_and(|entry| entry.phase == Phase::Stream)
    }

    pub(super) fn close_streams(&mut self) {
        let streams = self.open().filter(|(_, one)| one.phase == Phase::Stream);
        let streams: Vec<u64> = streams.map(|(id, _)| id).collect();
        for id in streams {
            self.close(id);
        }
    }

    /// When the current phase of a connection ends.
    pub(super) fn deadline(&self, id: u64) -> Option<Instant> {
        let entry = self.entries.get(&id)?;
        let time = match entry.phase {
            Phase::Header => self.limits.header,
            // The refusal of a body that is too slow must still be sent.
            Phase::Body => self.limits.body + self.limits.header,
            Phase::Answer => self.limits.answer,
            Phase::Stream => self.limits.stream,
        };
        Some(entry.since + time)
    }

    /// Counts more bytes of a body. If there are too many, the largest bodies are given up; false
    /// means that this one was.
    pub(super) fn hold(&mut self, id: u64, bytes: usize) -> bool {
        let Some(entry) = self.entries.get_mut(&id) else {
            return false;
        };
        entry.bytes += bytes;
        while self.open().map(|(_, one)| one.bytes).sum::<usize>() > self.limits.body_bytes {
            let largest = self.open().max_by_key(|(_, one)| one.bytes);
            let Some((largest, _)) = largest else {
                return false;
            };
            if largest == id {
                self.release(id);
                return false;
            }
            self.close(largest);
        }
        true
    }

    /// Records that its body is no longer in memory.
    pub(super) fn release(&mut self, id: u64) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.bytes = 0;
        }
    }

    pub(super) fn remove(&mut self, id: u64) {
        self.entries.remove(&id);
    }

    /// Connections that were not asked to close.
    fn open(&self) -> impl Iterator<Item = (u64, &Entry)> {
        let open = self.entries.iter().filter(|(_, one)| one.close.is_some());
        open.map(|(id, one)| (*id, one))
    }

    fn has_room(&self, source: Source) -> bool {
        !self.is_at_its_limit(source) && self.open().count() < self.limits.connections
    }

    fn is_at_its_limit(&self, source: Source) -> bool {
        source != Source::Loopback && self.held_by(source) >= self.limits.per_address
    }

    fn patience(&self, entry: &Entry) -> std::time::Duration {
        match entry.phase {
            Phase::Header => self.limits.shed_header,
            Phase::Body => self.limits.shed_body,
            Phase::Answer | Phase::Stream => self.limits.shed_answer,
        }
    }

    /// The request to close: from the source with the most slots, the least complete one; among
    /// these the oldest.
    fn slowest(&self, of: Option<Source>, now: Instant) -> Option<u64> {
        let mut held = BTreeMap::<Source, usize>::new();
        for (_, one) in self.open() {
            *held.entry(one.source).or_default() += 1;
        }
        let due = self.open().filter(|(_, one)| {
            of.is_none_or(|source| one.source == source) && one.since + self.patience(one) <= now
        });
        let order = |(id, one): &(u64, &Entry)| {
            let held = held.get(&one.source).copied().unwrap_or_default();
            (std::cmp::Reverse(held), one.phase, *id)
        };
        due.min_by_key(order).map(|(id, _)| id)
    }

    fn close(&mut self, id: u64) {
        let close = self.entries.get_mut(&id).and_then(|one| one.close.take());
        if let Some(close) = close {
            // A connection that ended by itself is closed already.
            let _ = close.send(());
        }
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
