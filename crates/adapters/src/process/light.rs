//! Light containment for trusted, short tools: a process group, one poll loop, no helper.

use super::input::{Feeder, Input};
use super::streams::{ORDER, Streams};
use super::sys::{Reap, reap};
use super::usage::Usage;
use super::{private_tmp, procfs, program};
use drive_core::problem::{Kind, Problem};
use drive_core::process::{
    End, Layer, LayerName, LeaderEnd, Observed, ProcessIdentity, ProcessMark, ProcessReport,
    Resources, TimeBound, classify,
};
use drive_engine::CancelToken;
use drive_engine::cancel::Urgency;
use drive_engine::ports::{CommandSpec, OutputSink, Started};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long to wait for the end of a killed child before it is given up and reported.
const GIVE_UP: Duration = Duration::from_secs(10);

/// Runs one command in its own process group.
pub(super) fn run(
    spec: &CommandSpec,
    cancel: &CancelToken,
    started: &mut Started<'_>,
    sink: &mut dyn OutputSink,
) -> Result<ProcessReport, Problem> {
    refuse_isolation(spec)?;
    let executable = program::resolve(spec)?;
    if let Some(folder) = &spec.log_dir {
        std::fs::create_dir_all(folder).map_err(|e| lost(&executable, &e))?;
    }
    let (wake_reader, wake_writer) = io::pipe().map_err(|e| lost(&executable, &e))?;
    let (mut child, _feeder) = Child::start(spec, &executable)?;
    let identity = child.identity(spec);
    if let Err(problem) = started(&identity) {
        child.kill_and_reap();
        return Err(problem);
    }
    let _waker = cancel.on_cancel(move |urgency| {
        let byte = match urgency {
            Urgency::Graceful => 1,
            Urgency::Now => 2,
        };
        let _ = (&wake_writer).write(&[byte]);
    });
    child.supervise(spec, &wake_reader.into(), sink);
    Ok(child.report(spec))
}

/// A light child cannot be isolated, so a requested isolation is refused, not silently ignored.
fn refuse_isolation(spec: &CommandSpec) -> Result<(), Problem> {
    let asked = drive_engine::ports::Isolation {
        tmp: None,
        ..spec.isolation.clone()
    };
    if asked == drive_engine::ports::Isolation::default() {
        return Ok(());
    }
    Err(Problem::new(
        Kind::IsolationMissing,
        format!(
            "`{}` needs isolation that light containment does not provide",
            spec.program.display()
        ),
    )
    .hint("run it with full containment"))
}

fn lost(executable: &Path, error: &io::Error) -> Problem {
    Problem::new(
        Kind::ProcessNotStarted,
        format!("cannot supervise `{}`", executable.display()),
    )
    .cause(error.to_string())
}

struct Child {
    mark: ProcessMark,
    pidfd: OwnedFd,
    streams: Streams,
    seen: Observed,
    usage: Usage,
    born: Instant,
    last_output: Instant,
    /// When the next, harder step of ending it is due.
    step: Option<Instant>,
    killed_at: Option<Instant>,
}

