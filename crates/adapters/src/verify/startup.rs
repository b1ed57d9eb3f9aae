//! The startup helper: starts a program, waits until it is ready, ends it, and says how that went.
//!
//! It runs inside the same containment as the program it starts, so that a program without a network
//! can still be asked on its own loopback. Its bounds are those of its stage.

use drive_core::verify::{LineWatch, Ready, http_is_ready};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The first argument that asks the binary to be the helper.
pub const STARTUP: &str = "__startup-smoke";

/// How often readiness is looked for.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// How long one connection may take.
const CONNECTION: Duration = Duration::from_secs(2);
/// How long a program may take to end after TERM.
const GRACE: Duration = Duration::from_secs(10);
/// How long output that somebody still holds is read.
const DRAIN: Duration = Duration::from_secs(1);
const TERM: i32 = 15;

/// Becomes the helper when the arguments ask for it: `__startup-smoke --ready JSON -- PROGRAM ARG…`.
pub fn startup_if_asked(arguments: &[OsString]) -> Option<ExitCode> {
    if arguments.get(1)? != STARTUP {
        return None;
    }
    let ended = match parse(&arguments[2..]) {
        Some((ready, command)) => smoke(&ready, command),
        None => Err("the helper was called wrongly".to_owned()),
    };
    Some(match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            say(&reason);
            ExitCode::FAILURE
        }
    })
}

fn parse(arguments: &[OsString]) -> Option<(Ready, &[OsString])> {
    let [flag, ready, dashes, command @ ..] = arguments else {
        return None;
    };
    let is_right = flag == "--ready" && dashes == "--" && !command.is_empty();
    let ready = serde_json::from_str(ready.to_str()?).ok()?;
    is_right.then_some((ready, command))
}

/// `Ok` when the program exits 0 by itself, or is ready and then ends cleanly on TERM.
fn smoke(ready: &Ready, command: &[OsString]) -> Result<(), String> {
    if let Some(port) = port_of(ready).filter(|&port| connect(port).is_ok()) {
        return Err(format!("port {port} is already in use"));
    }
    let mut started = Started::start(ready, command)?;
    loop {
        if let Some(status) = started.try_wait()? {
            started.drain();
            return ended_by_itself(status);
        }
        if started.is_ready(ready) {
            return started.end();
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

struct Started {
    child: Child,
    line_seen: Arc<AtomicBool>,
    copies: Vec<JoinHandle<()>>,
}

impl Started {
    #[expect(
        clippy::disallowed_methods,
        reason = "already inside the containment of its stage, which bounds this child too"
    )]
    fn start(ready: &Ready, command: &[OsString]) -> Result<Self, String> {
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start: {error}"))?;
        let line_seen = Arc::new(AtomicBool::new(false));
        let watch = |ready: &Ready| match ready {
            Ready::Line(line) => Some(LineWatch::new(line)),
            Ready::Port(_) | Ready::Http { .. } => None,
        };
        let mut copies = Vec::new();
        if let Some(out) = child.stdout.take() {
            copies.push(copy(
                out,
                io::stdout(),
                watch(ready),
                Arc::clone(&line_seen),
            ));
        }
        if let Some(err) = child.stderr.take() {
            copies.push(copy(
                err,
                io::stderr(),
                watch(ready),
                Arc::clone(&line_seen),
            ));
        }
        Ok(Self {
            child,
            line_seen,
            copies,
        })
    }

    fn is_ready(&self, ready: &Ready) -> bool {
        match ready {
            Ready::Line(_) => self.line_seen.load(Ordering::Acquire),
            Ready::Port(port) => connect(*port).is_ok(),
            Ready::Http { port, path } => {
                answers(*port, path).is_ok_and(|answer| http_is_ready(&answer))
            }
        }
    }

    /// Asks it to end, and judges how it does.
    fn end(mut self) -> Result<(), String> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // An error means that it is gone already, which the wait below tells.
            let _ = kill_process(pid, Signal::TERM);
        }
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline {
            if let Some(status) = self.try_wait()? {
                self.drain();
                return ended_on_term(status);
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.drain();
        Err(format!(
            "ready, but did not exit within {GRACE:?} after SIGTERM"
        ))
    }

    fn try_wait(&mut self) -> Result<Option<ExitStatus>, String> {
        self.child
            .try_wait()
            .map_err(|error| format!("cannot wait for it: {error}"))
    }

    /// Lets the copies finish what is left, unless a grandchild holds the pipe.
    fn drain(&mut self) {
        let deadline = Instant::now() + DRAIN;
        while Instant::now() < deadline && self.copies.iter().any(|copy| !copy.is_finished()) {
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

fn ended_by_itself(status: ExitStatus) -> Result<(), String> {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(code), _) => Err(format!("exited with code {code} before it was ready")),
        (None, signal) => Err(format!(
            "killed by signal {} before it was ready",
            signal.unwrap_or(0)
        )),
    }
}

/// Clean is: code 0, the code by which shells report TERM, or TERM itself where nothing handles it.
fn ended_on_term(status: ExitStatus) -> Result<(), String> {
    match (status.code(), status.signal()) {
        (Some(0), _) | (None, Some(TERM)) => Ok(()),
        (Some(code), _) if code == 128 + TERM => Ok(()),
        (Some(code), _) => Err(format!("ready, but exited with code {code} on SIGTERM")),
        (None, signal) => Err(format!(
            "ready, but killed by signal {} on SIGTERM",
            signal.unwrap_or(0)
        )),
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

fn port_of(ready: &Ready) -> Option<u16> {
    match ready {
        Ready::Line(_) => None,
        Ready::Port(port) | Ready::Http { port, .. } => Some(*port),
    }
}

fn connect(port: u16) -> io::Result<TcpStream> {
    TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), CONNECTION)
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

fn say(reason: &str) {
    let _ = writeln!(io::stderr(), "startup smoke: {reason}");
}
