//! Starts children, contained or light, and finds out what this machine can contain.

use super::supervise::{NOTHING, SUPERVISE};
use super::{StandIns, full, leftover, light, log};
use crate::entropy::random_u32;
use crate::files;
use drive_core::problem::Problem;
use drive_core::process::{Layer, LayerName, Limits, Presence, ProcessIdentity, ProcessReport};
use drive_engine::CancelToken;
use drive_engine::ports::{
    CommandSpec, Containment, Discard, Isolation, LayeredFolder, NetworkAccess, OutputSink,
    ProcessRunner, Started, Writes,
};
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::time::{Duration, Instant};

/// Runs children within limits.
#[derive(Clone, Debug)]
pub struct BoundedRunner {
    helper: Vec<OsString>,
    stand_ins: StandIns,
}

impl BoundedRunner {
    /// A runner whose helper is the running binary. Its `main` must first call
    /// [`supervise_if_asked`](super::supervise_if_asked) .
    pub fn new() -> Self {
        Self::with_helper("/proc/self/exe")
    }

    /// A runner that uses another binary as its helper.
    pub fn with_helper(program: impl Into<OsString>) -> Self {
        Self {
            helper: vec![program.into(), SUPERVISE.into()],
            stand_ins: StandIns::default(),
        }
    }

    /// The runner without some layers, like on a machine that lacks them.
    #[must_use]
    pub fn without(mut self, layers: &[LayerName]) -> Self {
        self.stand_ins.without.extend_from_slice(layers);
        self
    }

    /// The runner with a server that acts as a host with a public address.
    #[must_use]
    pub fn with_host(mut self, name: &str, server: SocketAddr) -> Self {
        self.stand_ins.pins.push((name.to_owned(), server));
        self
    }
}

impl Default for BoundedRunner {
    fn default() -> Self {
        Self::new()
    }
}

impl ProcessRunner for BoundedRunner {
    fn run(
        &self,
        spec: &CommandSpec,
        cancel: &CancelToken,
        started: &mut Started<'_>,
        sink: &mut dyn OutputSink,
    ) -> Result<ProcessReport, Problem> {
        let start = Instant::now();
        let ended = match spec.containment {
            Containment::Full => {
                full::run(&self.helper, &self.stand_ins, spec, cancel, started, sink)
            }
            Containment::Light => light::run(spec, cancel, started, sink),
        };
        log::ended(spec, start.elapsed(), &ended);
        ended
    }

    fn inspect(&self, identity: &ProcessIdentity) -> Presence {
        leftover::inspect(identity)
    }

    fn end(&self, identity: &ProcessIdentity) -> Result<u32, Problem> {
        leftover::end(identity)
    }

    fn load_report(&self, identity: &ProcessIdentity) -> Result<Option<ProcessReport>, Problem> {
        leftover::load_report(identity)
    }

    /// Asks the kernel instead of guessing: runs a program that does nothing with every layer; its
    /// report says which layers were in force.
    fn probe(&self) -> Vec<Layer> {
        let missing = |why: &str| {
            LayerName::ALL
                .into_iter()
                .map(|name| Layer::missing(name, why))
                .collect()
        };
        // The helper resolves this path, so it names the helper's own binary.
        let mut spec = CommandSpec::new("/proc/self/exe", "/").args([NOTHING]);
        spec.limits = Limits {
            wall: Duration::from_secs(10),
            memory_bytes: Some(256 << 20),
            processes: Some(16),
            disk_bytes: Some(1 << 30),
            files: Some(1000),
            ..Limits::default()
        };
        let number = random_u32().unwrap_or(std::process::id());
        let folder = std::env::temp_dir().join(format!("drive-probe-{number:08x}"));
        let made = DirBuilder::new().mode(0o700).create(&folder);
        let shared = folder.join("shared");
        let _ = std::fs::create_dir(&shared);
        spec.isolation = Isolation {
            writes: Writes::Only(Vec::new()),
            layered: vec![LayeredFolder {
                lower: shared.clone(),
                at: shared,
                layer: folder.join("layer"),
                is_useful_read_only: false,
            }],
            network: NetworkAccess::Off,
            ..Isolation::default()
        };
        let ran = self.run(&spec, &CancelToken::new(), &mut |_| Ok(()), &mut Discard);
        if made.is_ok() {
            let _ = files::remove_tree(&folder);
        }
        match ran {
            Ok(report) => report.layers,
            Err(problem) => missing(&problem.to_string()),
        }
    }
}
