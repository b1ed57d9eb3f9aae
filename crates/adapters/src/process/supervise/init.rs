//! The first process of the tree: sets up the layers, forks the child, reaps all processes, and
//! runs until the tree is empty. It stands between the supervisor and the child, so that neither
//! the child nor the end of a namespace can take the supervisor down.

use super::super::sys::{self, Forked, Reap, UNUSED, exit_now, reap};
use super::super::wire::{Request, control, read_json, write_json};
use super::super::{procfs, sys::namespace};
use super::child::{ChildEnds, ChildEvent, ChildLayers, become_program};
use super::mounts;
use super::relay::{self, Names};
use drive_core::process::{LayerName, LeaderEnd};
use drive_engine::ports::NetworkAccess;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Gid, Mode, Uid, fchown, fstat};
use rustix::process::{Signal, set_child_subreaper, set_parent_process_death_signal, umask};
use serde::{Deserialize, Serialize};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// A message from the init to its supervisor.
#[derive(Serialize, Deserialize)]
pub(super) enum InitEvent {
    /// The child waits at its gate; these layers are missing.
    Ready(Vec<(LayerName, String)>),
    /// The tree could not be set up.
    Failed {
        /// The step that failed.
        step: String,
        /// The kernel's error number; 0 if there is none.
        errno: i32,
    },
    /// The kernel refused to execute the program.
    Refused {
        /// The kernel's error number.
        errno: i32,
    },
    /// The leader has ended.
    LeaderEnded(LeaderEnd),
}

/// The descriptors with which the init starts.
pub(super) struct InitEnds {
    pub(super) supervisor: UnixStream,
    pub(super) stdout: PipeWriter,
    pub(super) stderr: PipeWriter,
}

/// The namespaces it was started in, and the limits that the control groups already enforce.
#[derive(Clone, Copy)]
pub(super) struct Birth {
    pub(super) namespaces: i32,
    pub(super) caps_processes: bool,
}

/// Facts and objects that were prepared before the tree left the machine's namespaces.
#[derive(Clone, Copy)]
pub(super) struct Outside<'a> {
    /// The paths of listening sockets.
    pub(super) sockets: &'a [PathBuf],
    /// The user namespace of a tree that root starts.
    pub(super) users: Option<&'a OwnedFd>,
}

impl Birth {
    fn has(self, namespace: i32) -> bool {
        self.namespaces & namespace != 0
    }
}

/// Runs the init until the tree is empty, and ends the process; never returns.
pub(super) fn init_main(
    request: &Request,
    birth: Birth,
    outside: Outside<'_>,
    ends: InitEnds,
) -> ! {
    let InitEnds {
        mut supervisor,
        stdout,
        stderr,
    } = ends;
    let mut order = [0];
    if supervisor.read_exact(&mut order).is_err() || order[0] != control::SET_UP {
        exit_now(1);
    }
    let network = own_network(request, birth, &supervisor);
    let prepared =
        network.and_then(|network| set_up(request, birth, outside, network, stdout, stderr));
    match prepared {
        Ok((tree, missing)) => {
            let _ = write_json(&mut supervisor, &InitEvent::Ready(missing));
            tree.keep(supervisor);
        }
        Err((step, error)) => {
            let errno = error.raw_os_error().unwrap_or(0);
            let step = if errno == 0 {
                format!("{step}: {error}")
            } else {
                step
            };
            let _ = write_json(&mut supervisor, &InitEvent::Failed { step, errno });
        }
    }
    exit_now(0)
}

type Missing = Vec<(LayerName, String)>;
type Failure = (String, io::Error);

