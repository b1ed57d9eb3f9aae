//! System calls that a confined child is refused. All others are allowed: a list of allowed calls
//! would break with every new libc. A refused call returns an error that programs know how to
//! handle, instead of causing a signal.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter, sock_filter,
};
use std::collections::BTreeMap;
use std::io;

/// libc lacks it on some architectures; the number is the same on all.
const OPEN_TREE_ATTR: i64 = 467;

/// Keys, kernel memory and code, mounts, handles that go around paths, other namespaces, quotas,
/// swap, the clock, and watching or tuning the whole machine.
const REFUSED: [i64; 42] = [
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_userfaultfd,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_open_by_handle_at,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_fanotify_init,
    libc::SYS_reboot,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    libc::SYS_lookup_dcookie,
];

/// Port access of old processors.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: [i64; 2] = [libc::SYS_iopl, libc::SYS_ioperm];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: [i64; 0] = [];

/// Calls that programs can do without: their flags and commands are in memory, which no filter can read.
const ABSENT: [i64; 4] = [
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Creates a time namespace; in `clone` this bit belongs to the signal.
const NEW_TIME: i32 = 0x80;

/// Commands that insert input into a terminal as its user, `TIOCSTI` and `TIOCLINUX`. Their types
/// differ between libcs.
const TERMINAL_INPUT: [u64; 2] = [0x5412, 0x541c];

/// The allowed socket families. The list excludes sockets to the host of a virtual machine.
const FAMILIES: [i32; 4] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Applies the filters to the calling process and all its future children.
pub(super) fn refuse() -> io::Result<()> {
    for program in filters()? {
        apply_filter(&program).map_err(io::Error::other)?;
    }
    Ok(())
}

fn filters() -> io::Result<Vec<BpfProgram>> {
    let whole = |calls: &[i64]| {
        calls
            .iter()
            .map(|call| (*call, Vec::new()))
            .collect::<Rules>()
    };
    let mut refused = whole(&REFUSED);
    refused.extend(whole(&REFUSED_HERE));
    let bits = |all: &[i32]| {
        all.iter()
            .map(|bit| rule(0, has_bit(*bit)))
            .collect::<io::Result<Vec<_>>>()
    };
    let unshared = [&NAMESPACES[..], &[NEW_TIME]].concat();
    let typed = TERMINAL_INPUT
        .iter()
        .map(|order| rule(1, (SeccompCmpOp::Eq, *order)));
    refused.insert(libc::SYS_clone, bits(&NAMESPACES)?);
    refused.insert(libc::SYS_unshare, bits(&unshared)?);
    refused.insert(libc::SYS_ioctl, typed.collect::<io::Result<_>>()?);
    let other = FAMILIES
        .iter()
        .map(|family| (SeccompCmpOp::Ne, *family as u64));
    let other: io::Result<Vec<SeccompCondition>> = other.map(|one| condition(0, one)).collect();
    let other = SeccompRule::new(other?).map_err(io::Error::other)?;
    let families = BTreeMap::from([(libc::SYS_socket, vec![other])]);
    let mut all = vec![
        compile(refused, libc::EPERM)?,
        compile(whole(&ABSENT), libc::ENOSYS)?,
        compile(families, libc::EAFNOSUPPORT)?,
    ];
    if cfg!(target_arch = "x86_64") {
        all.push(without_x32());
    }
    Ok(all)
}

fn has_bit(bit: i32) -> (SeccompCmpOp, u64) {
    let bit = u64::from(bit as u32);
    (SeccompCmpOp::MaskedEq(bit), bit)
}

fn rule(argument: u8, compare: (SeccompCmpOp, u64)) -> io::Result<SeccompRule> {
    SeccompRule::new(vec![condition(argument, compare)?]).map_err(io::Error::other)
}

/// A condition on the lower 32 bits of an argument, which are all that the kernel reads.
fn condition(argument: u8, (how, value): (SeccompCmpOp, u64)) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, how, value).map_err(io::Error::other)
}

fn compile(rules: Rules, errno: i32) -> io::Result<BpfProgram> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let refuse = SeccompAction::Errno(errno as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch);
    let program: Result<BpfProgram, _> = filter.map_err(io::Error::other)?.try_into();
    let mut program = program.map_err(io::Error::other)?;
    // The crate kills a process that makes a call of another architecture; such calls must look
    // nonexistent instead.
    match program.get_mut(2) {
        Some(end) if end.k == libc::SECCOMP_RET_KILL_PROCESS => end.k = absent(),
        Some(_) | None => return Err(io::Error::other("a filter of another form")),
    }
    Ok(program)
}

fn absent() -> u32 {
    libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32
}

/// Refuses the second set of call numbers on x86-64, which would bypass every other rule.
fn without_x32() -> BpfProgram {
    const X32: u32 = 0x4000_0000;
    let step = |code: u32, jt: u8, jf: u8, k: u32| sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    vec![
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, absent()),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}
