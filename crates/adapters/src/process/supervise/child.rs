//! The last steps of a child before it executes its program: it waits at a gate, then enters its
//! layers.

use super::super::sys::{self, exit_now, unblock_signals};
use super::super::wire::{Request, control, write_json};
use super::disk;
use super::view::TMP;
use super::{restrict, syscalls};
use drive_core::process::LayerName;
use rustix::process::{
    Resource, Rlimit, Signal, geteuid, set_parent_process_death_signal, setrlimit, setsid,
};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_capabilities_secure_bits,
};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// An event of the child before it executes its program. After a successful start there are no more.
#[derive(Serialize, Deserialize)]
pub(super) enum ChildEvent {
    /// Its layers are in force, except for these.
    Ready(Vec<(LayerName, String)>),
    /// A step failed.
    Failed {
        /// The step, with the name of its object.
        step: String,
        /// The kernel's error number.
        errno: i32,
    },
    /// The kernel refused to execute the program.
    Refused {
        /// The kernel's error number.
        errno: i32,
    },
}

/// The descriptors with which the child starts.
pub(super) struct ChildEnds {
    pub(super) stdout: PipeWriter,
    pub(super) stderr: PipeWriter,
    pub(super) gate: PipeReader,
    pub(super) events: PipeWriter,
}

/// Decisions about the child that were made before the fork.
pub(super) struct ChildLayers<'a> {
    /// The user namespace that a child of root enters as its first user.
    pub(super) users: Option<&'a OwnedFd>,
    /// A limit on its processes that the kernel enforces, if there is no control group.
    pub(super) process_rlimit: Option<u64>,
    /// Whether it has its own root, with only the requested files.
    pub(super) has_root: bool,
    /// Whether it has its own network, which cannot reach a proxy, so that the relay uses the proxy.
    pub(super) own_network: bool,
}

/// Becomes the program, or ends; never returns.
pub(super) fn become_program(
    request: &Request,
    layers: &ChildLayers<'_>,
    mut ends: ChildEnds,
) -> ! {
    let missing = match prepare(request, layers, &ends) {
        Ok(missing) => missing,
        Err((step, error)) => {
            let errno = error.raw_os_error().unwrap_or(0);
            let _ = write_json(&mut ends.events, &ChildEvent::Failed { step, errno });
            exit_now(127);
        }
    };
    let mut gate = [0];
    let opened = write_json(&mut ends.events, &ChildEvent::Ready(missing)).is_ok()
        && ends.gate.read_exact(&mut gate).is_ok()
        && gate[0] == control::GO;
    if !opened {
        exit_now(127);
    }
    let errno = execute(request, layers).raw_os_error().unwrap_or(0);
    let _ = write_json(&mut ends.events, &ChildEvent::Refused { errno });
    exit_now(127)
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place where a contained child becomes its program"
)]
fn execute(request: &Request, layers: &ChildLayers<'_>) -> io::Error {
    Command::new(&request.executable)
        .arg0(&request.arg0)
        .args(&request.args)
        .env_clear()
        .envs(
            request
                .env
                .iter()
                .filter(|(key, _)| !layers.own_network || !is_proxy(key))
                .map(|(key, value)| {
                    let is_tmp = request.tmp.as_ref().is_some_and(|tmp| tmp == value);
                    // The path of a socket has at most 107 bytes, and state directories can be deep.
                    let is_short = layers.has_root && is_tmp;
                    (key, if is_short { OsStr::new(TMP) } else { value })
                }),
        )
        .exec()
}

fn is_proxy(variable: &OsStr) -> bool {
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"]
        .iter()
        .any(|name| variable.eq_ignore_ascii_case(name))
}

type Missing = Vec<(LayerName, String)>;
type Step<T> = Result<T, (String, io::Error)>;

fn prepare(request: &Request, layers: &ChildLayers<'_>, ends: &ChildEnds) -> Step<Missing> {
    let step = |name: &str| {
        let name = name.to_owned();
        move |error: rustix::io::Errno| (name, io::Error::from(error))
    };
    setsid().map_err(step("start a session"))?;
    // This comes before the change of the user: after it, `/proc/self` belongs to the process again
    // only once it executes.
    prefer_for_memory_kill();
    rustix::process::chdir(&request.cwd)
        .map_err(step(&format!("enter folder `{}`", request.cwd.display())))?;
    if let Some(users) = layers.users {
        sys::become_first_user(users).map_err(|e| ("change its user".to_owned(), e))?;
    }
    // The parent has only the thread that forked this process, so the signal is sent when the
    // parent ends. A change of the user would reset it.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(step("follow its parent"))?;
    rustix::stdio::dup2_stdout(&ends.stdout).map_err(step("connect stdout"))?;
    rustix::stdio::dup2_stderr(&ends.stderr).map_err(step("connect stderr"))?;
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, none).map_err(step("switch core files off"))?;
    if let Some(count) = layers.process_rlimit {
        let bound = Rlimit {
            current: Some(count),
            maximum: Some(count),
        };
        let _ = setrlimit(Resource::Nproc, bound);
    }
    if let Some(bytes) = disk::largest_file(request) {
        let bound = Rlimit {
            current: Some(bytes),
            maximum: Some(bytes),
        };
        setrlimit(Resource::Fsize, bound).map_err(step("limit the size of files"))?;
    }
    unblock_signals().map_err(|error| ("unblock signals".to_owned(), error))?;
    let mut missing = give_up_privileges(request, layers);
    missing.extend(restrict::apply(request, layers.has_root)?);
    missing.extend(refuse_system_calls(request));
    Ok(missing)
}

/// Makes the kernel choose the tree, not its supervisor, when memory runs out.
fn prefer_for_memory_kill() {
    if let Ok(mut file) = File::options().write(true).open("/proc/self/oom_score_adj") {
        let _ = file.write_all(b"500");
    }
}

/// Permanently removes every capability, including those that a program of root would get back when
/// it is executed. An ordinary user only has those of its own user namespace.
fn give_up_privileges(request: &Request, layers: &ChildLayers<'_>) -> Missing {
    let mut missing = Vec::new();
    if !request.is_confined() {
        return missing;
    }
    if geteuid().is_root() && layers.users.is_none() {
        missing.push((LayerName::OwnUser, "it is root".to_owned()));
    }
    if request.without.contains(&LayerName::Privileges) {
        missing.push((LayerName::Privileges, "switched off".to_owned()));
        return missing;
    }
    let mut all = CapabilitySet::all();
    for capability in all.iter() {
        if remove_capability_from_bounding_set(capability).is_ok() {
            all.remove(capability);
        }
    }
    // Both need a capability, which an ordinary user without a namespace does not have.
    let _ = set_capabilities_secure_bits(
        CapabilitiesSecureBits::NO_ROOT
            | CapabilitiesSecureBits::NO_ROOT_LOCKED
            | CapabilitiesSecureBits::NO_SETUID_FIXUP
            | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
            | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED,
    );
    let _ = clear_ambient_capability_set();
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    if let Err(error) = set_capabilities(None, none) {
        missing.push((LayerName::Privileges, error.to_string()));
    }
    missing
}

fn refuse_system_calls(request: &Request) -> Missing {
    if !request.is_confined() {
        return Vec::new();
    }
    let why = if request.without.contains(&LayerName::SystemCalls) {
        Some("switched off".to_owned())
    } else {
        syscalls::refuse().err().map(|error| error.to_string())
    };
    let missing = why.map(|why| (LayerName::SystemCalls, why));
    missing.into_iter().collect()
}