fn set_up(
    request: &Request,
    birth: Birth,
    outside: Outside<'_>,
    network: Network,
    stdout: PipeWriter,
    stderr: PipeWriter,
) -> Result<(Tree, Missing), Failure> {
    let step = |name: &'static str| move |error: io::Error| (name.to_owned(), error);
    // The tree must end with its supervisor. If this process is the first one of a namespace, its
    // end kills all others; otherwise it must live until it has killed them.
    if birth.has(namespace::PID) {
        set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(|e| ("follow the supervisor".to_owned(), e.into()))?;
    }
    let _ = set_child_subreaper(rustix::process::Pid::from_raw(1));
    let signals = sys::child_signals().map_err(step("watch for ended children"))?;
    let mut missing = Vec::new();
    let own_network = network.missing.is_none();
    missing.extend(network.missing.map(|why| (LayerName::Network, why)));
    if birth.has(namespace::USER) && request.is_confined() {
        // This limits only the own namespace. The filter of system calls refuses them too.
        let _ = sys::allow_no_user_namespaces();
    }
    let (has_root, users) = view_files(request, birth, outside, &network.files, &mut missing);
    if !has_root && own_network && !request.reach.is_nothing() {
        let why = missing.pop().map_or_else(String::new, |(_, why)| why);
        return Err(("name its hosts".to_owned(), io::Error::other(why)));
    }
    if users.is_some() {
        // Otherwise no process in the tree could open `/dev/stdout`.
        for end in [stdout.as_fd(), stderr.as_fd(), rustix::stdio::stdin()] {
            give_to_tree(end).map_err(step("hand the streams over"))?;
        }
    }
    let layers = ChildLayers {
        process_rlimit: process_rlimit(request, birth, users.is_some()),
        has_root,
        own_network,
        users,
    };
    let (gate_reader, gate) = io::pipe().map_err(step("open the gate"))?;
    let (mut events, events_writer) = io::pipe().map_err(step("open the gate"))?;
    let child = match sys::fork(0).map_err(step("fork"))? {
        Forked::Parent(pid) => pid,
        Forked::Child => {
            drop((gate, events));
            let ends = ChildEnds {
                stdout,
                stderr,
                gate: gate_reader,
                events: events_writer,
            };
            become_program(request, &layers, ends)
        }
    };
    drop((stdout, stderr, gate_reader, events_writer));
    release_stdin().map_err(step("let go of stdin"))?;
    match read_json(&mut events).map_err(step("hear from the child"))? {
        Some(ChildEvent::Ready(more)) => missing.extend(more),
        Some(ChildEvent::Failed { step, errno }) => {
            return Err((step, io::Error::from_raw_os_error(errno)));
        }
        Some(ChildEvent::Refused { .. }) | None => {
            return Err((
                "hear from the child".to_owned(),
                io::Error::other("it is gone"),
            ));
        }
    }
    let tree = Tree {
        child,
        owns_namespace: birth.has(namespace::PID),
        signals,
        gate: Some(gate),
        events: Some(events),
        killing: false,
    };
    Ok((tree, missing))
}

/// Closes the input, which belongs to the child alone: while another process holds it, its writer
/// cannot notice that the child ended.
pub(super) fn release_stdin() -> io::Result<()> {
    let null = std::fs::File::open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdin(&null)?)
}

/// Gives a pipe to the tree's user: pipes belong to the user who created them.
fn give_to_tree(end: BorrowedFd<'_>) -> io::Result<()> {
    let kind = FileType::from_raw_mode(fstat(end)?.st_mode);
    if kind == FileType::Fifo {
        let (user, group) = (Uid::from_raw(UNUSED), Gid::from_raw(UNUSED));
        fchown(end, Some(user), Some(group))?;
    }
    Ok(())
}

/// Gives the tree its own view of the files. Returns whether it has its own root, and the users
/// whose folders it contains.
fn view_files<'a>(
    request: &Request,
    birth: Birth,
    outside: Outside<'a>,
    names: &[(&str, String)],
    missing: &mut Missing,
) -> (bool, Option<&'a OwnedFd>) {
    let on = |layer| !request.without.contains(&layer);
    let detached = if birth.has(namespace::MOUNT) {
        mounts::detach()
    } else {
        Err(io::Error::other("no mount namespace"))
    };
    let owns_pids = birth.has(namespace::PID);
    if !request.is_confined() || !on(LayerName::View) {
        if request.is_confined() {
            missing.push((LayerName::Caches, "no root of its own".to_owned()));
            missing.push((LayerName::View, "switched off".to_owned()));
        }
        if detached.is_ok() && owns_pids {
            let _ = mounts::mount_proc();
        }
        return (false, None);
    }
    let enter = |users| {
        // The folders of the new root are for the tree, whose user may be a different one.
        let callers = umask(Mode::WGRP | Mode::WOTH);
        let entered = mounts::enter_root(request, outside.sockets, users, names, owns_pids);
        umask(callers);
        entered
    };
    let entered = detached.and_then(|()| match outside.users.map(|users| enter(Some(users))) {
        Some(Ok(done)) => Ok((done, outside.users)),
        Some(Err(error)) => {
            // Not every file system supports mapped owners.
            missing.push((LayerName::OwnUser, error.to_string()));
            Ok((enter(None)?, None))
        }
        None => Ok((enter(None)?, None)),
    });
    match entered {
        Ok((lacks, users)) => {
            missing.extend(lacks);
            (true, users)
        }
        Err(error) => {
            missing.push((LayerName::Caches, "no root of its own".to_owned()));
            missing.push((LayerName::View, error.to_string()));
            (false, None)
        }
    }
}

