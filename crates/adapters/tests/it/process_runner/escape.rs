//! Tests attacks on the confinement. Each attack runs twice, as root and as an ordinary user: confined it
//! must fail, and unconfined (the control) it must succeed, otherwise it would prove nothing.

use crate::process_runner::attacks::{Attack, Control, FILES, KERNEL, MEMORY, NETWORK, SERVERS};
use crate::process_runner::support::{Scene, is_root};
use drive_core::network::{AllowedHost, REGISTRIES, Reach, parse_host};
use drive_core::process::{LayerName, LayerState};
use drive_engine::ports::{Isolation, ProcessRunner, Writes};
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Functions that every attack can use.
pub(super) const PRELUDE: &str = r#"
import ctypes, glob, os, platform, socket, stat, struct, sys
T, TOKEN = os.environ["TARGET"], os.environ["TOKEN"]
VICTIM, PORT, KEY, TTY = int(os.environ["VICTIM"]), int(os.environ["PORT"]), int(os.environ["KEY"]), os.environ["VICTIM_TTY"]
ADDRESS, UDP = os.environ["ADDRESS"], int(os.environ["UDP"])
libc = ctypes.CDLL(None, use_errno=True)
ARM = platform.machine() == "aarch64"
def call(x86, arm, *args):
    return libc.syscall(ctypes.c_long(arm if ARM else x86), *args)
def talk(address):
    s = socket.socket(socket.AF_UNIX); s.settimeout(5); s.connect(address); return True
def datagram(to, message):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2); s.sendto(message, to); return len(s.recv(99)) > 0
def reads(path, what):
    with open(path, "rb") as f: return what.encode() in f.read(1 << 20)
def opens(path, flags): os.close(os.open(path, flags)); return True
def shm(key):
    libc.shmat.restype = ctypes.c_void_p
    segment = libc.shmget(key, 0, 0)
    if segment < 0: return False
    at = libc.shmat(segment, None, 0)
    return ctypes.string_at(at, len(TOKEN)).decode() == TOKEN
def tiocsti():
    import fcntl, pty, termios
    pid, master = pty.fork()
    if pid == 0:
        try: fcntl.ioctl(0, termios.TIOCSTI, b"x")
        except OSError: os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0
def moved():
    os.rename(T + "/shown", T + "/shown.old"); os.symlink("/etc", T + "/shown"); return True
def chmod():
    os.chmod(T + "/beside/secret", 0o777); return True
def planted():
    open("/tmp/" + TOKEN, "w").close(); return True
"#;

/// If set, a machine that lacks a layer fails the tests: nothing is skipped silently.
pub(super) const EVERY_LAYER: &str = "DRIVE_TEST_EVERY_LAYER";

/// A process outside that owns objects which an attack may target, until it is dropped.
const VICTIM: &str = r#"
import ctypes, os, sys, time
token, key = os.environ["TOKEN"], int(os.environ["KEY"])
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
segment = libc.shmget(key, 4096, 0o1600)
ctypes.memmove(libc.shmat(segment, None, 0), token.encode(), len(token))
libc.msgget(key, 0o1600)
with open("/dev/shm/" + token, "w") as f: f.write(token)
master, terminal = os.openpty()
print(os.ttyname(terminal), flush=True)
sys.stdin.read()
libc.shmctl(segment, 0, None)
libc.msgctl(libc.msgget(key, 0), 0, None)
os.unlink("/dev/shm/" + token)
"#;

/// Everything outside that is attacked.
pub(super) struct World {
    pub(super) scene: Scene,
    pub(super) secret: String,
    pub(super) target: PathBuf,
    victim: Child,
    terminal: String,
    port: u16,
    tmux: PathBuf,
    address: IpAddr,
    udp: u16,
    _servers: Vec<UnixListener>,
    _tcp: TcpListener,
}

