//! The helper: a small process with one thread that holds one tree to its limits, alone if need be.
//!
//! Three processes stand in a row: this supervisor, which is outside every layer and inherits every
//! orphan; the init of the tree, which is its first process inside; and the child, which waits at a
//! gate until drive has journaled its identity. Standard input is the child's, standard output
//! carries events to drive, standard error is the control socket from drive (and carries the last
//! words of a panic back).

mod birth;
mod caps;
mod child;
mod disk;
mod init;
mod layers;
mod mounts;
mod outlet;
mod relay;
mod restrict;
mod syscalls;
mod trees;
mod view;
mod watch;

use super::cgroup::Cgroups;
use super::streams::Streams;
use super::wire::{Request, control, event, read_json};
use super::{procfs, program, sys};
use birth::{Init, Outputs, bear};
use disk::DiskWatch;
use drive_core::problem::{Kind, Problem};
use drive_core::process::{
    Layer, LayerName, ProcessIdentity, ProcessMark, ProcessReport, missing_essentials,
};
use drive_engine::ports::NetworkAccess;
use init::{InitEvent, release_stdin};
use outlet::Outlet;
use relay::Relay;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Pid, Signal, set_child_subreaper, setsid};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;
use watch::{Outcome, Watch};

/// The hidden first argument that makes the binary its own helper.
pub const SUPERVISE: &str = "__supervise";

/// The hidden first argument of a program that does nothing, for looking at the layers.
pub const NOTHING: &str = "__nothing";

/// How long setting the layers up may take.
const SET_UP: Duration = Duration::from_secs(30);
/// How long drive may take to journal the identity.
const JOURNAL: Duration = Duration::from_secs(300);
/// How long the last event waits for a slow drive.
const GOODBYE: Duration = Duration::from_secs(600);

/// Does the helper's work if the arguments say so, and ends the process then. To be called before
/// anything else in `main`: the helper must have one thread and be small.
pub fn supervise_if_asked() {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(word) if word == SUPERVISE => std::process::exit(i32::from(supervise().is_err())),
        Some(word) if word == NOTHING => std::process::exit(0),
        Some(_) | None => {}
    }
}

fn supervise() -> io::Result<()> {
    let _ = setsid();
    sys::close_inherited()?;
    set_child_subreaper(Pid::from_raw(1))?;
    let control = fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3)?;
    let mut outlet = Outlet::new(fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?)?;
    rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?;
    let Some(request) = read_json::<Request>(&mut File::from(control.try_clone()?))? else {
        return Ok(());
    };
    let (kind, last) = match run(&request, control, &mut outlet) {
        Ok(Outcome::Report(report)) => (event::REPORT, serde_json::to_vec(&report)?),
        Ok(Outcome::NotStarted(problem)) | Err(problem) => {
            (event::PROBLEM, serde_json::to_vec(&problem)?)
        }
    };
    outlet.push(kind, &last);
    outlet.flush_all(GOODBYE);
    Ok(())
}

/// Sets everything up, waits for the go, and watches to the end.
fn run(request: &Request, control: OwnedFd, outlet: &mut Outlet) -> Result<Outcome, Problem> {
    let (mut groups, missing) = Cgroups::create(&group_name(), &request.limits, &request.without);
    let prepared = Prepared::new(request, &mut groups, missing).inspect_err(|_| groups.remove())?;
    let mut watch = Watch::new(request, control, outlet, groups, prepared);
    watch.offer_identity(JOURNAL);
    watch.watch();
    let outcome = watch.finish();
    if let (Some(folder), Outcome::Report(report)) = (&request.log_dir, &outcome) {
        // Without a report on disk the one that is sent still counts.
        let _ = store_report(folder, report);
    }
    Ok(outcome)
}

/// With its start time, the name can never be that of another helper's group, now or later.
fn group_name() -> String {
    let own = std::process::id() as i32;
    let start = procfs::mark(own).map_or(0, |mark| mark.start_ticks);
    format!("drive-{own}-{start}")
}

/// A tree that is ready, with its child at the gate.
struct Prepared {
    init: Init,
    child: ProcessMark,
    streams: Streams,
    signals: OwnedFd,
    layers: Vec<Layer>,
    relay: Option<Relay>,
    disk: Option<DiskWatch>,
}

/// A tree whose child waits at the gate.
struct Ready {
    child: ProcessMark,
    missing: Vec<(LayerName, String)>,
    relay: Option<Relay>,
    disk: Option<DiskWatch>,
}