/// The network of the tree.
struct Network {
    /// Why the tree uses the machine's network instead.
    missing: Option<String>,
    /// The files with the names of the reachable hosts.
    files: Vec<(&'static str, String)>,
}

/// Sets up the own network, and passes the sockets of its hosts to the supervisor. If hosts are
/// named, the supervisor waits for the sockets, so an empty list is sent too.
fn own_network(
    request: &Request,
    birth: Birth,
    supervisor: &UnixStream,
) -> Result<Network, Failure> {
    let step = |name: &'static str| move |error: io::Error| (name.to_owned(), error);
    let missing = match request.network {
        NetworkAccess::Open => Some("not asked for".to_owned()),
        NetworkAccess::Off if !birth.has(namespace::NETWORK) => {
            Some("no network namespace".to_owned())
        }
        NetworkAccess::Off => sys::loopback_up()
            .err()
            .map(|error| format!("loopback stays down: {error}")),
    };
    let mut files = Vec::new();
    if request.answers_names() {
        let names = Names::new(&request.reach);
        let bound = if missing.is_none() {
            files.extend(names.files(&rustix::system::uname().nodename().to_string_lossy()));
            if request.reach.is_nothing() {
                // Hosts to which the user gave loopback addresses keep them.
                files.retain(|(path, _)| *path != "/etc/hosts");
            }
            relay::bind(&names)
        } else {
            Ok(Vec::new())
        };
        let sockets = bound.as_deref().unwrap_or_default();
        relay::send(supervisor, sockets).map_err(step("hand its sockets out"))?;
        bound.map_err(step("listen for its hosts"))?;
    }
    Ok(Network { missing, files })
}

/// The process limit of the child. In an own user namespace the kernel counts only the processes of this
/// tree. The init and one more are added, so that polling can detect that the limit was exceeded.
fn process_rlimit(request: &Request, birth: Birth, has_users: bool) -> Option<u64> {
    let cap = request.limits.processes?;
    ((has_users || birth.has(namespace::USER)) && !birth.caps_processes).then(|| u64::from(cap) + 2)
}

/// The running tree, as seen by its first process.
struct Tree {
    child: i32,
    owns_namespace: bool,
    signals: OwnedFd,
    gate: Option<PipeWriter>,
    events: Option<PipeReader>,
    killing: bool,
}

impl Tree {
    /// Reaps processes and follows the supervisor's orders until the tree is empty.
    fn keep(mut self, mut supervisor: UnixStream) {
        loop {
            if self.reap_all(&mut supervisor) {
                return;
            }
            if self.killing {
                self.kill_all();
            }
            let [signalled, ordered, refused] = self.wait(&supervisor);
            if signalled {
                let mut drained = [0; 1024];
                while rustix::io::read(&self.signals, &mut drained).is_ok_and(|n| n > 0) {}
            }
            if refused {
                self.hear_child(&mut supervisor);
            }
            if ordered {
                self.obey(&mut supervisor);
            }
        }
    }

    /// Reaps ended processes. Returns whether the tree is empty: every orphan becomes a child of
    /// this process, so without children there are no descendants.
    fn reap_all(&mut self, supervisor: &mut UnixStream) -> bool {
        loop {
            match reap(None) {
                Ok(Reap::One(reaped)) if reaped.pid == self.child => {
                    self.hear_child(supervisor);
                    let _ = write_json(supervisor, &InitEvent::LeaderEnded(reaped.end));
                }
                Ok(Reap::One(_)) => {}
                Ok(Reap::NoneYet) | Err(_) => return false,
                Ok(Reap::NoChildren) => return true,
            }
        }
    }

    fn wait(&self, supervisor: &UnixStream) -> [bool; 3] {
        let mut fds = vec![
            PollFd::new(&self.signals, PollFlags::IN),
            PollFd::new(supervisor, PollFlags::IN),
        ];
        if let Some(events) = &self.events {
            fds.push(PollFd::new(events, PollFlags::IN));
        }
        let pause = self.killing.then_some(Duration::from_millis(1));
        let pause = pause.and_then(|pause| Timespec::try_from(pause).ok());
        let mut ready = [false; 3];
        if poll(&mut fds, pause.as_ref()).is_ok() {
            for (slot, fd) in ready.iter_mut().zip(&fds) {
                *slot = !fd.revents().is_empty();
            }
        }
        ready
    }

    /// Reads the child's final message: a refused program, or the end of file after a successful start.
    fn hear_child(&mut self, supervisor: &mut UnixStream) {
        let Some(mut events) = self.events.take() else {
            return;
        };
        if let Ok(Some(ChildEvent::Refused { errno })) = read_json(&mut events) {
            let _ = write_json(supervisor, &InitEvent::Refused { errno });
        }
    }

    fn obey(&mut self, supervisor: &mut UnixStream) {
        let mut order = [0];
        match supervisor.read(&mut order) {
            Ok(1) if order[0] == control::GO => {
                if let Some(mut gate) = self.gate.take() {
                    let _ = gate.write_all(&[control::GO]);
                }
            }
            Ok(_) | Err(_) => self.killing = true,
        }
    }

    fn kill_all(&self) {
        if self.owns_namespace {
            let _ = sys::kill_own_namespace();
            return;
        }
        procfs::kill_below_self();
    }
}
