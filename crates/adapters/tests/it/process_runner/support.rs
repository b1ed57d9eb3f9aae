//! Shared parts of all scenarios: a second run as an ordinary user, a private folder, and a proof
//! that no process survived.

use crate::process_runner::escape::EVERY_LAYER;
use drive_adapters::process::BoundedRunner;
use drive_core::Problem;
use drive_core::process::{Layer, LayerName, Limits, ProcessReport};
use drive_engine::CancelToken;
use drive_engine::ports::{CommandSpec, Discard, OutputSink, ProcessRunner};
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// An id that belongs to no account.
const ORDINARY: u32 = 54_321;
/// Set in the second run.
const SECOND_RUN: &str = "DRIVE_TEST_ORDINARY_USER";
/// The path of the helper binary for the second run.
pub(crate) const HELPER: &str = "DRIVE_TEST_HELPER";

/// The ways of containing a tree, from all layers to a bare sweep. The last two differ only for a
/// user who has control groups.
pub(crate) const WAYS: [(&str, &[LayerName]); 4] = [
    ("all layers", &[]),
    (
        "PID namespace",
        &[LayerName::CgroupKill, LayerName::SignalScope],
    ),
    ("cgroup", &[LayerName::PidNamespace, LayerName::SignalScope]),
    (
        "sweep",
        &[
            LayerName::PidNamespace,
            LayerName::SignalScope,
            LayerName::CgroupKill,
        ],
    ),
];

/// Whether a layer was in force for this child.
pub(crate) fn is_active(report: &ProcessReport, name: LayerName) -> bool {
    report.layers.contains(&Layer::active(name))
}

/// Runs a scenario as the current user, and if that is root, as an ordinary user as well.
macro_rules! everyone {
    ($(fn $name:ident() $body:block)*) => { $(
        #[test]
        fn $name() {
            crate::process_runner::support::everyone(concat!(module_path!(), "::", stringify!($name)), || $body);
        }
    )* };
}

pub(crate) fn everyone(test: &str, scenario: impl FnOnce()) {
    scenario();
    if is_root() {
        as_ordinary_user(test);
    }
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs the same test in a new process. Both binaries are reached through descriptors, because the
/// ordinary user may have no access to the build folder.
fn as_ordinary_user(test: &str) {
    let (_, test) = test.split_once("::").unwrap();
    let helper = File::open(env!("CARGO_BIN_EXE_drive-supervise")).unwrap();
    rustix::io::fcntl_setfd(&helper, rustix::io::FdFlags::empty()).unwrap();
    let output = Command::new("/proc/self/exe")
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env_clear()
        .env(SECOND_RUN, "1")
        .envs(std::env::var_os(EVERY_LAYER).map(|flag| (EVERY_LAYER, flag)))
        .env(HELPER, format!("/proc/self/fd/{}", helper.as_raw_fd()))
        .current_dir("/")
        .uid(ORDINARY)
        .gid(ORDINARY)
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && stdout.contains("1 passed"),
        "as an ordinary user:\n{stdout}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

pub(crate) fn helper() -> OsString {
    std::env::var_os(HELPER).unwrap_or_else(|| env!("CARGO_BIN_EXE_drive-supervise").into())
}

/// A private folder, a runner, and a token that every process of the scenario carries.
pub(crate) struct Scene {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) runner: BoundedRunner,
    pub(crate) token: String,
}

impl Scene {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            folder: tempfile::tempdir().unwrap(),
            runner: BoundedRunner::with_helper(helper()),
            token: format!("drive-token-{}-{number}", std::process::id()),
        }
    }

    pub(crate) fn without(layers: &[LayerName]) -> Self {
        let mut scene = Self::new();
        scene.runner = scene.runner.without(layers);
        scene
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A command with the token, a plain `PATH`, and short but generous limits.
    pub(crate) fn command(&self, program: &str) -> CommandSpec {
        let mut spec = CommandSpec::new(program, self.path())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("DRIVE_TOKEN", &self.token);
        spec.limits = Limits {
            wall: Duration::from_secs(60),
            grace: Duration::from_millis(300),
            drain: Duration::from_millis(300),
            ..Limits::default()
        };
        spec
    }

    pub(crate) fn shell(&self, script: &str) -> CommandSpec {
        self.command("sh").args(["-c", script])
    }

    pub(crate) fn perl(&self, script: &str) -> CommandSpec {
        self.command("perl").args(["-e", script])
    }

    pub(crate) fn run(&self, spec: &CommandSpec) -> ProcessReport {
        self.try_run(spec).unwrap()
    }

    pub(crate) fn try_run(&self, spec: &CommandSpec) -> Result<ProcessReport, Problem> {
        self.run_into(spec, &CancelToken::new(), &mut Discard)
    }

    /// Runs the command, and asserts that no process remains when it returns.
    pub(crate) fn run_into(
        &self,
        spec: &CommandSpec,
        cancel: &CancelToken,
        sink: &mut dyn OutputSink,
    ) -> Result<ProcessReport, Problem> {
        let mut cgroups: Vec<PathBuf> = Vec::new();
        let result = self.runner.run(
            spec,
            cancel,
            &mut |identity| {
                cgroups = identity.cgroups.clone();
                Ok(())
            },
            sink,
        );
        assert_eq!(survivors(&self.token), Vec::<String>::new());
        for group in cgroups {
            assert!(!group.exists(), "{} is left", group.display());
        }
        result
    }
}

/// Every living process with the token in its environment or arguments.
pub(crate) fn survivors(token: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let folder = entry.path();
        let holds = |file: &str| {
            let bytes = fs::read(folder.join(file)).unwrap_or_default();
            bytes
                .windows(token.len())
                .any(|window| window == token.as_bytes())
        };
        let is_self = entry.file_name().to_str() == Some(&std::process::id().to_string());
        if !is_self && (holds("environ") || holds("cmdline")) {
            let name = fs::read_to_string(folder.join("stat")).unwrap_or_default();
            found.push(name);
        }
    }
    found
}
