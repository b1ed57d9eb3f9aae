//! The event loop over streams, control, exited children and timers, and the termination of a tree.

use super::super::cgroup::Cgroups;
use super::super::procfs::{self, Stat};
use super::super::streams::{ORDER, PIPE_BYTES, Streams};
use super::super::sys::{Reap, reap};
use super::super::usage::Usage;
use super::super::wire::{Request, control, event, read_json};
use super::birth::Init;
use super::disk::DiskWatch;
use super::init::InitEvent;
use super::outlet::Outlet;
use super::prepared::{Prepared, identify, next_control, refused};
use super::relay::Relay;
use drive_core::Problem;
use drive_core::process::{
    Layer, LeaderEnd, Observed, ProcessMark, ProcessReport, TimeBound, classify,
};
use drive_engine::ports::{OrphanPolicy, Stream};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// The poll interval for a limit that the kernel does not enforce, when the tree is close to it.
pub(super) const POLL: Duration = Duration::from_millis(20);
/// The interval at which the kernel's counters are read.
pub(super) const COUNTERS: Duration = Duration::from_millis(100);

/// How long a tree whose streams are closed may take to end after its leader.
const SETTLE: Duration = Duration::from_millis(100);
/// How long to search for processes that must exist but were not seen.
const RECOUNT: Duration = Duration::from_millis(500);
/// How long the init may take to kill its tree before the supervisor does so.
const INIT_KILLS: Duration = Duration::from_secs(2);
/// How long killing may take before the rest is given up and reported.
const GIVE_UP: Duration = Duration::from_secs(10);

/// The result of a request.
pub(super) enum Outcome {
    /// The program ran and ended.
    Report(Box<ProcessReport>),
    /// The program never ran.
    NotStarted(Problem),
}

/// The phase of a tree's life.
#[derive(Clone, Copy)]
enum Phase {
    /// The leader runs.
    Running,
    /// The leader ended by itself; until this time the others may do so too.
    Settling(Instant),
    /// TERM was sent; KILL follows at this time.
    Terminating(Instant),
    /// KILL has been sent since this time.
    Killing(Instant),
}

/// A tree under watch.
pub(super) struct Watch<'a> {
    pub(super) request: &'a Request,
    control: Option<OwnedFd>,
    outlet: &'a mut Outlet,
    pub(super) groups: Cgroups,
    init: Init,
    init_gone: bool,
    child: ProcessMark,
    streams: Streams,
    signals: OwnedFd,
    layers: Vec<Layer>,
    relay: Option<Relay>,
    pub(super) disk: Option<DiskWatch>,
    pub(super) seen: Observed,
    problem: Option<Problem>,
    usage: Usage,
    pub(super) sampled_bytes: u64,
    phase: Phase,
    pub(super) empty: bool,
    born: Instant,
    last_output: Instant,
    pub(super) next_sample: Instant,
    pub(super) next_shares: Instant,
}

/// The descriptors that became ready.
#[derive(Default)]
struct Ready {
    streams: [bool; 2],
    control: bool,
    outlet: bool,
    signals: bool,
    init: bool,
}

impl<'a> Watch<'a> {
    /// Takes over a prepared tree.
    pub(super) fn new(
        request: &'a Request,
        control: OwnedFd,
        outlet: &'a mut Outlet,
        groups: Cgroups,
        prepared: Prepared,
    ) -> Self {
        let now = Instant::now();
        Self {
            request,
            control: Some(control),
            outlet,
            groups,
            init: prepared.init,
            init_gone: false,
            child: prepared.child,
            streams: prepared.streams,
            signals: prepared.signals,
            layers: prepared.layers,
            relay: prepared.relay,
            disk: prepared.disk,
            seen: Observed::default(),
            problem: None,
            usage: Usage::default(),
            sampled_bytes: 0,
            phase: Phase::Running,
            empty: false,
            born: now,
            last_output: now,
            next_sample: now + POLL,
            next_shares: now + COUNTERS,
        }
    }

    /// Reports the identity to drive, and opens the gate once drive has journaled it.
    pub(super) fn offer_identity(&mut self, limit: Duration) {
        let identity = identify(self.request, &self.groups, &self.init, self.child);
        let json = serde_json::to_vec(&identity).unwrap_or_default();
        self.outlet.push(event::IDENTITY, &json);
        self.outlet.flush_all(limit);
        let answer = self.control.as_ref().and_then(|fd| next_control(fd, limit));
        let now = Instant::now();
        self.born = now;
        self.last_output = now;
        if answer == Some(control::GO) {
            self.init.order(control::GO);
        } else {
            self.seen.aborted = true;
            self.kill(now);
        }
    }

    /// Watches until the tree is empty and its output is read.
    pub(super) fn watch(&mut self) {
        while !self.empty {
            let now = Instant::now();
            self.check_clocks(now);
            self.sample(now);
            self.sweep(now);
            self.tell_refused();
            if self.seen.infra.is_some() {
                break;
            }
            let ready = self.wait(self.next_deadline(now));
            self.take_output(&ready);
            if ready.control {
                self.take_control();
            }
            if ready.signals {
                self.drain_signals();
            }
            if ready.init {
                self.hear_init();
            }
            self.reap_all();
        }
        self.drain();
        self.tell_refused();
        self.read_counters();
    }

