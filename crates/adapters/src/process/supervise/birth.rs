//! Starts the init process of a tree, with as many namespaces as the machine allows.

use super::super::procfs;
use super::super::sys::{self, Forked, namespace};
use super::super::wire::{Request, control};
use super::init::{Birth, InitEnds, Outside, init_main};
use super::view::listening_sockets;
use drive_core::process::{LayerName, ProcessMark};
use drive_engine::ports::NetworkAccess;
use rustix::process::{Pid, Signal, WaitOptions, getegid, geteuid};
use std::fs;
use std::io::{self, PipeWriter, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

/// The init, as seen by its supervisor.
pub(super) struct Init {
    pub(super) mark: ProcessMark,
    pub(super) channel: UnixStream,
    pub(super) namespaces: i32,
}

/// The writing ends of the child's streams.
pub(super) struct Outputs {
    pub(super) stdout: PipeWriter,
    pub(super) stderr: PipeWriter,
}

/// Tries the wanted namespaces: as root first without a user namespace, otherwise only with one,
/// and finally none at all. Returns why there are none, if so.
pub(super) fn bear(
    request: &Request,
    caps_processes: bool,
    outputs: &Outputs,
) -> io::Result<(Init, Option<String>)> {
    // A network namespace has its own list of them.
    let sockets = if request.is_confined() {
        listening_sockets()
    } else {
        Vec::new()
    };
    let users = unused_users(request);
    let start = |namespaces: i32| {
        // In a new user namespace, idmapped mounts cannot reach root's files.
        let users = users.as_ref().filter(|_| namespaces & namespace::USER == 0);
        let outside = Outside {
            sockets: &sockets,
            users,
        };
        try_bear(request, namespaces, caps_processes, outside, outputs)
    };
    let wanted = wanted_namespaces(request);
    let mut refused = None;
    if wanted != 0 {
        let with_user = wanted | namespace::USER;
        let attempts: &[i32] = if geteuid().is_root() {
            &[wanted, with_user]
        } else {
            &[with_user]
        };
        for namespaces in attempts {
            match start(*namespaces) {
                Ok(init) => return Ok((init, None)),
                Err(error) => refused = Some(why_refused(&error)),
            }
        }
    }
    Ok((start(0)?, refused))
}

/// Explains the kernel's refusal of a new namespace.
fn why_refused(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOSPC) => "user namespaces are switched off (user.max_user_namespaces)".into(),
        Some(libc::EPERM) => {
            "namespaces are refused: a container's filter or the kernel's security module".into()
        }
        Some(libc::EINVAL | libc::ENOSYS) => "the kernel has no namespaces of this kind".into(),
        Some(_) | None => format!("namespaces are refused ({error})"),
    }
}

fn wanted_namespaces(request: &Request) -> i32 {
    let on = |layer| !request.without.contains(&layer);
    let mut wanted = 0;
    if on(LayerName::PidNamespace) {
        wanted |= namespace::PID | namespace::MOUNT;
    }
    if request.is_confined() && on(LayerName::View) {
        wanted |= namespace::MOUNT;
    }
    if request.is_confined() && on(LayerName::IpcNamespace) {
        wanted |= namespace::IPC;
    }
    // Host names are files of the tree's own root.
    let has_names = request.reach.is_nothing() || (request.is_confined() && on(LayerName::View));
    if request.network == NetworkAccess::Off && on(LayerName::Network) && has_names {
        wanted |= namespace::NETWORK;
    }
    wanted
}

fn try_bear(
    request: &Request,
    namespaces: i32,
    caps_processes: bool,
    outside: Outside<'_>,
    outputs: &Outputs,
) -> io::Result<Init> {
    let (channel, inner) = UnixStream::pair()?;
    let birth = Birth {
        namespaces,
        caps_processes,
    };
    // The ends are duplicated before the fork, so that a failed attempt leaves the originals for
    // the next one.
    let ends = InitEnds {
        supervisor: inner,
        stdout: outputs.stdout.try_clone()?,
        stderr: outputs.stderr.try_clone()?,
    };
    let pid = match sys::fork(namespaces)? {
        Forked::Child => {
            drop(channel);
            init_main(request, birth, outside, ends)
        }
        Forked::Parent(pid) => pid,
    };
    let mark = procfs::mark(pid).ok_or_else(|| io::Error::other("it is gone"))?;
    if namespaces & namespace::USER != 0
        && let Err(error) = map_users(pid)
    {
        procfs::signal(mark, Signal::KILL);
        return Err(error);
    }
    Ok(Init {
        mark,
        channel,
        namespaces,
    })
}

impl Init {
    /// Sends one control byte. A dead init is detected elsewhere.
    pub(super) fn order(&mut self, byte: u8) {
        let _ = self.channel.write_all(&[byte]);
    }

    /// Lets the init set up its layers.
    pub(super) fn set_up(&mut self) {
        self.order(control::SET_UP);
    }
}

/// Maps the user to itself, so that ids are the same inside and outside. Root may map all of them.
fn map_users(pid: i32) -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    if user == 0 && put(pid, "uid_map", "0 0 4294967295").is_ok() {
        return put(pid, "gid_map", "0 0 4294967295");
    }
    put(pid, "setgroups", "deny")?;
    put(pid, "uid_map", &format!("{user} {user} 1"))?;
    put(pid, "gid_map", &format!("{group} {group} 1"))
}

/// For a tree started by root, a user namespace that maps its users to unused ids, so that it owns
/// no files of root. `None` for other users, or if it cannot be made.
fn unused_users(request: &Request) -> Option<OwnedFd> {
    let is_asked = request.is_confined() && !request.without.contains(&LayerName::OwnUser);
    if !is_asked || !geteuid().is_root() {
        return None;
    }
    let (gate, hold) = io::pipe().ok()?;
    let pid = match sys::fork(namespace::USER).ok()? {
        Forked::Child => {
            drop(hold);
            let _ = io::Read::read(&mut &gate, &mut [0]);
            sys::exit_now(0)
        }
        Forked::Parent(pid) => pid,
    };
    let map = format!("0 {} 65536", sys::UNUSED);
    let mapped = put(pid, "uid_map", &map).and_then(|()| put(pid, "gid_map", &map));
    let users = mapped.and_then(|()| fs::File::open(format!("/proc/{pid}/ns/user")));
    drop(hold);
    let _ = rustix::process::waitpid(Pid::from_raw(pid), WaitOptions::empty());
    users.ok().map(OwnedFd::from)
}

fn put(pid: i32, file: &str, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .open(format!("/proc/{pid}/{file}"))?;
    file.write_all(text.as_bytes())
}
