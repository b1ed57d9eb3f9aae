//! Writes to a running child's standard input.
//!
//! The two ends of a bounded queue: the [`StdinWriter`] writes, the runner reads from the
//! [`StdinSource`]. A child that does not read blocks the writer and never fills memory.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// How many bytes may wait for the child before a writer blocks.
const CAPACITY: usize = 1 << 20;

#[derive(Default)]
struct Queue {
    frames: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Whether the writer has finished.
    finished: bool,
    /// Whether the reader is gone.
    gone: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, guard: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        self.changed
            .wait(guard)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The child has ended or closed its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StdinClosed;

impl fmt::Display for StdinClosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the process has closed its input")
    }
}

impl std::error::Error for StdinClosed {}

/// A new channel: the end to write to, and the end to put into `Stdin::Channel`.
pub fn stdin_channel() -> (StdinWriter, StdinSource) {
    let shared = Arc::new(Shared::default());
    (
        StdinWriter {
            shared: shared.clone(),
        },
        StdinSource { shared },
    )
}

/// Writes to the child. Dropping it ends the child's input.
pub struct StdinWriter {
    shared: Arc<Shared>,
}

impl StdinWriter {
    /// Queues bytes. Blocks while the queue is full; fails after the reader has ended.
    pub fn send(&self, bytes: impl Into<Vec<u8>>) -> Result<(), StdinClosed> {
        let bytes = bytes.into();
        let mut queue = self.shared.lock();
        while queue.bytes > 0 && queue.bytes + bytes.len() > CAPACITY && !queue.gone {
            queue = self.shared.wait(queue);
        }
        if queue.gone {
            return Err(StdinClosed);
        }
        queue.bytes += bytes.len();
        queue.frames.push_back(bytes);
        self.shared.changed.notify_all();
        Ok(())
    }
}

impl Drop for StdinWriter {
    fn drop(&mut self) {
        self.shared.lock().finished = true;
        self.shared.changed.notify_all();
    }
}

/// The end that the runner reads from. Clones read from the same queue.
#[derive(Clone)]
pub struct StdinSource {
    shared: Arc<Shared>,
}

impl StdinSource {
    /// The next bytes, in order; `None` once the input has ended or was closed.
    pub fn next(&self) -> Option<Vec<u8>> {
        let mut queue = self.shared.lock();
        loop {
            if queue.gone {
                return None;
            }
            if let Some(frame) = queue.frames.pop_front() {
                queue.bytes -= frame.len();
                self.shared.changed.notify_all();
                return Some(frame);
            }
            if queue.finished {
                return None;
            }
            queue = self.shared.wait(queue);
        }
    }

    /// Closes the reading end: writers fail from now on, and a waiting `next` returns.
    pub fn close(&self) {
        self.shared.lock().gone = true;
        self.shared.changed.notify_all();
    }
}

impl fmt::Debug for StdinSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StdinSource")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_arrive_in_order_and_dropping_the_writer_ends_them() {
        let (writer, source) = stdin_channel();
        writer.send(*b"one").unwrap();
        writer.send(*b"two").unwrap();
        drop(writer);
        assert_eq!(
            [source.next(), source.next(), source.next()],
            [Some(b"one".to_vec()), Some(b"two".to_vec()), None]
        );
    }

    #[test]
    fn a_writer_that_waits_for_room_is_told_when_nobody_reads() {
        let (writer, source) = stdin_channel();
        writer.send(vec![0; CAPACITY]).unwrap();
        let waiting = std::thread::spawn(move || writer.send(*b"more"));
        source.close();
        assert_eq!(waiting.join().unwrap(), Err(StdinClosed));
    }

    #[test]
    fn a_waiting_reader_gets_what_is_sent_later() {
        let (writer, source) = stdin_channel();
        let reader = std::thread::spawn(move || source.next());
        writer.send(*b"late").unwrap();
        assert_eq!(reader.join().unwrap(), Some(b"late".to_vec()));
    }
}