    /// Reports to drive which hosts the tree tried to reach in vain.
    fn tell_refused(&mut self) {
        for refused in self.relay.iter().flat_map(Relay::news) {
            let json = serde_json::to_vec(&refused).unwrap_or_default();
            self.outlet.push(event::REFUSED, &json);
        }
    }

    /// Reads the rest of the pipes, and what a process outside of the tree may still write. The time limit
    /// restarts while drive reads, so that a slow reader does not lose a child's last output.
    fn drain(&mut self) {
        let limit = self.request.limits.drain;
        let held = self.streams.total_bytes() + 2 * PIPE_BYTES as u64;
        let mut until = Instant::now() + limit;
        while self.streams.any_open() && Instant::now() < until {
            let ready = self.wait(until);
            if ready.outlet && self.streams.total_bytes() <= held {
                until = Instant::now() + limit;
            }
            self.take_output(&ready);
            if ready.control {
                self.take_control();
            }
        }
    }

    fn wait(&self, until: Instant) -> Ready {
        let mut ready = Ready::default();
        let mut fds = Vec::with_capacity(6);
        let mut slots: Vec<&mut bool> = Vec::with_capacity(6);
        let Ready {
            streams: [out, err],
            control,
            outlet,
            signals,
            init,
        } = &mut ready;
        match self.outlet.blocked() {
            // While drive is slow, the child must wait.
            Some(pipe) => {
                fds.push(PollFd::from_borrowed_fd(pipe, PollFlags::OUT));
                slots.push(outlet);
            }
            None => {
                for (index, slot) in [out, err].into_iter().enumerate() {
                    if let Some(end) = self.streams.end(index) {
                        fds.push(PollFd::from_borrowed_fd(end, PollFlags::IN));
                        slots.push(slot);
                    }
                }
            }
        }
        if let Some(fd) = &self.control {
            fds.push(PollFd::new(fd, PollFlags::IN));
            slots.push(control);
        }
        if !self.empty {
            fds.push(PollFd::new(&self.signals, PollFlags::IN));
            slots.push(signals);
        }
        if !self.init_gone {
            fds.push(PollFd::new(&self.init.channel, PollFlags::IN));
            slots.push(init);
        }
        let timeout = until.saturating_duration_since(Instant::now());
        if poll(&mut fds, Timespec::try_from(timeout).ok().as_ref()).is_ok() {
            for (slot, fd) in slots.into_iter().zip(&fds) {
                *slot = !fd.revents().is_empty();
            }
        }
        ready
    }

    fn next_deadline(&self, now: Instant) -> Instant {
        let limits = &self.request.limits;
        let mut at = self.next_sample;
        match self.phase {
            Phase::Running => {
                at = at.min(self.born + limits.wall);
                if let Some(idle) = limits.idle {
                    at = at.min(self.last_output + idle);
                }
            }
            Phase::Settling(until) | Phase::Terminating(until) => {
                at = at.min(until.max(now + Duration::from_millis(1)));
            }
            Phase::Killing(_) => at = at.min(now + Duration::from_millis(2)),
        }
        at
    }

    fn check_clocks(&mut self, now: Instant) {
        let limits = &self.request.limits;
        match self.phase {
            Phase::Running => {
                if self.outlet.blocked().is_some() {
                    self.last_output = now; // Its silence is drive's fault.
                }
                let idle = limits
                    .idle
                    .is_some_and(|idle| now >= self.last_output + idle);
                if now >= self.born + limits.wall {
                    self.seen.timeout = Some(TimeBound::Wall);
                    self.terminate(now);
                } else if idle {
                    self.seen.timeout = Some(TimeBound::Idle);
                    self.terminate(now);
                }
            }
            Phase::Settling(until) => {
                if now >= until {
                    self.count_leaked(now, until);
                } else if !self.streams.any_open() {
                    self.phase = Phase::Settling(until.min(now + SETTLE));
                }
            }
            Phase::Terminating(until) => {
                if now >= until {
                    self.kill(now);
                }
            }
            Phase::Killing(since) => {
                if now >= since + GIVE_UP {
                    let left = self.tree().len();
                    self.seen.infra = Some(format!("{left} processes could not be killed"));
                }
            }
        }
    }

    /// Counts the remaining processes when their time to end is over. While the init lives, at least one
    /// remains. A walk can miss one that keeps moving to new pids, so the search is repeated, and finally one
    /// is counted. A process that ended just now only waits to be reaped by the init.
    fn count_leaked(&mut self, now: Instant, since: Instant) {
        let seen = self.tree().len() as u32;
        if seen > 0 || now >= since + RECOUNT {
            self.seen.leaked = seen.max(1);
            self.kill(now);
        }
    }