impl Prepared {
    fn new(
        request: &Request,
        groups: &mut Cgroups,
        missing: Vec<(LayerName, String)>,
    ) -> Result<Self, Problem> {
        let failed = |error: io::Error| not_set_up(request, "prepare", &error);
        if let Some(folder) = &request.log_dir {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let (stdout_reader, stdout) = io::pipe().map_err(failed)?;
        let (stderr_reader, stderr) = io::pipe().map_err(failed)?;
        let log_dir = request.log_dir.as_deref();
        let streams = Streams::new(
            stdout_reader.into(),
            stderr_reader.into(),
            &request.limits,
            log_dir,
        )
        .map_err(failed)?;
        let signals = sys::child_signals().map_err(failed)?;
        let outputs = Outputs { stdout, stderr };
        let (mut init, refused) = bear(request, groups.caps_pids(), &outputs).map_err(failed)?;
        drop(outputs);
        let ready = Self::start_init(request, groups, &mut init);
        let Ready {
            child,
            missing: more,
            relay,
            disk,
        } = match ready {
            Ok(ready) => ready,
            Err(problem) => {
                procfs::signal(init.mark, Signal::KILL);
                wait_gone();
                return Err(problem);
            }
        };
        let layers = judge_layers(request, &init, refused.as_deref(), [missing, more].concat());
        if let Some(problem) = missing_required(request, &layers) {
            procfs::signal(init.mark, Signal::KILL);
            wait_gone();
            return Err(problem);
        }
        Ok(Self {
            init,
            child,
            streams,
            signals,
            layers,
            relay,
            disk,
        })
    }

    fn start_init(
        request: &Request,
        groups: &mut Cgroups,
        init: &mut Init,
    ) -> Result<Ready, Problem> {
        let failed = |error: io::Error| not_set_up(request, "start the tree", &error);
        let mut missing = groups.attach(init.mark.pid);
        release_stdin_after(init).map_err(failed)?;
        let sockets = if request.answers_names() {
            relay::receive(&init.channel).map_err(failed)?
        } else {
            Vec::new()
        };
        match read_json(&mut init.channel).map_err(failed)? {
            Some(InitEvent::Ready(more)) => missing.extend(more),
            Some(InitEvent::Failed { step, errno }) => {
                return Err(not_set_up(
                    request,
                    &step,
                    &io::Error::from_raw_os_error(errno),
                ));
            }
            Some(InitEvent::Refused { .. } | InitEvent::LeaderEnded(_)) | None => {
                return Err(failed(io::Error::other("it is gone")));
            }
        }
        let child = procfs::descendants(init.mark.pid)
            .first()
            .map(|stat| stat.mark);
        let child = child.ok_or_else(|| failed(io::Error::other("its child is gone")))?;
        // Nothing forks after this: both have threads.
        let disk = DiskWatch::start(request).map_err(failed)?;
        let relay = (!sockets.is_empty()).then(|| Relay::start(request, sockets));
        Ok(Ready {
            child,
            missing,
            relay: relay.transpose().map_err(failed)?,
            disk,
        })
    }
}

/// The init has its own copy of the input by now.
fn release_stdin_after(init: &mut Init) -> io::Result<()> {
    init.channel.set_read_timeout(Some(SET_UP))?;
    release_stdin()?;
    init.set_up();
    Ok(())
}

/// Reaps what was killed before it ever ran.
fn wait_gone() {
    for _ in 0..1000 {
        match sys::reap(None) {
            Ok(sys::Reap::NoChildren) | Err(_) => return,
            Ok(sys::Reap::One(_)) => {}
            Ok(sys::Reap::NoneYet) => {
                for stat in procfs::descendants(std::process::id() as i32) {
                    procfs::signal(stat.mark, Signal::KILL);
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

fn not_set_up(request: &Request, step: &str, error: &io::Error) -> Problem {
    let problem = Problem::new(
        Kind::ProcessNotStarted,
        format!("cannot start `{}`", request.arg0.display()),
    );
    match error.raw_os_error() {
        Some(0) => problem.cause(format!("could not {step}")),
        Some(_) | None => problem.cause(format!("could not {step}: {error}")),
    }
}

/// Every layer that means something for this request, in force or missing.
fn judge_layers(
    request: &Request,
    init: &Init,
    refused: Option<&str>,
    mut missing: Vec<(LayerName, String)>,
) -> Vec<Layer> {
    let why = refused.unwrap_or("switched off");
    if init.namespaces & sys::namespace::PID == 0 {
        missing.push((LayerName::PidNamespace, why.to_owned()));
    }
    if init.namespaces & sys::namespace::IPC == 0 {
        missing.push((LayerName::IpcNamespace, why.to_owned()));
    }
    if request.without.contains(&LayerName::DiskLimit) {
        missing.push((LayerName::DiskLimit, "switched off".to_owned()));
    }
    let asked = |name: LayerName| match name {
        LayerName::Subreaper
        | LayerName::PidNamespace
        | LayerName::CgroupKill
        | LayerName::SignalScope => true,
        LayerName::CgroupMemory => request.limits.memory_bytes.is_some(),
        LayerName::CgroupProcesses => request.limits.processes.is_some(),
        LayerName::DiskLimit => {
            let limits = &request.limits;
            request.is_confined() && (limits.disk_bytes.is_some() || limits.files.is_some())
        }
        LayerName::WriteScope
        | LayerName::View
        | LayerName::OwnProc
        | LayerName::IpcNamespace
        | LayerName::SocketScope
        | LayerName::SystemCalls
        | LayerName::Privileges
        | LayerName::OwnUser => request.is_confined(),
        LayerName::Network => request.network == NetworkAccess::Off,
        LayerName::Caches => request.is_confined() && !request.layered.is_empty(),
        LayerName::Keys => false,
    };
    let judge = |name: LayerName| match missing.iter().find(|(layer, _)| *layer == name) {
        Some((_, why)) => Layer::missing(name, why),
        None => Layer::active(name),
    };
    LayerName::ALL
        .into_iter()
        .filter(|name| asked(*name))
        .map(judge)
        .collect()
}

/// The first missing layer that the request cannot do without.
fn missing_required(request: &Request, layers: &[Layer]) -> Option<Problem> {
    let own_network = request.network == NetworkAccess::Off;
    let layer = missing_essentials(layers, own_network)
        .next()
        .filter(|_| request.required)?;
    let problem = Problem::new(
        Kind::IsolationMissing,
        format!(
            "required isolation layer `{}` is missing",
            layer.name.as_str()
        ),
    )
    .hint(
        "run `drive doctor` to see what this machine supports, or set `sandbox.isolation` to \
         `auto`",
    );
    Some(match &layer.state {
        drive_core::process::LayerState::Missing(why) => problem.cause(why.clone()),
        drive_core::process::LayerState::Active => problem,
    })
}

/// Whole or not at all: a reader never sees half a report. Not synced to the disk: after a power cut
/// the process is gone whatever its report says, and the next drive treats a lost report so.
fn store_report(folder: &Path, report: &ProcessReport) -> io::Result<()> {
    let temporary = folder.join(".report.json");
    let mut file = File::create(&temporary)?;
    file.write_all(&serde_json::to_vec(report)?)?;
    fs::rename(temporary, folder.join(super::leftover::REPORT))
}

/// The identity of a prepared tree.
fn identify(
    request: &Request,
    groups: &Cgroups,
    init: &Init,
    child: ProcessMark,
) -> ProcessIdentity {
    ProcessIdentity {
        child,
        supervisor: procfs::mark(std::process::id() as i32),
        init: Some(init.mark),
        pid_namespace: init.namespaces & sys::namespace::PID != 0,
        cgroups: groups.folders(),
        boot_id: procfs::boot_id(),
        log_dir: request.log_dir.clone(),
    }
}

/// Waits for one control byte; `None` when drive is gone or the time is over.
fn next_control(control: &OwnedFd, limit: Duration) -> Option<u8> {
    let mut fds = [PollFd::new(control, PollFlags::IN)];
    let limit = Timespec::try_from(limit).ok();
    let mut byte = [control::KILL];
    loop {
        match poll(&mut fds, limit.as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(1..) => break,
            Ok(0) | Err(_) => return None,
        }
    }
    match rustix::io::read(control.as_fd(), &mut byte) {
        Ok(1) => Some(byte[0]),
        Ok(_) | Err(_) => None,
    }
}

/// Why the kernel refused a program that looked fine.
fn refused(request: &Request, errno: i32) -> Problem {
    program::refused(&request.executable, &io::Error::from_raw_os_error(errno))
}
