//! Kernel interfaces without a safe wrapper.
#![expect(
    unsafe_code,
    reason = "fork, wait4 with usage, signals, descriptor ranges and mount attributes need libc"
)]

use super::usage::Usage;
use drive_core::process::LeaderEnd;
use std::fs::File;
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Which side of a fork runs.
pub(super) enum Forked {
    /// The parent, with the child's pid.
    Parent(i32),
    /// The child.
    Child,
}

/// The first id of the users in a tree that root starts: above those that systemd gives to containers.
pub(super) const UNUSED: u32 = 0x7100_0000;

/// New namespaces for [`fork`].
pub(super) mod namespace {
    pub(in super::super) const USER: i32 = libc::CLONE_NEWUSER;
    pub(in super::super) const PID: i32 = libc::CLONE_NEWPID;
    pub(in super::super) const MOUNT: i32 = libc::CLONE_NEWNS;
    pub(in super::super) const NETWORK: i32 = libc::CLONE_NEWNET;
    pub(in super::super) const IPC: i32 = libc::CLONE_NEWIPC;
}

/// Forks into these new namespaces (none for 0). Only for a single-threaded process.
pub(super) fn fork(namespaces: i32) -> io::Result<Forked> {
    let flags = libc::c_long::from(namespaces | libc::SIGCHLD);
    // SAFETY: no stack is passed and no memory is shared, so this is a plain fork: the child
    // continues with a copy of this process. The callers are single-threaded, so that no lock can
    // be held by a thread that does not exist in the child.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        pid => Ok(Forked::Parent(pid as i32)),
    }
}

