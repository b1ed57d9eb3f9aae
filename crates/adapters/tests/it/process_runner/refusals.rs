//! Tests machines that refuse a layer: a container's filter, disabled user namespaces, a kernel
//! without Landlock. The test starts itself again behind the real refusal.

use crate::process_runner::support::{HELPER, Scene};
use drive_core::problem::Kind;
use drive_core::process::{LayerName, LayerState};
use drive_engine::ports::{Isolation, NetworkAccess, ProcessRunner, Writes};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::Command;

/// Set in the second run.
const BEHIND: &str = "DRIVE_TEST_BEHIND_A_REFUSAL";

/// Becomes an ordinary user, sets something up, and becomes the program in its arguments. A filter
/// is a list of system calls, each with its error; `NAMESPACES` decides whether a clone with a new
/// namespace is refused.
const WRAPPER: &str = r#"
import ctypes, os, platform, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
ARM = platform.machine() == "aarch64"
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(54321); os.setuid(54321)
libc.prctl(4, 1, 0, 0, 0)
def install(calls, namespaces):
    code = [(0x20, 0, 0, 0)]
    for number, error in calls:
        code += [(0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | error)]
    if namespaces:
        code += [(0x15, 0, 3, 220 if ARM else 56), (0x20, 0, 0, 16), (0x45, 0, 1, 0x7E020000), (0x06, 0, 0, 0x50001)]
    code += [(0x06, 0, 0, 0x7FFF0000)]
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in code))
    program = ctypes.create_string_buffer(struct.pack("HP", len(code), ctypes.addressof(text)))
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0, ctypes.get_errno()
SETUP
os.execv(sys.argv[1], sys.argv[1:])
"#;

/// The filter of a container: no namespaces, and no newer call to create them.
const FILTER: &str = "install([(97 if ARM else 272, 1), (435, 38)], True)";
/// The same on a kernel without Landlock, which otherwise would prevent writes.
const NO_LANDLOCK: &str =
    "install([(97 if ARM else 272, 1), (435, 38), (444, 38), (445, 38), (446, 38)], True)";
/// Forbids user namespaces below one of the test's own.
const SWITCHED_OFF: &str = r#"
user, group = os.geteuid(), os.getegid()
if libc.unshare(0x10000000) != 0:
    print("skipped: no user namespaces here: 1 passed"); sys.exit(0)
for name, text in [("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")]:
    with open("/proc/self/" + name, "w") as file: file.write(text)
with open("/proc/sys/user/max_user_namespaces", "w") as file: file.write("0")
"#;

/// Whether this is the second run; the first one waits for it.
fn is_behind(setup: &str, test: &str) -> bool {
    if std::env::var_os(BEHIND).is_some() {
        return true;
    }
    let (_, module) = module_path!().split_once("::").unwrap();
    let inherited = |path: &str| {
        let file = File::open(path).unwrap();
        rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
        file
    };
    let helper = inherited(env!("CARGO_BIN_EXE_drive-supervise"));
    let own = inherited("/proc/self/exe");
    let at = |file: &File| format!("/proc/self/fd/{}", file.as_raw_fd());
    let output = Command::new("/usr/bin/python3")
        .args(["-c", &WRAPPER.replace("SETUP", setup), &at(&own)])
        .args(["--exact", &format!("{module}::{test}")])
        .args(["--nocapture", "--test-threads=1"])
        .env_clear()
        .env(BEHIND, "1")
        .env(HELPER, at(&helper))
        .current_dir("/")
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && stdout.contains("1 passed"),
        "{stdout}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    false
}

/// Asserts that the layer is missing for this reason, and that nothing starts if it is required.
fn assert_refused(name: LayerName, why: &str) {
    let scene = Scene::new();
    let layers = scene.runner.probe();
    let layer = layers.iter().find(|layer| layer.name == name).unwrap();
    let expected = format!("{why}; {}", name.consequence());
    assert_eq!(layer.state, LayerState::Missing(expected), "{layers:#?}");
    let mut spec = scene.shell("touch started");
    spec.isolation = Isolation {
        writes: Writes::Only(vec![scene.path().to_path_buf()]),
        network: NetworkAccess::Off,
        required: true,
        ..Isolation::default()
    };
    let refused = scene.try_run(&spec).unwrap_err();
    assert_eq!(refused.kind, Kind::IsolationMissing, "{refused:?}");
    assert!(!scene.path().join("started").exists());
}

#[test]
fn a_containers_filter_is_named_and_nothing_starts_where_layers_are_required() {
    let test = "a_containers_filter_is_named_and_nothing_starts_where_layers_are_required";
    if is_behind(FILTER, test) {
        assert_refused(
            LayerName::PidNamespace,
            "namespaces are refused: a container's filter or the kernel's security module",
        );
    }
}

#[test]
fn user_namespaces_that_are_switched_off_are_named() {
    let test = "user_namespaces_that_are_switched_off_are_named";
    if is_behind(SWITCHED_OFF, test) {
        assert_refused(
            LayerName::PidNamespace,
            "user namespaces are switched off (user.max_user_namespaces)",
        );
    }
}

#[test]
fn a_kernel_without_landlock_is_named() {
    let test = "a_kernel_without_landlock_is_named";
    if is_behind(NO_LANDLOCK, test) {
        assert_refused(LayerName::WriteScope, "the kernel has no Landlock");
    }
}