impl World {
    pub(super) fn new() -> Self {
        let scene = Scene::new();
        // Not the token by which survivors are found, because the victim lives on.
        let secret = scene.token.replace("token", "secret");
        let target = scene.path().canonicalize().unwrap();
        let tmux = Path::new("/tmp").join(format!("tmux-{}", secret));
        for folder in [
            "box",
            "shown",
            "beside/.git",
            "home/.ssh",
            "tmp",
            "state/runs/other/home",
            "sandboxes/other",
        ] {
            fs::create_dir_all(target.join(folder)).unwrap();
        }
        fs::create_dir(&tmux).unwrap();
        for (file, text) in [
            ("home/.ssh/id", "secret"),
            ("home/.bashrc", ""),
            ("beside/.git/config", "token"),
            ("beside/secret", ""),
            ("state/drive.db", "secret"),
            ("state/marker.key", "secret"),
            ("state/runs/other/home/login", "secret"),
            ("sandboxes/other/work.txt", "secret"),
        ] {
            fs::write(target.join(file), text).unwrap();
        }
        let paths = [
            target.join("beside/docker.sock"),
            target.join("shown/dbus.sock"),
            target.join("home/.ssh/agent.sock"),
            tmux.join("default"),
        ];
        let mut servers: Vec<UnixListener> = paths
            .iter()
            .map(|path| UnixListener::bind(path).unwrap())
            .collect();
        let hidden = SocketAddr::from_abstract_name(&secret).unwrap();
        servers.push(UnixListener::bind_addr(&hidden).unwrap());
        let tcp = TcpListener::bind("[::]:0").or_else(|_| TcpListener::bind("0.0.0.0:0"));
        let tcp = tcp.unwrap();
        let (address, udp) = (own_address(), echo());
        let mut victim = Command::new("/usr/bin/python3")
            .args(["-c", VICTIM])
            .env("TOKEN", &secret)
            .env("KEY", Self::key())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut terminal = String::new();
        let out = victim.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut terminal).unwrap();
        Self {
            port: tcp.local_addr().unwrap().port(),
            terminal: terminal.trim().to_owned(),
            scene,
            secret,
            target,
            victim,
            tmux,
            address,
            udp,
            _servers: servers,
            _tcp: tcp,
        }
    }

    fn key() -> String {
        (0x0d00_0000 + std::process::id()).to_string()
    }

    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("PATH", "/usr/bin:/bin".to_owned()),
            ("TARGET", self.target.display().to_string()),
            ("TOKEN", self.secret.clone()),
            ("VICTIM", self.victim.id().to_string()),
            ("VICTIM_TTY", self.terminal.clone()),
            ("PORT", self.port.to_string()),
            ("KEY", Self::key()),
            ("ADDRESS", self.address.to_string()),
            ("UDP", self.udp.to_string()),
        ]
    }

    fn code(attack: &Attack) -> String {
        format!(
            "{PRELUDE}\ntry: came = {}\nexcept OSError as e: came = False; print(repr(e), file=sys.stderr)\nprint('ESCAPED' if came else 'held')\n",
            attack.code
        )
    }

    fn confined(&self, attack: &Attack) -> String {
        let mut spec = self
            .scene
            .command("/usr/bin/python3")
            .args(["-c", &Self::code(attack)]);
        spec.cwd = self.target.join("box");
        for (name, value) in self.variables() {
            spec = spec.env(name, value);
        }
        spec = spec.env("CONFINED", "1");
        spec.isolation = Isolation {
            writes: Writes::Only(vec![self.target.join("box")]),
            tmp: Some(self.target.join("tmp")),
            shown: vec![self.target.join("shown")],
            hidden: vec![self.target.join("home")],
            network: attack.network,
            reach: if attack.by_name {
                reach()
            } else {
                Reach::default()
            },
            required: true,
            ..Isolation::default()
        };
        let report = self.scene.try_run(&spec).unwrap();
        let said = report.stdout.tail_text() + &report.stderr.tail_text();
        assert!(
            !Path::new("/tmp").join(&self.secret).exists(),
            "{}",
            attack.name
        );
        said
    }

    fn control(&self, attack: &Attack) -> String {
        let output = Command::new("/usr/bin/python3")
            .args(["-c", &Self::code(attack)])
            .current_dir(self.target.join("box"))
            .env_clear()
            .envs(self.variables())
            .output()
            .unwrap();
        let _ = fs::remove_file(Path::new("/tmp").join(&self.secret));
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }
}

