//! Copies bytes in both directions between two connections.

use rustix::io::Errno;
use rustix::pipe::{SpliceFlags, fcntl_setpipe_size, splice};
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// The maximum number of bytes in transit in one direction.
const BUFFER: usize = 256 * 1024;
/// How long a connection may be silent in both directions.
const IDLE: Duration = Duration::from_secs(60 * 60);
/// How long a receiver may accept no data.
const STUCK: Duration = Duration::from_secs(10 * 60);
/// The stack size of the relay's threads: name lookups need the most.
pub(super) const STACK: usize = 256 * 1024;

/// Copies until both sides have ended, or one fails.
pub(super) fn pump(inside: &TcpStream, outside: &TcpStream) -> io::Result<()> {
    for stream in [inside, outside] {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(IDLE))?;
        stream.set_write_timeout(Some(STUCK))?;
    }
    let active = Mutex::new(Instant::now());
    let one_way = |from: &TcpStream, to: &TcpStream| {
        let carried = carry(from, to, &active);
        let how = if carried.is_ok() {
            Shutdown::Write
        } else {
            Shutdown::Both
        };
        let _ = to.shutdown(how);
        if carried.is_err() {
            let _ = from.shutdown(Shutdown::Both);
        }
    };
    thread::scope(|scope| {
        let back = || one_way(outside, inside);
        thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, back)?;
        one_way(inside, outside);
        Ok(())
    })
}

/// Copies one direction by moving pages instead of bytes.
fn carry(from: &TcpStream, to: &TcpStream, active: &Mutex<Instant>) -> io::Result<()> {
    let (reader, writer) = io::pipe()?;
    // For an ordinary user the kernel limits the sum of all pipes.
    let _ = fcntl_setpipe_size(&writer, BUFFER);
    let touched = || {
        if let Ok(mut active) = active.lock() {
            *active = Instant::now();
        }
    };
    let is_idle = || {
        active
            .lock()
            .map_or(true, |active| active.elapsed() >= IDLE)
    };
    loop {
        let mut left = match splice(from, None, &writer, None, BUFFER, SpliceFlags::MOVE) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) if !is_idle() => continue,
            Err(error) => return Err(error.into()),
        };
        touched();
        while left > 0 {
            match splice(&reader, None, to, None, left, SpliceFlags::MOVE) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => left -= count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        touched();
    }
}
