//! Starts a program inside the containment of a stage, and waits until it is ready.

use drive_core::verify::{LineWatch, Ready, http_is_ready};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The interval at which readiness is checked.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// The timeout of one connection.
const CONNECTION: Duration = Duration::from_secs(2);
/// How long to read output while another process keeps the pipe open.
const DRAIN: Duration = Duration::from_secs(1);

/// Which processes are ended with a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// Only the program: it must end what it started.
    Alone,
    /// All processes in its group.
    WithGroup,
}

/// A started program.
pub(super) struct Started {
    child: Child,
    ends: Ends,
    line_seen: Arc<AtomicBool>,
    copies: Vec<JoinHandle<()>>,
}

impl Started {
    /// Starts a program whose output goes to two writers.
    #[expect(
        clippy::disallowed_methods,
        reason = "already inside the containment of its stage, which bounds this child too"
    )]
    pub(super) fn start<S: AsRef<OsStr>>(
        argv: &[S],
        ready: &Ready,
        ends: Ends,
        (out, err): (impl Write + Send + 'static, impl Write + Send + 'static),
    ) -> io::Result<Self> {
        let (program, args) = argv
            .split_first()
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let mut command = Command::new(program);
        command
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if ends == Ends::WithGroup {
            command.process_group(0);
        }
        let mut child = command.spawn()?;
        let line_seen = Arc::new(AtomicBool::new(false));
        let watch = || match ready {
            Ready::Line(line) => Some(LineWatch::new(line)),
            Ready::Port(_) | Ready::Http { .. } => None,
        };
        let mut copies = Vec::new();
        if let Some(from) = child.stdout.take() {
            copies.push(copy(from, out, watch(), Arc::clone(&line_seen)));
        }
        if let Some(from) = child.stderr.take() {
            copies.push(copy(from, err, watch(), Arc::clone(&line_seen)));
        }
        Ok(Self {
            child,
            ends,
            line_seen,
            copies,
        })
    }

    /// Whether it is ready.
    pub(super) fn is_ready(&self, ready: &Ready) -> bool {
        match ready {
            Ready::Line(_) => self.line_seen.load(Ordering::Acquire),
            Ready::Port(port) => connect(*port).is_ok(),
            Ready::Http { port, path } => {
                answers(*port, path).is_ok_and(|answer| http_is_ready(&answer))
            }
        }
    }

    /// Its exit status, if it has ended.
    pub(super) fn try_wait(&mut self) -> Result<Option<ExitStatus>, String> {
        let waited = self.child.try_wait();
        let status = waited.map_err(|error| format!("cannot wait for it: {error}"))?;
        if status.is_some() {
            self.drain();
        }
        Ok(status)
    }

    /// Asks it to end with TERM.
    pub(super) fn ask_to_end(&self) {
        self.signal(Signal::TERM);
    }

    /// Waits up to this time until it ends. Returns its exit status; `None` if it had to be killed.
    pub(super) fn ended_within(&mut self, grace: Duration) -> Result<Option<ExitStatus>, String> {
        let deadline = Instant::now() + grace;
        let mut status = None;
        while status.is_none() && Instant::now() < deadline {
            status = self.try_wait()?;
            if status.is_none() {
                std::thread::sleep(LOOK_AGAIN);
            }
        }
        if status.is_none() || self.ends == Ends::WithGroup {
            self.signal(Signal::KILL);
        }
        if status.is_none() {
            let _ = self.child.wait();
            self.drain();
        }
        Ok(status)
    }

    fn signal(&self, signal: Signal) {
        let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) else {
            return;
        };
        // An error means that the process has ended, which a wait finds out.
        let _ = match self.ends {
            Ends::Alone => kill_process(pid, signal),
            Ends::WithGroup => kill_process_group(pid, signal),
        };
    }

    /// Lets the copies finish, unless a grandchild keeps the pipe open.
    fn drain(&mut self) {
        let deadline = Instant::now() + DRAIN;
        while Instant::now() < deadline && self.copies.iter().any(|copy| !copy.is_finished()) {
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

fn copy(
    mut from: impl Read + Send + 'static,
    mut to: impl Write + Send + 'static,
    mut watch: Option<LineWatch>,
    seen: Arc<AtomicBool>,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(count) = from.read(&mut buffer) {
            if count == 0
                || to
                    .write_all(&buffer[..count])
                    .and_then(|()| to.flush())
                    .is_err()
            {
                break;
            }
            if watch
                .as_mut()
                .is_some_and(|watch| watch.push(&buffer[..count]))
            {
                seen.store(true, Ordering::Release);
            }
        }
    })
}

/// The port of a readiness condition, if a process listens on it already.
pub(super) fn taken_port(ready: &Ready) -> Option<u16> {
    let port = match ready {
        Ready::Line(_) => return None,
        Ready::Port(port) | Ready::Http { port, .. } => *port,
    };
    connect(port).is_ok().then_some(port)
}

fn connect(port: u16) -> io::Result<TcpStream> {
    let old = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let new = SocketAddr::from((Ipv6Addr::LOCALHOST, port));
    let connect = |address| TcpStream::connect_timeout(&address, CONNECTION);
    connect(old).or_else(|_| connect(new))
}

fn answers(port: u16, path: &str) -> io::Result<Vec<u8>> {
    let mut stream = connect(port)?;
    stream.set_read_timeout(Some(CONNECTION))?;
    stream.set_write_timeout(Some(CONNECTION))?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
    )?;
    let mut head = Vec::new();
    stream.take(64).read_to_end(&mut head)?;
    Ok(head)
}
