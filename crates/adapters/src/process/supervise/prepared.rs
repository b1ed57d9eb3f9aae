//! A tree with its layers set up, whose child waits at the gate.

use super::super::cgroup::Cgroups;
use super::super::streams::Streams;
use super::super::wire::{Request, control, read_json};
use super::super::{procfs, program, sys};
use super::birth::{Init, Outputs, bear};
use super::disk::DiskWatch;
use super::init::{InitEvent, release_stdin};
use super::relay::{self, Relay};
use drive_core::problem::{Kind, Problem};
use drive_core::process::{Layer, LayerName, ProcessIdentity, ProcessMark, missing_essentials};
use drive_engine::ports::NetworkAccess;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// How long setting up the layers may take.
const SET_UP: Duration = Duration::from_secs(30);
/// A tree that is ready, with its child at the gate.
pub(super) struct Prepared {
    pub(super) init: Init,
    pub(super) child: ProcessMark,
    pub(super) streams: Streams,
    pub(super) signals: OwnedFd,
    pub(super) layers: Vec<Layer>,
    pub(super) relay: Option<Relay>,
    pub(super) disk: Option<DiskWatch>,
}

/// A tree whose child waits at the gate.
struct Ready {
    child: ProcessMark,
    missing: Vec<(LayerName, String)>,
    relay: Option<Relay>,
    disk: Option<DiskWatch>,
}

impl Prepared {
    pub(super) fn new(
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
        // From here on nothing forks: both start threads.
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

/// Releases the input once the init has its own copy of it.
fn release_stdin_after(init: &mut Init) -> io::Result<()> {
    init.channel.set_read_timeout(Some(SET_UP))?;
    release_stdin()?;
    init.set_up();
    Ok(())
}

/// Reaps processes that were killed before they ran.
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

/// Every layer that matters for this request, in force or missing.
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

/// The problem of the first missing layer that the request requires.
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
    .hint(way_to(layer.name));
    Some(match &layer.state {
        drive_core::process::LayerState::Missing(why) => problem.cause(why.clone()),
        drive_core::process::LayerState::Active => problem,
    })
}

/// The hint that says how to get a missing layer.
fn way_to(layer: LayerName) -> &'static str {
    match layer {
        LayerName::OwnUser => {
            "run `drive` as an ordinary user, keep sandboxes on a file system with idmapped mounts \
             such as ext4, or set `sandbox.isolation` to `auto`"
        }
        LayerName::CgroupMemory | LayerName::CgroupProcesses => {
            "run `drive` in a control group that it may write, as `systemd-run --user --scope -p \
             Delegate=yes drive …` gives, or set `sandbox.isolation` to `auto`"
        }
        LayerName::Subreaper
        | LayerName::PidNamespace
        | LayerName::CgroupKill
        | LayerName::DiskLimit
        | LayerName::WriteScope
        | LayerName::View
        | LayerName::OwnProc
        | LayerName::IpcNamespace
        | LayerName::SocketScope
        | LayerName::SignalScope
        | LayerName::SystemCalls
        | LayerName::Privileges
        | LayerName::Network
        | LayerName::Caches
        | LayerName::Keys => {
            "run `drive doctor` to see what this machine supports, or set `sandbox.isolation` to \
             `auto`"
        }
    }
}

/// The identity of a prepared tree.
pub(super) fn identify(
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

/// Waits for one control byte; `None` if drive is gone or the time is over.
pub(super) fn next_control(control: &OwnedFd, limit: Duration) -> Option<u8> {
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

/// The problem of a program that the kernel refused although the checks accepted it.
pub(super) fn refused(request: &Request, errno: i32) -> Problem {
    program::refused(&request.executable, &io::Error::from_raw_os_error(errno))
}