fn reach() -> Reach {
    let registries = REGISTRIES.iter().map(|host| AllowedHost::public(host));
    let pattern = parse_host("*.allowed.example").unwrap().named();
    Reach {
        hosts: registries.chain([pattern]).collect(),
        proxy: None,
    }
}

/// An address of the machine outside of its loopback, if it has one. No packet is sent.
fn own_address() -> IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    match socket.connect("192.0.2.1:9") {
        Ok(()) => socket.local_addr().unwrap().ip(),
        Err(_) => Ipv4Addr::LOCALHOST.into(),
    }
}

/// A UDP server on every address, which runs as long as the tests.
fn echo() -> u16 {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut message = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut message) {
            let _ = socket.send_to(&message[..length], from);
        }
    });
    port
}

impl Drop for World {
    fn drop(&mut self) {
        drop(self.victim.stdin.take());
        let _ = self.victim.wait();
        let _ = fs::remove_dir_all(&self.tmux);
    }
}

/// Whether this machine supports the complete confinement; otherwise prints what is missing.
pub(super) fn is_complete(world: &World) -> bool {
    let layers = world.scene.runner.probe();
    let missing = layers.iter().find_map(|layer| match &layer.state {
        LayerState::Missing(why) if layer.name != LayerName::OwnUser => Some((layer.name, why)),
        LayerState::Missing(_) | LayerState::Active => None,
    });
    let needed = missing.filter(|(name, _)| {
        ![
            LayerName::CgroupKill,
            LayerName::CgroupMemory,
            LayerName::CgroupProcesses,
        ]
        .contains(name)
    });
    if let Some((name, why)) = needed {
        lacking(name, why);
    }
    needed.is_none()
}

/// Prints that a test proves nothing on a machine without this layer, and fails if every layer is
/// required. An ordinary user may have no control group.
pub(crate) fn lacking(layer: LayerName, why: impl std::fmt::Display) {
    let is_group = [
        LayerName::CgroupKill,
        LayerName::CgroupMemory,
        LayerName::CgroupProcesses,
    ]
    .contains(&layer);
    let is_excused = is_group && !is_root();
    assert!(
        is_excused || std::env::var_os(EVERY_LAYER).is_none(),
        "`{}` is missing: {why}",
        layer.as_str()
    );
    eprintln!("skipped: `{}` is missing: {why}", layer.as_str());
}

fn try_all(attacks: &[Attack]) {
    let world = World::new();
    if !is_complete(&world) {
        return;
    }
    let mut wrong = Vec::new();
    for attack in attacks {
        let confined = world.confined(attack);
        if !confined.starts_with("held\n") {
            wrong.push(format!("{}: came through: {confined}", attack.name));
        }
        if attack.control == Control::Root && !is_root() {
            continue;
        }
        let control = world.control(attack);
        if control.starts_with("ESCAPED\n") {
            continue;
        }
        let is_strict = std::env::var_os(EVERY_LAYER).is_some() && is_root();
        let is_absent = control.contains("FileNotFoundError");
        if attack.control == Control::WhereTheKernelHasIt && (is_absent || !is_strict) {
            eprintln!("skipped: no control here: {}: {control}", attack.name);
        } else {
            wrong.push(format!("{}: the control failed: {control}", attack.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

everyone! {
    fn no_server_of_the_machine_can_be_reached() {
        try_all(&SERVERS);
    }

    fn no_server_can_be_reached_beside_the_hosts_that_have_a_name() {
        try_all(&NETWORK);
    }

    fn no_memory_terminal_key_or_process_of_others_can_be_reached() {
        try_all(&MEMORY);
    }

    fn no_system_call_leads_out_of_the_layers() {
        try_all(&KERNEL);
    }

    fn no_file_outside_can_be_read_changed_or_planted() {
        try_all(&FILES);
    }
}