    /// Every process in the tree except its init.
    pub(super) fn tree(&self) -> Vec<Stat> {
        let mut all = procfs::descendants(std::process::id() as i32);
        all.retain(|stat| stat.mark != self.init.mark);
        all
    }

    fn terminate(&mut self, now: Instant) {
        match self.phase {
            Phase::Running | Phase::Settling(_) => {
                self.phase = Phase::Terminating(now + self.request.limits.grace);
                for stat in self.tree() {
                    procfs::signal(stat.mark, Signal::TERM);
                    // A stopped process receives TERM only after it continues.
                    procfs::signal(stat.mark, Signal::CONT);
                }
            }
            Phase::Terminating(_) | Phase::Killing(_) => {}
        }
    }

    pub(super) fn kill(&mut self, now: Instant) {
        if !matches!(self.phase, Phase::Killing(_)) {
            self.phase = Phase::Killing(now);
            self.init.order(control::KILL);
        }
    }

    /// Kills processes from outside if the init is gone or too slow.
    fn sweep(&mut self, now: Instant) {
        let Phase::Killing(since) = self.phase else {
            return;
        };
        if !self.init_gone && now < since + INIT_KILLS {
            return;
        }
        self.groups.kill();
        procfs::kill_below_self();
    }

    fn take_output(&mut self, ready: &Ready) {
        if ready.outlet {
            self.outlet.flush();
        }
        for (index, stream) in ORDER.into_iter().enumerate() {
            if !ready.streams[index] {
                continue;
            }
            let kind = match stream {
                Stream::Stdout => event::STDOUT,
                Stream::Stderr => event::STDERR,
            };
            let forward = self.request.forward;
            let outlet = &mut *self.outlet;
            let read = self.streams.read(index, |bytes| {
                if forward {
                    outlet.push(kind, bytes);
                }
            });
            if read {
                self.last_output = Instant::now();
            }
        }
        if self.streams.total_bytes() > self.request.limits.output_bytes && !self.seen.output {
            self.seen.output = true;
            self.kill(Instant::now());
        }
    }

    fn take_control(&mut self) {
        let Some(fd) = &self.control else { return };
        let now = Instant::now();
        match next_control(fd, Duration::ZERO) {
            Some(control::CANCEL) => {
                self.seen.aborted |= !self.empty;
                self.terminate(now);
            }
            Some(_) => {
                self.seen.aborted |= !self.empty;
                self.kill(now);
            }
            None => {
                self.control = None;
                self.outlet.close();
                if self.request.orphans == OrphanPolicy::End && !self.empty {
                    self.seen.aborted = true;
                    self.terminate(now);
                }
            }
        }
    }

    fn drain_signals(&mut self) {
        let mut buffer = [0; 1024];
        while rustix::io::read(&self.signals, &mut buffer).is_ok_and(|count| count > 0) {}
    }

    fn hear_init(&mut self) {
        match read_json(&mut self.init.channel) {
            Ok(Some(InitEvent::LeaderEnded(end))) => self.leader_ended(end),
            Ok(Some(InitEvent::Refused { errno })) => {
                self.problem = Some(refused(self.request, errno));
            }
            Ok(Some(InitEvent::Ready(_) | InitEvent::Failed { .. }) | None) | Err(_) => {
                self.init_gone = true;
            }
        }
    }

    fn leader_ended(&mut self, end: LeaderEnd) {
        self.seen.leader = Some(end);
        self.read_counters();
        self.explain_failure(end);
        if matches!(self.phase, Phase::Running) {
            let wait = if self.streams.any_open() {
                self.request.limits.drain
            } else {
                self.request.limits.drain.min(SETTLE)
            };
            self.phase = Phase::Settling(Instant::now() + wait);
        }
    }

    /// Reaps children: only the init while it lives, afterwards all remaining processes.
    fn reap_all(&mut self) {
        loop {
            match reap(None) {
                Ok(Reap::One(reaped)) => {
                    self.usage.add(reaped.usage);
                    if reaped.pid == self.init.mark.pid {
                        while !self.init_gone {
                            self.hear_init();
                        }
                    } else if reaped.pid == self.child.pid && self.seen.leader.is_none() {
                        self.leader_ended(reaped.end);
                    }
                }
                Ok(Reap::NoneYet) | Err(_) => return,
                Ok(Reap::NoChildren) => {
                    self.empty = true;
                    return;
                }
            }
        }
    }

    /// Cleans up, and returns the result.
    pub(super) fn finish(self) -> Outcome {
        let resources = self
            .usage
            .resources(self.sampled_bytes, self.groups.peak_bytes());
        self.groups.remove();
        if let Some(problem) = self.problem {
            return Outcome::NotStarted(problem);
        }
        let duration = self.born.elapsed();
        let [stdout, stderr] = self.streams.finish();
        Outcome::Report(Box::new(ProcessReport {
            end: classify(&self.seen, self.request.leaks),
            leader: self.seen.leader,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            stdout,
            stderr,
            resources,
            layers: self.layers,
            leaked: self.seen.leaked,
        }))
    }
}
