//! The startup helper: starts a program, waits until it is ready, ends it, and reports the result.
//!
//! It runs inside the same containment as the program, so that a program without a network can be
//! reached on its own loopback. The limits of its stage apply to it.

use super::started::{Ends, LOOK_AGAIN, Started, taken_port};
use drive_core::verify::{Ready, SMOKE_PREFIX};
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;

/// The hidden first argument that makes the binary this helper.
pub const STARTUP: &str = "__startup-smoke";

/// How long a program may take to end after TERM.
const GRACE: Duration = Duration::from_secs(10);
const TERM: i32 = 15;

/// Runs the helper if the arguments ask for it: `__startup-smoke --ready JSON -- PROGRAM ARG…`.
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

/// `Ok` if the program exits with 0 by itself, or becomes ready and then ends cleanly after TERM.
fn smoke(ready: &Ready, command: &[OsString]) -> Result<(), String> {
    if let Some(port) = taken_port(ready) {
        return Err(format!("port {port}: address already in use"));
    }
    let output = (io::stdout(), io::stderr());
    let mut started = Started::start(command, ready, Ends::Alone, output)
        .map_err(|error| format!("cannot start: {error}"))?;
    loop {
        if let Some(status) = started.try_wait()? {
            return ended_by_itself(status);
        }
        if started.is_ready(ready) {
            started.ask_to_end();
            return match started.ended_within(GRACE)? {
                Some(status) => ended_on_term(status),
                None => Err(format!(
                    "ready, but did not exit within {GRACE:?} after SIGTERM"
                )),
            };
        }
        std::thread::sleep(LOOK_AGAIN);
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

/// A clean end is exit code 0, the code that shells use for TERM, or TERM itself if nothing handles it.
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

fn say(reason: &str) {
    let _ = writeln!(io::stderr(), "{SMOKE_PREFIX}{reason}");
}
