//! The attacks that `escape` tries.

use drive_engine::ports::NetworkAccess;

/// A Python expression that is true if the attack succeeded.
pub(super) struct Attack {
    pub(super) name: &'static str,
    pub(super) code: &'static str,
    pub(super) network: NetworkAccess,
    /// Whether some hosts can be reached by name.
    pub(super) by_name: bool,
    /// For whom the unconfined control succeeds.
    pub(super) control: Control,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Control {
    Everyone,
    Root,
    /// Not every kernel has it, or lets every user have it: then the control meets something that is not
    /// there.
    WhereTheKernelHasIt,
}

const fn attack(name: &'static str, code: &'static str) -> Attack {
    Attack {
        name,
        code,
        network: NetworkAccess::Open,
        by_name: false,
        control: Control::Everyone,
    }
}

const fn offline(name: &'static str, code: &'static str) -> Attack {
    Attack {
        network: NetworkAccess::Off,
        ..attack(name, code)
    }
}

const fn named(name: &'static str, code: &'static str) -> Attack {
    Attack {
        by_name: true,
        ..offline(name, code)
    }
}

const fn named_if_there(name: &'static str, code: &'static str) -> Attack {
    Attack {
        control: Control::WhereTheKernelHasIt,
        ..named(name, code)
    }
}

const fn of_root(name: &'static str, code: &'static str) -> Attack {
    Attack {
        control: Control::Root,
        ..attack(name, code)
    }
}

const fn of_kernel(name: &'static str, code: &'static str) -> Attack {
    Attack {
        control: Control::WhereTheKernelHasIt,
        ..attack(name, code)
    }
}

pub(super) const SERVERS: [Attack; 11] = [
    attack(
        "a server's socket in a folder beside",
        r#"talk(T + "/beside/docker.sock")"#,
    ),
    offline(
        "a server's socket without a network",
        r#"talk(T + "/beside/docker.sock")"#,
    ),
    attack(
        "a server's socket in a folder that is shown",
        r#"talk(T + "/shown/dbus.sock")"#,
    ),
    offline(
        "a shown socket without a network",
        r#"talk(T + "/shown/dbus.sock")"#,
    ),
    attack(
        "a server's socket in /tmp, as of tmux",
        r#"talk("/tmp/tmux-" + TOKEN + "/default")"#,
    ),
    attack(
        "an ssh-agent in the home",
        r#"talk(T + "/home/.ssh/agent.sock")"#,
    ),
    attack("an abstract socket", r#"talk("\0" + TOKEN)"#),
    offline(
        "an abstract socket without a network",
        r#"talk("\0" + TOKEN)"#,
    ),
    offline(
        "the machine's loopback without a network",
        r#"socket.create_connection(("127.0.0.1", PORT), 5) is not None"#,
    ),
    of_kernel(
        "the host of a virtual machine",
        "socket.socket(40, socket.SOCK_STREAM) is not None",
    ),
    of_kernel(
        "raw packets",
        "socket.socket(17, socket.SOCK_RAW, 0) is not None",
    ),
];

/// Attacks while registries and a pattern can be reached by name.
pub(super) const NETWORK: [Attack; 11] = [
    named(
        "the machine's loopback, as of another run or of drive serve",
        r#"socket.create_connection(("127.0.0.1", PORT), 5) is not None"#,
    ),
    named(
        "the machine's loopback by another of its addresses",
        r#"socket.create_connection(("127.1.0.1", PORT), 5) is not None"#,
    ),
    named(
        "the machine's loopback by name",
        r#"socket.create_connection(("localhost", PORT), 5) is not None"#,
    ),
    named_if_there(
        "the machine's loopback by IPv6",
        r#"socket.create_connection(("::1", PORT), 5) is not None"#,
    ),
    named_if_there(
        "the machine's loopback in an IPv6 address",
        r#"socket.create_connection(("::ffff:127.0.0.1", PORT), 5) is not None"#,
    ),
    named(
        "an address without a name",
        "socket.create_connection((ADDRESS, PORT), 5) is not None",
    ),
    named_if_there(
        "the machine's own name",
        "socket.create_connection((socket.gethostname(), PORT), 5) is not None",
    ),
    named(
        "a datagram",
        r#"datagram(("127.0.0.1", UDP), TOKEN.encode())"#,
    ),
    named(
        "a question to a resolver outside",
        r#"datagram((ADDRESS, UDP), b"\1\2\1\0\0\1\0\0\0\0\0\0\6secret\6tunnel\7example\0\0\1\0\1")"#,
    ),
    named("an abstract socket beside names", r#"talk("\0" + TOKEN)"#),
    Attack {
        control: Control::Root,
        ..named(
            "raw packets beside names",
            "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1) is not None",
        )
    },
];

pub(super) const MEMORY: [Attack; 10] = [
    attack("shared memory of System V", "shm(KEY)"),
    attack("a message queue of System V", "libc.msgget(KEY, 0) >= 0"),
    attack(
        "shared memory of POSIX",
        r#"reads("/dev/shm/" + TOKEN, TOKEN)"#,
    ),
    attack("another's terminal", "opens(TTY, os.O_RDWR | os.O_NOCTTY)"),
    of_kernel("typing into a terminal", "tiocsti()"),
    attack(
        "the user's keys",
        r#"call(248, 217, b"user", TOKEN.encode(), b"x", ctypes.c_size_t(1), ctypes.c_int(-2)) >= 0"#,
    ),
    attack("the keyring", "call(250, 219, 0, -3, 1) >= 0"),
    attack(
        "another's environment",
        r#"reads("/proc/%d/environ" % VICTIM, TOKEN)"#,
    ),
    attack("another process", "os.kill(VICTIM, 0) is None"),
    attack(
        "another's memory map",
        r#"len(open("/proc/%d/maps" % VICTIM).read()) > 0"#,
    ),
];

pub(super) const KERNEL: [Attack; 11] = [
    of_kernel(
        "io_uring",
        "call(425, 425, 8, ctypes.create_string_buffer(256)) >= 0",
    ),
    of_kernel("a user namespace", "libc.unshare(0x10000000) == 0"),
    of_kernel(
        "a user namespace by clone",
        "call(56, 220, 0x10000000 | 17, 0, 0, 0, 0) >= 0",
    ),
    of_kernel("userfaultfd", "call(323, 282, 0) >= 0"),
    of_kernel(
        "perf events",
        "call(298, 241, ctypes.create_string_buffer(struct.pack('IIQ', 1, 112, 0), 128), 0, -1, -1, 0) >= 0",
    ),
    of_kernel(
        "bpf",
        "call(321, 280, 0, ctypes.create_string_buffer(struct.pack('IIII', 2, 4, 4, 1), 128), 128) >= 0",
    ),
    of_kernel(
        "the second numbers of x86-64",
        // A kernel without them says that there is no such call.
        r#"not ARM and (call(0x40000000 + 39, 0) > 0 or ctypes.get_errno() == 38 and opens("/no/such/call", 0))"#,
    ),
    of_root(
        "a mount",
        r#"libc.mount(b"none", (T + "/box").encode(), b"tmpfs", 0, None) == 0"#,
    ),
    of_root("another root", r#"libc.chroot(b"/usr") == 0"#),
    of_root(
        "capabilities",
        r#"[l for l in open("/proc/self/status") if l.startswith("CapEff")][0].split()[1].strip("0") != """#,
    ),
    of_root(
        "the clock",
        "libc.clock_settime(0, ctypes.create_string_buffer(struct.pack('qq', -1, 0))) == 0 or ctypes.get_errno() == 22",
    ),
];

pub(super) const FILES: [Attack; 18] = [
    attack(
        "a key in the home",
        r#"reads(T + "/home/.ssh/id", "secret")"#,
    ),
    attack("the home's list", r#"".bashrc" in os.listdir(T + "/home")"#),
    attack(
        "another repository",
        r#"reads(T + "/beside/.git/config", "token")"#,
    ),
    attack(
        "the state database",
        r#"reads(T + "/state/drive.db", "secret")"#,
    ),
    attack(
        "the key of markers",
        r#"reads(T + "/state/marker.key", "secret")"#,
    ),
    attack(
        "the home of another run",
        r#"reads(T + "/state/runs/other/home/login", "secret")"#,
    ),
    attack(
        "the sandbox of another run",
        r#"os.path.exists(os.path.join(T, "sandboxes/other/work.txt"))"#,
    ),
    attack("a mode outside", "chmod()"),
    attack("a folder that is shown, replaced by a link", "moved()"),
    attack(
        "something for the next run in /tmp",
        r#"planted() and not os.environ.get("CONFINED")"#,
    ),
    attack(
        "the machine's mounts",
        r#"any(TOKEN in l for l in open("/proc/1/mountinfo")) or os.path.isdir("/boot") or os.path.isdir("/var/lib")"#,
    ),
    of_root(
        "the machine's passwords",
        r#"reads("/etc/shadow", "root:")"#,
    ),
    of_root(
        "a disk",
        r#"any(stat.S_ISBLK(os.stat(p).st_mode) and opens(p, os.O_RDONLY) for p in glob.glob("/dev/[!l]*"))"#,
    ),
    of_root(
        "a kernel setting",
        r#"opens("/proc/sys/kernel/core_pattern", os.O_WRONLY)"#,
    ),
    of_kernel(
        "the kernel's orders",
        r#"opens("/proc/sysrq-trigger", os.O_WRONLY)"#,
    ),
    of_kernel(
        "the kernel's memory",
        r#"os.path.getsize("/proc/kcore") > 0 and opens("/proc/kcore", os.O_RDONLY)"#,
    ),
    of_root(
        "control groups",
        r#"any(opens(p, os.O_WRONLY) for p in glob.glob("/sys/fs/cgroup/*/cgroup.procs"))"#,
    ),
    of_root(
        "a device of its own",
        r#"os.mknod(T + "/box/null", stat.S_IFCHR | 0o600, os.makedev(1, 3)) is None"#,
    ),
];