impl Child {
    #[expect(
        clippy::disallowed_methods,
        reason = "this module and the runner beside it are the places where children are started"
    )]
    fn start(spec: &CommandSpec, executable: &Path) -> Result<(Self, Option<Feeder>), Problem> {
        let input = Input::open(&spec.stdin).map_err(|e| lost(executable, &e))?;
        let mut command = Command::new(executable);
        command
            .arg0(&spec.program)
            .args(&spec.args)
            .env_clear()
            .envs(private_tmp(spec)?)
            .current_dir(&spec.cwd)
            .stdin(input.stdio)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = command
            .spawn()
            .map_err(|error| program::refused(executable, &error))?;
        // The command holds the reading end of a fed input: without closing it, the feeder would
        // never notice that the child ended.
        drop(command);
        let feeder = input
            .feeder
            .map(|(source, writer)| Feeder::start(source, writer));
        let streams = match (child.stdout.take(), child.stderr.take()) {
            (Some(out), Some(err)) => Streams::new(
                out.into(),
                err.into(),
                &spec.limits,
                spec.log_dir.as_deref(),
            ),
            _ => Err(io::Error::other("no pipe")),
        };
        let pid = child.id() as i32;
        let prepared = Pid::from_raw(pid)
            .ok_or_else(|| io::Error::other("no pid"))
            .and_then(|pid| Ok(pidfd_open(pid, PidfdFlags::empty())?))
            .and_then(|pidfd| Ok((pidfd, streams?)));
        match prepared {
            Ok((pidfd, streams)) => {
                let now = Instant::now();
                let child = Self {
                    mark: procfs::mark(pid).unwrap_or(ProcessMark {
                        pid,
                        start_ticks: 0,
                    }),
                    pidfd,
                    streams,
                    seen: Observed::default(),
                    usage: Usage::default(),
                    born: now,
                    last_output: now,
                    step: None,
                    killed_at: None,
                };
                Ok((child, feeder))
            }
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(lost(executable, &error))
            }
        }
    }

    fn identity(&self, spec: &CommandSpec) -> ProcessIdentity {
        ProcessIdentity {
            child: self.mark,
            supervisor: None,
            init: None,
            pid_namespace: false,
            cgroups: Vec::new(),
            boot_id: procfs::boot_id(),
            log_dir: spec.log_dir.clone(),
        }
    }

    /// One loop for both streams, the child's end, cancellation and the timeouts.
    fn supervise(&mut self, spec: &CommandSpec, wake: &OwnedFd, sink: &mut dyn OutputSink) {
        let mut drained_by: Option<Instant> = None;
        loop {
            let now = Instant::now();
            if self.seen.leader.is_some() {
                let until = *drained_by.get_or_insert(now + spec.limits.drain);
                if !self.streams.any_open() || now >= until {
                    break;
                }
            }
            self.check_clocks(spec, now);
            if self.seen.infra.is_some() {
                break;
            }
            let timeout = self
                .next_deadline(spec, drained_by)
                .saturating_duration_since(now);
            let ready = self.wait(wake, timeout);
            for (index, stream) in ORDER.into_iter().enumerate() {
                if ready[index] && self.streams.read(index, |bytes| sink.chunk(stream, bytes)) {
                    self.last_output = Instant::now();
                }
            }
            if self.streams.total_bytes() > spec.limits.output_bytes && !self.seen.output {
                self.seen.output = true;
                self.kill(Instant::now());
            }
            if ready[2] {
                self.reap_leader();
            }
            if ready[3] {
                self.take_cancel(wake, spec);
            }
        }
    }

    fn wait(&self, wake: &OwnedFd, timeout: Duration) -> [bool; 4] {
        let flags = PollFlags::IN;
        let mut at = Vec::with_capacity(4);
        let mut fds = Vec::with_capacity(4);
        for index in 0..2 {
            if let Some(end) = self.streams.end(index) {
                at.push(index);
                fds.push(PollFd::from_borrowed_fd(end, flags));
            }
        }
        if self.seen.leader.is_none() {
            at.push(2);
            fds.push(PollFd::new(&self.pidfd, flags));
            at.push(3);
            fds.push(PollFd::from_borrowed_fd(wake.as_fd(), flags));
        }
        let timeout = Timespec::try_from(timeout).ok();
        let mut ready = [false; 4];
        if poll(&mut fds, timeout.as_ref()).is_ok() {
            for (slot, fd) in at.into_iter().zip(&fds) {
                ready[slot] = !fd.revents().is_empty();
            }
        }
        ready
    }

    fn check_clocks(&mut self, spec: &CommandSpec, now: Instant) {
        if self.seen.leader.is_some() {
            return;
        }
        if let Some(step) = self.step {
            if now >= step && self.killed_at.is_some_and(|at| now >= at + GIVE_UP) {
                self.seen.infra = Some("it could not be killed".to_owned());
            } else if now >= step {
                self.kill(now);
            }
            return;
        }
        let wall = now >= self.born + spec.limits.wall;
        let idle = spec
            .limits
            .idle
            .is_some_and(|idle| now >= self.last_output + idle);
        if wall || idle {
            self.seen.timeout = Some(if wall {
                TimeBound::Wall
            } else {
                TimeBound::Idle
            });
            self.terminate(spec, now);
        }
    }

    fn next_deadline(&self, spec: &CommandSpec, drained_by: Option<Instant>) -> Instant {
        if let Some(at) = drained_by.or(self.step) {
            return at;
        }
        let wall = self.born + spec.limits.wall;
        match spec.limits.idle {
            Some(idle) => wall.min(self.last_output + idle),
            None => wall,
        }
    }

    fn take_cancel(&mut self, wake: &OwnedFd, spec: &CommandSpec) {
        let mut byte = [0];
        if rustix::io::read(wake, &mut byte).is_err() {
            return;
        }
        self.seen.aborted = true;
        if byte[0] == 2 {
            self.kill(Instant::now());
        } else if self.step.is_none() {
            self.terminate(spec, Instant::now());
        }
    }

    fn terminate(&mut self, spec: &CommandSpec, now: Instant) {
        self.step = Some(now + spec.limits.grace);
        self.signal(Signal::TERM);
        // A stopped process receives TERM only after it continues.
        self.signal(Signal::CONT);
    }

    /// Kills the group repeatedly, until it has ended or is given up.
    fn kill(&mut self, now: Instant) {
        self.killed_at.get_or_insert(now);
        self.step = Some(now + Duration::from_millis(100));
        self.signal(Signal::KILL);
    }

    /// Signals the whole group. Its number cannot be reused while a member lives, and we reap the
    /// leader, so no other group can have it before that.
    fn signal(&self, signal: Signal) {
        if let Some(group) = Pid::from_raw(self.mark.pid) {
            let _ = kill_process_group(group, signal);
        }
    }

    /// Kills the rest of the group even if the leader ended by itself. This happens before the
    /// leader is reaped, while its pid cannot be reused.
    fn reap_leader(&mut self) {
        self.signal(Signal::KILL);
        match reap(Some(self.mark.pid)) {
            Ok(Reap::One(reaped)) => {
                self.seen.leader = Some(reaped.end);
                self.usage.add(reaped.usage);
            }
            Ok(Reap::NoneYet) => {}
            Ok(Reap::NoChildren) | Err(_) => {
                self.seen.infra = Some("another part of the program reaped the process".into());
                self.seen.leader = Some(LeaderEnd::Exited(-1));
            }
        }
    }

    fn kill_and_reap(&mut self) {
        self.signal(Signal::KILL);
        let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
        let limit = Timespec::try_from(Duration::from_secs(10)).ok();
        let _ = poll(&mut fds, limit.as_ref());
        self.reap_leader();
    }

    fn report(self, spec: &CommandSpec) -> ProcessReport {
        let end: End = classify(&self.seen, spec.leaks);
        let duration = self.born.elapsed();
        let [stdout, stderr] = self.streams.finish();
        ProcessReport {
            end,
            leader: self.seen.leader,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            stdout,
            stderr,
            resources: Resources {
                // The kernel's value starts at the size of the parent process.
                max_rss_bytes: None,
                cgroup_peak_bytes: None,
                cpu_user_micros: self.usage.user_micros,
                cpu_system_micros: self.usage.system_micros,
            },
            layers: vec![Layer::missing(LayerName::Subreaper, "light containment")],
            leaked: 0,
        }
    }
}