/// Ends a forked child immediately, without running the parent's exit handlers.
pub(super) fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` touches no memory of ours.
    unsafe { libc::_exit(code) }
}

/// A child that has ended.
pub(super) struct Reaped {
    pub(super) pid: i32,
    pub(super) end: LeaderEnd,
    pub(super) usage: Usage,
}

/// The result of an attempt to reap.
pub(super) enum Reap {
    /// A child had ended, and was reaped.
    One(Reaped),
    /// Children are alive; none has ended.
    NoneYet,
    /// There are no children: for a subreaper, the whole tree is empty.
    NoChildren,
}

/// Reaps one ended child (a certain one for `Some`) without waiting.
pub(super) fn reap(pid: Option<i32>) -> io::Result<Reap> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are to live memory of the right types.
    let got = unsafe {
        libc::wait4(
            pid.unwrap_or(-1),
            &mut status,
            libc::WNOHANG | libc::__WALL,
            usage.as_mut_ptr(),
        )
    };
    if got == 0 {
        return Ok(Reap::NoneYet);
    }
    if got < 0 {
        let error = io::Error::last_os_error();
        return match error.raw_os_error() {
            Some(libc::ECHILD) => Ok(Reap::NoChildren),
            Some(libc::EINTR) => Ok(Reap::NoneYet),
            _ => Err(error),
        };
    }
    // SAFETY: zeroed memory is a valid `rusage`, and the call has filled it.
    let usage = unsafe { usage.assume_init() };
    let end = if libc::WIFSIGNALED(status) {
        LeaderEnd::Signalled(libc::WTERMSIG(status))
    } else {
        LeaderEnd::Exited(libc::WEXITSTATUS(status))
    };
    Ok(Reap::One(Reaped {
        pid: got,
        end,
        usage: Usage {
            user_micros: micros(usage.ru_utime),
            system_micros: micros(usage.ru_stime),
            max_rss_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
        },
    }))
}

fn micros(time: libc::timeval) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000 + u64::try_from(time.tv_usec).unwrap_or(0)
}

/// Blocks the signal about ended children, and returns a descriptor that becomes readable when it arrives.
pub(super) fn child_signals() -> io::Result<OwnedFd> {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is live memory, initialised by `sigemptyset` before any other use; the
    // descriptor is checked before it is owned.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        if libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        let fd = libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Gives a child the empty signal mask that every program expects.
pub(super) fn unblock_signals() -> io::Result<()> {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is live memory, initialised before it is used.
    let done = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut())
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Closes every descriptor above the standard three. The process that started drive may have left
/// some open, and neither a long-lived helper nor its children should hold them. Must be called
/// before anything else is opened.
pub(super) fn close_inherited() -> io::Result<()> {
    // SAFETY: it is called first, when nothing in this process owns a descriptor above 2.
    match unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Attributes for [`set_mount_attributes`].
pub(super) mod attribute {
    pub(in super::super) const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
    pub(in super::super) const NO_SUID: u64 = libc::MOUNT_ATTR_NOSUID;
    pub(in super::super) const HARMLESS: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
}

/// Adds attributes to a mount, or to it and all mounts below it.
pub(super) fn set_mount_attributes(
    mount: &OwnedFd,
    attributes: u64,
    recursive: bool,
) -> io::Result<()> {
    let below = if recursive { libc::AT_RECURSIVE } else { 0 };
    set_attributes(mount, below, attributes, 0)
}

/// Maps the owners of a mount, and of all mounts below it, like the user namespace does: files of
/// root on disk belong to the namespace's first user.
pub(super) fn map_owners(mount: &OwnedFd, users: &OwnedFd) -> io::Result<()> {
    let users = users.as_raw_fd() as u64;
    set_attributes(mount, libc::AT_RECURSIVE, libc::MOUNT_ATTR_IDMAP, users)
}

fn set_attributes(
    mount: &OwnedFd,
    below: libc::c_int,
    attributes: u64,
    users: u64,
) -> io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: attributes,
        attr_clr: 0,
        propagation: 0,
        userns_fd: users,
    };
    // SAFETY: the path is a terminated string and the structure is live memory of the given size.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | below,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Enters another user namespace as its first user, with all capabilities there and none here.
pub(super) fn become_first_user(users: &OwnedFd) -> io::Result<()> {
    // SAFETY: the only memory involved is the empty list of groups, which is never read.
    let done = unsafe {
        libc::setns(users.as_raw_fd(), libc::CLONE_NEWUSER) == 0
            && libc::setgroups(0, std::ptr::null()) == 0
            && libc::setresgid(0, 0, 0) == 0
            && libc::setresuid(0, 0, 0) == 0
    };
    if done {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Forbids new user namespaces below the own one.
pub(super) fn allow_no_user_namespaces() -> io::Result<()> {
    let path = "/proc/sys/user/max_user_namespaces";
    File::options().write(true).open(path)?.write_all(b"0")
}

/// Kills every process of the own PID namespace. Fails in any other process than its first.
pub(super) fn kill_own_namespace() -> io::Result<()> {
    if std::process::id() != 1 {
        return Err(io::Error::other("not the first process of a namespace"));
    }
    // SAFETY: no memory is involved; as the first process of a namespace, `-1` means its members.
    match unsafe { libc::kill(-1, libc::SIGKILL) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Activates the loopback interface of the own network namespace.
pub(super) fn loopback_up() -> io::Result<()> {
    let flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    set_interface("lo", libc::SIOCSIFFLAGS, |request| {
        request.ifru_flags = flags
    })
}

/// Adds an address to the loopback interface of the own network namespace.
pub(super) fn add_loopback_address(number: usize, address: Ipv4Addr) -> io::Result<()> {
    let name = format!("lo:{number}");
    let set = |order, address: Ipv4Addr| {
        set_interface(&name, order, |request| {
            // The beginning of a `sockaddr_in`: family, port, address.
            request.ifru_addr.sa_family = libc::AF_INET as libc::sa_family_t;
            let octets = address.octets();
            for (to, from) in request_address(request).iter_mut().zip(octets) {
                *to = from as libc::c_char;
            }
        })
    };
    set(libc::SIOCSIFADDR, address)?;
    set(libc::SIOCSIFNETMASK, Ipv4Addr::BROADCAST)
}

fn request_address(request: &mut libc::__c_anonymous_ifr_ifru) -> &mut [libc::c_char] {
    // SAFETY: every field of the union was set to zero, which is a valid `sockaddr`.
    unsafe { &mut request.ifru_addr.sa_data[2..6] }
}

fn set_interface(
    name: &str,
    order: libc::c_ulong,
    fill: impl FnOnce(&mut libc::__c_anonymous_ifr_ifru),
) -> io::Result<()> {
    let socket = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        None,
    )?;
    // SAFETY: an all-zero `ifreq` is valid; the name is cut before the end of its field and so
    // stays terminated; the kernel reads the structure only during the call.
    unsafe {
        let mut request = MaybeUninit::<libc::ifreq>::zeroed().assume_init();
        for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1]
            .iter_mut()
            .zip(name.bytes())
        {
            *to = from as libc::c_char;
        }
        fill(&mut request.ifr_ifru);
        if libc::ioctl(socket.as_raw_fd(), order as _, &request) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
