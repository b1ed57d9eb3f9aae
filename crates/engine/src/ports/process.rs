use crate::CancelToken;
use drive_core::Problem;
use drive_core::process::{Limits, ProcessIdentity, ProcessReport};
use std::ffi::OsString;
use std::path::PathBuf;

/// One child to start. Nothing is inherited: the environment is exactly `env`.
#[derive(Clone, Debug)]
pub struct CommandSpec {
    /// The program: a path, or a name looked up in `PATH` of `env`.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its working folder.
    pub cwd: PathBuf,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// What it reads.
    pub stdin: Stdin,
    /// What it may use.
    pub limits: Limits,
    /// What it may touch.
    pub isolation: Isolation,
    /// Where its logs and its report are written; `None` keeps nothing on disk.
    pub log_dir: Option<PathBuf>,
    /// What leftovers mean.
    pub leaks: LeakPolicy,
    /// What happens to it when drive dies.
    pub orphans: OrphanPolicy,
}

/// What a child reads on its standard input.
#[derive(Clone, Debug)]
pub enum Stdin {
    /// Nothing: end of file at once.
    Null,
    /// These bytes, then end of file.
    Bytes(Vec<u8>),
    /// Frames sent while it runs, for agents that are spoken to.
    Channel,
}

/// What a child may touch. Empty lists restrict nothing.
#[derive(Clone, Debug, Default)]
pub struct Isolation {
    /// Only these folders may be written (and below).
    pub writable: Vec<PathBuf>,
    /// These may not even be read.
    pub hidden: Vec<PathBuf>,
    /// What it may reach.
    pub network: Network,
    /// Refuse to start when a layer is missing.
    pub required: bool,
}

/// What a child may reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Everything the machine can.
    #[default]
    Open,
    /// Its own loopback only.
    Off,
}

/// What processes left behind by a leader mean. They are always killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeakPolicy {
    /// The end is `leakedProcesses`.
    Fail,
    /// The end is the leader's, and the report counts them.
    Kill,
}

/// What happens to the tree when drive itself dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrphanPolicy {
    /// The helper ends it at once.
    End,
    /// The helper goes on within the limits; the next drive finds its report.
    Continue,
}

/// Which stream bytes came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Receives output while the child runs. A slow sink slows the child, never fills memory.
pub trait OutputSink {
    /// Bytes as they came; a chunk may end anywhere.
    fn chunk(&mut self, stream: Stream, bytes: &[u8]);
}

/// The one way to start a child.
pub trait ProcessRunner: Send + Sync {
    /// Runs it to its end.
    ///
    /// `started` is called with the identity before the child executes its first instruction, so
    /// that the identity is journaled before the child counts as running; an error there means the
    /// child never runs.
    fn run(
        &self,
        spec: &CommandSpec,
        cancel: &CancelToken,
        started: &mut dyn FnMut(ProcessIdentity) -> Result<(), Problem>,
        sink: &mut dyn OutputSink,
    ) -> Result<ProcessReport, Problem>;
}
