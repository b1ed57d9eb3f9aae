//! Starts the helper process and reads its events.

use super::input::{Feeder, Input};
use super::wire::{Request, control, event, read_event, write_json};
use super::{StandIns, leftover, private_tmp, program};
use drive_core::problem::{Kind, Problem};
use drive_core::process::{Limits, ProcessIdentity, ProcessReport};
use drive_engine::CancelToken;
use drive_engine::cancel::{CancelGuard, Urgency};
use drive_engine::ports::{CommandSpec, OutputSink, Started, Stream, Writes};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How much longer than the sum of its limits the helper may be silent.
const HELPER_SLACK: Duration = Duration::from_secs(60);

/// Runs one command under a helper.
pub(super) fn run(
    helper: &[OsString],
    stand_ins: &StandIns,
    spec: &CommandSpec,
    cancel: &CancelToken,
    started: &mut Started<'_>,
    sink: &mut dyn OutputSink,
) -> Result<ProcessReport, Problem> {
    let request = compose(spec, stand_ins, sink.wanted())?;
    let helper = Helper::start(helper, spec, &request)?;
    helper.listen(spec, cancel, started, sink)
}

/// Everything that the helper needs. Creates the private folder, and makes every path absolute.
fn compose(spec: &CommandSpec, stand_ins: &StandIns, forward: bool) -> Result<Request, Problem> {
    let executable = program::resolve(spec)?;
    let isolation = &spec.isolation;
    let mut writes = isolation.writes.clone();
    let env = private_tmp(spec)?;
    if let (Some(tmp), Writes::Only(folders)) = (&isolation.tmp, &mut writes) {
        folders.push(tmp.clone());
    }
    let bytes = |paths: &[PathBuf]| paths.iter().map(OsString::from).collect();
    let absolute = |path: &Path| std::path::absolute(path).map_err(|e| folder_problem(path, &e));
    Ok(Request {
        executable: absolute(&executable)?,
        arg0: spec.program.clone(),
        args: spec.args.clone(),
        cwd: absolute(&spec.cwd)?,
        env,
        limits: spec.limits.clone(),
        writes,
        tmp: isolation.tmp.as_deref().map(absolute).transpose()?,
        protected: bytes(&isolation.protected),
        hidden: bytes(&isolation.hidden),
        shown: bytes(&isolation.shown),
        layered: isolation.layered.clone(),
        network: isolation.network,
        reach: isolation.reach.clone(),
        reports_names: isolation.reports_names,
        pins: stand_ins.pins.clone(),
        required: isolation.required,
        log_dir: spec.log_dir.as_deref().map(absolute).transpose()?,
        leaks: spec.leaks,
        orphans: spec.orphans,
        forward,
        without: stand_ins.without.clone(),
    })
}

/// How long the helper may be silent. It normally ends everything much earlier.
fn patience(limits: &Limits) -> Duration {
    let bounds = [limits.wall, limits.grace, limits.drain, HELPER_SLACK];
    let sum = bounds
        .iter()
        .fold(Duration::ZERO, |sum, more| sum.saturating_add(*more));
    sum.min(Duration::from_secs(u64::from(u32::MAX)))
}

fn folder_problem(path: &Path, error: &io::Error) -> Problem {
    Problem::new(
        Kind::FolderUnusable,
        format!("cannot use folder `{}`", path.display()),
    )
    .cause(error.to_string())
}

/// A running helper. Dropping it without a report kills it, and so its tree.
struct Helper {
    process: Child,
    control: UnixStream,
    events: PipeReader,
    _feeder: Option<Feeder>,
    identity: Option<ProcessIdentity>,
}

