//! The helper for services: starts them, runs a command beside them, and ends them.
//!
//! It runs inside the containment of its stage, so that the command reaches the services on its own
//! loopback, and the limits of the stage apply to them.

use super::started::{Ends, LOOK_AGAIN, Started, taken_port};
use drive_core::verify::{SERVICE_FAILED, SERVICE_PREFIX, SERVICE_WAITING, Service, text};
use rustix::process::{Signal, getpid, kill_process};
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The hidden first argument that makes the binary this helper.
pub const SERVICES: &str = "__services";

/// How many bytes of a service's output are shown after a failure.
const SHOWN: usize = 16 * 1024;
/// How long all services together may take to end after TERM: their work is done.
const GRACE: Duration = Duration::from_secs(2);
/// After this time, a message reports that a service is not ready yet.
const TOLD_AFTER: Duration = Duration::from_secs(1);
/// The exit codes of shells for a missing program, and for one that cannot run.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;
/// The number that shells add to that of a signal.
const SIGNALLED: i32 = 128;

/// Runs the helper if the arguments ask for it: `__services --services JSON -- PROGRAM ARG…`.
pub fn services_if_asked(arguments: &[OsString]) -> Option<ExitCode> {
    if arguments.get(1)? != SERVICES {
        return None;
    }
    let Some((services, command)) = parse(&arguments[2..]) else {
        say("helper: internal error: bad arguments");
        return Some(failed());
    };
    Some(beside(&services, command))
}

fn parse(arguments: &[OsString]) -> Option<(Vec<Service>, &[OsString])> {
    let [flag, services, dashes, command @ ..] = arguments else {
        return None;
    };
    let is_right = flag == "--services" && dashes == "--" && !command.is_empty();
    let services = serde_json::from_str(services.to_str()?).ok()?;
    is_right.then_some((services, command))
}

/// Runs the command beside the services. Its exit code is the helper's.
fn beside(services: &[Service], command: &[OsString]) -> ExitCode {
    let mut running = Vec::new();
    for service in services {
        match up(service) {
            Ok(one) => running.push(one),
            Err(down) => {
                end(running, true);
                say(&format!("`{}`: {}", service.name, down.reason));
                return down.code;
            }
        }
    }
    let ended = run(command);
    let has_failed = ended.as_ref().map_or(true, |status| !status.success());
    end(running, has_failed);
    match ended {
        Ok(status) => code_of(status),
        Err(error) => {
            let _ = writeln!(io::stderr(), "{}: {error}", command[0].display());
            if error.kind() == io::ErrorKind::NotFound {
                ExitCode::from(NOT_FOUND)
            } else {
                ExitCode::from(NOT_EXECUTABLE)
            }
        }
    }
}

/// A running service, and the end of its output.
struct Running {
    name: String,
    started: Started,
    output: Tail,
}

/// A service that failed to start.
struct Down {
    reason: String,
    code: ExitCode,
}

impl Down {
    fn because(reason: String) -> Self {
        Self {
            reason,
            code: failed(),
        }
    }
}

fn up(service: &Service) -> Result<Running, Down> {
    if let Some(port) = taken_port(&service.ready) {
        return Err(Down::because(format!(
            "port {port}: address already in use"
        )));
    }
    let output = Tail::default();
    let writers = (output.clone(), output.clone());
    let started = Started::start(&service.argv, &service.ready, Ends::WithGroup, writers);
    let started = started.map_err(|error| {
        let program = service.argv.first().map_or("", String::as_str);
        if error.kind() != io::ErrorKind::NotFound {
            return Down::because(format!("cannot start `{program}`: {error}"));
        }
        Down {
            reason: format!("`{program}`: command not found"),
            code: ExitCode::from(NOT_FOUND),
        }
    })?;
    let mut one = Running {
        name: service.name.clone(),
        started,
        output,
    };
    let since = Instant::now();
    let mut is_told = false;
    loop {
        let ended = one.started.try_wait().map_err(Down::because)?;
        if let Some(status) = ended {
            end(vec![one], true);
            return Err(Down::because(format!(
                "{} before it was ready",
                how(status)
            )));
        }
        if one.started.is_ready(&service.ready) {
            return Ok(one);
        }
        let what = service.ready.describe();
        if !is_told && since.elapsed() >= TOLD_AFTER {
            let _ = writeln!(io::stderr(), "{SERVICE_WAITING}`{}`: {what}", service.name);
            is_told = true;
        }
        if since.elapsed() >= service.within {
            end(vec![one], true);
            return Err(Down::because(format!(
                "not ready within {:?}: {what}",
                service.within
            )));
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, signal) => format!("killed by signal {}", signal.unwrap_or(0)),
    }
}

/// Ends services. After a failure, their output is shown.
fn end(mut running: Vec<Running>, shows_output: bool) {
    let early: Vec<Option<ExitStatus>> = running
        .iter_mut()
        .map(|one| one.started.try_wait().ok().flatten())
        .collect();
    for one in &running {
        one.started.ask_to_end();
    }
    let deadline = Instant::now() + GRACE;
    for (mut one, early) in running.into_iter().zip(early) {
        // How it ends does not matter: only the command is judged.
        let left = deadline.saturating_duration_since(Instant::now());
        let _ = one.started.ended_within(left);
        if shows_output {
            for line in one.output.text().lines() {
                let _ = writeln!(io::stderr(), "[{}] {line}", one.name);
            }
        }
        if let Some(status) = early {
            let _ = writeln!(io::stderr(), "[{}] {} early", one.name, how(status));
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "already inside the containment of its stage, which bounds this child too"
)]
fn run(command: &[OsString]) -> io::Result<ExitStatus> {
    Command::new(&command[0])
        .args(&command[1..])
        .stdin(Stdio::null())
        // Signals that it sends to its own group must not reach this helper.
        .process_group(0)
        .status()
}

/// Ends in the same way as the command.
fn code_of(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal().and_then(Signal::from_named_raw) {
        // If the signal does not end this process, it exits with the code that a shell would use.
        let _ = kill_process(getpid(), signal);
    }
    let code = match (status.code(), status.signal()) {
        (Some(code), _) => code,
        (None, signal) => SIGNALLED + signal.unwrap_or(0),
    };
    // An exit code that does not fit must not become 0.
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}

fn failed() -> ExitCode {
    ExitCode::from(u8::try_from(SERVICE_FAILED).unwrap_or(u8::MAX))
}

fn say(reason: &str) {
    let _ = writeln!(io::stderr(), "{SERVICE_PREFIX}{reason}");
}

/// Keeps the end of what is written to it.
#[derive(Clone, Default)]
struct Tail(Arc<Mutex<Vec<u8>>>);

impl Tail {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        text::printable(&bytes)
    }
}

impl Write for Tail {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(bytes);
        let over = kept.len().saturating_sub(SHOWN);
        if over > 0 {
            // Keeps whole lines only: the rest of a line may be a part of a secret.
            let line = kept[over..].iter().position(|byte| *byte == b'\n');
            let end = line.map_or(kept.len(), |end| over + end + 1);
            kept.drain(..end);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