impl Helper {
    #[expect(
        clippy::disallowed_methods,
        reason = "this module and the light one beside it are the places where children are started"
    )]
    fn start(helper: &[OsString], spec: &CommandSpec, request: &Request) -> Result<Self, Problem> {
        let failed = |error: io::Error| helper_problem(spec, &error.to_string());
        let [program, args @ ..] = helper else {
            return Err(helper_problem(spec, "no helper is configured"));
        };
        let input = Input::open(&spec.stdin).map_err(failed)?;
        let (events, events_writer) = io::pipe().map_err(failed)?;
        let (control, inner) = UnixStream::pair().map_err(failed)?;
        let mut command = Command::new(program);
        command
            .args(args)
            .env_clear()
            .stdin(input.stdio)
            .stdout(events_writer)
            .stderr(Stdio::from(OwnedFd::from(inner)))
            .process_group(0);
        let process = command.spawn().map_err(failed)?;
        // The command holds the helper's ends of all pipes.
        drop(command);
        let mut helper = Self {
            process,
            control,
            events,
            _feeder: input
                .feeder
                .map(|(source, writer)| Feeder::start(source, writer)),
            identity: None,
        };
        write_json(&mut helper.control, request).map_err(failed)?;
        Ok(helper)
    }

    /// Passes events on until the report arrives.
    fn listen(
        mut self,
        spec: &CommandSpec,
        cancel: &CancelToken,
        started: &mut Started<'_>,
        sink: &mut dyn OutputSink,
    ) -> Result<ProcessReport, Problem> {
        let patience = patience(&spec.limits);
        let mut until = Instant::now() + patience;
        let mut _waker = None;
        let mut payload = Vec::new();
        loop {
            let kind = self
                .next_event(until, &mut payload)
                .map_err(|e| self.lost(spec, &e))?;
            match kind {
                event::STDOUT => sink.chunk(Stream::Stdout, &payload),
                event::STDERR => sink.chunk(Stream::Stderr, &payload),
                event::IDENTITY => {
                    let identity = parse(&payload).map_err(|e| self.lost(spec, &e))?;
                    // If this fails, the helper is dropped before it starts the child, and ends.
                    started(&identity)?;
                    self.identity = Some(identity);
                    let _ = self.control.write_all(&[control::GO]);
                    _waker = Some(self.wake_on(cancel).map_err(|e| self.lost(spec, &e))?);
                    until = Instant::now() + patience;
                }
                event::REFUSED => {
                    let refused = parse(&payload).map_err(|e| self.lost(spec, &e))?;
                    sink.refused(&refused);
                }
                event::REPORT => return self.last_word(spec, &payload),
                event::PROBLEM => return Err(self.last_word(spec, &payload)?),
                _ => return Err(self.lost(spec, &io::Error::other("unexpected message"))),
            }
        }
    }

    /// Reads the helper's final message. The helper then ends by itself; its tree has ended before.
    fn last_word<T: DeserializeOwned>(
        &mut self,
        spec: &CommandSpec,
        payload: &[u8],
    ) -> Result<T, Problem> {
        let word = parse(payload).map_err(|e| self.lost(spec, &e))?;
        self.identity = None;
        let _ = self.process.wait();
        Ok(word)
    }

    fn wake_on(&self, cancel: &CancelToken) -> io::Result<CancelGuard> {
        let control = self.control.try_clone()?;
        Ok(cancel.on_cancel(move |urgency| {
            let byte = match urgency {
                Urgency::Graceful => control::CANCEL,
                Urgency::Now => control::KILL,
            };
            let _ = (&control).write_all(&[byte]);
        }))
    }

    fn next_event(&mut self, until: Instant, payload: &mut Vec<u8>) -> io::Result<u8> {
        let left = until.saturating_duration_since(Instant::now());
        let mut fds = [PollFd::new(&self.events, PollFlags::IN)];
        if let Ok(0) = poll(&mut fds, Timespec::try_from(left).ok().as_ref()) {
            return Err(io::Error::other("no answer"));
        }
        read_event(&mut self.events, payload)?.ok_or_else(|| io::Error::other("no report"))
    }

    /// The problem of a helper that failed; its error output, if any, explains why.
    fn lost(&self, spec: &CommandSpec, error: &io::Error) -> Problem {
        let mut words = Vec::new();
        let _ = self
            .control
            .set_read_timeout(Some(Duration::from_millis(100)));
        let _ = (&self.control).take(4096).read_to_end(&mut words);
        let problem = helper_problem(spec, &error.to_string());
        match String::from_utf8_lossy(&words).trim() {
            "" => problem,
            words => problem.cause(words),
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        if let Some(identity) = &self.identity {
            // The helper was lost while the tree ran.
            let _ = leftover::end(identity);
        }
        let _ = self.control.shutdown(std::net::Shutdown::Both);
        if !matches!(self.process.try_wait(), Ok(Some(_))) {
            self.await_end();
        }
    }
}

impl Helper {
    /// Waits for the helper's end. One that never got the order to go ends by itself when its
    /// control socket closes.
    fn await_end(&mut self) {
        for _ in 0..2000 {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn parse<T: DeserializeOwned>(payload: &[u8]) -> io::Result<T> {
    Ok(serde_json::from_slice(payload)?)
}

fn helper_problem(spec: &CommandSpec, why: &str) -> Problem {
    Problem::new(
        Kind::SupervisionFailed,
        format!("the helper that runs `{}` failed", spec.program.display()),
    )
    .cause(why)
}
