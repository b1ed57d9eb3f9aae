use crate::{CancelToken, StdinSource};
use drive_core::Problem;
use drive_core::network::{NetworkAccess, Reach, Refused};
use drive_core::process::{
    Layer, LeakPolicy, Limits, Presence, ProcessIdentity, ProcessReport, Stream,
};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// One child to start. Nothing is inherited: the environment is exactly `env`.
#[derive(Clone, Debug)]
pub struct CommandSpec {
    /// The program: a path, or a name looked up in `PATH` of `env`.
    pub program: OsString,
    /// The arguments.
    pub args: Vec<OsString>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The complete environment.
    pub env: Vec<(OsString, OsString)>,
    /// Standard input.
    pub stdin: Stdin,
    /// The limits.
    pub limits: Limits,
    /// The containment.
    pub containment: Containment,
    /// Access to files and the network. Only a full containment can enforce it.
    pub isolation: Isolation,
    /// The folder for its logs (`stdout.log`, `stderr.log`) and its report (`report.json`); `None`
    /// keeps nothing on disk.
    pub log_dir: Option<PathBuf>,
    /// The treatment of leaked processes.
    pub leaks: LeakPolicy,
    /// The fate of the process when drive dies.
    pub orphans: OrphanPolicy,
}

impl CommandSpec {
    /// A fully contained command with an empty environment, no input, default limits, and no
    /// restriction on what it may touch.
    pub fn new(program: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            env: Vec::new(),
            stdin: Stdin::Null,
            limits: Limits::default(),
            containment: Containment::Full,
            isolation: Isolation::default(),
            log_dir: None,
            leaks: LeakPolicy::Fail,
            orphans: OrphanPolicy::End,
        }
    }

    /// The same command with these arguments added.
    #[must_use]
    pub fn args<T: Into<OsString>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// The same command with one more environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }
}

/// The degree to which a child is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Containment {
    /// By a helper process and every layer the machine has: agents, stages, anything foreign.
    Full,
    /// Only a process group, at nearly the cost of a plain start, for trusted short tools. Memory
    /// and process limits are not enforced, a process with its own session escapes, and nothing
    /// ends the tree when drive dies.
    Light,
}

/// The standard input of a child.
#[derive(Clone, Debug)]
pub enum Stdin {
    /// Nothing: end of file at once.
    Null,
    /// These bytes, then end of file.
    Bytes(Vec<u8>),
    /// Bytes that are sent while it runs, for agents that are spoken to: see
    /// [`crate::stdin_channel`].
    Channel(StdinSource),
}

/// The isolation of a child. With [`Writes::Only`] nothing exists for it but the system's programs and
/// settings, and what is named here; everything but the writable folders is read-only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Isolation {
    /// Write access.
    pub writes: Writes,
    /// A private folder for temporary files: created when absent, writable, and named by `TMPDIR`.
    /// It appears as `/tmp` as well.
    pub tmp: Option<PathBuf>,
    /// These may not be written even inside a writable folder.
    pub protected: Vec<PathBuf>,
    /// These are covered where a folder that is visible holds them: a home below `/opt`, a password
    /// in a tool chain's folder.
    pub hidden: Vec<PathBuf>,
    /// These can be read, besides the system, the program, the working folder and what is writable.
    pub shown: Vec<PathBuf>,
    /// These can be changed without being changed for others.
    pub layered: Vec<LayeredFolder>,
    /// Network access.
    pub network: NetworkAccess,
    /// Hosts that can be reached by name where the network is off.
    pub reach: Reach,
    /// Report the names it looks up also where it reaches no host.
    pub reports_names: bool,
    /// Refuse to start when a layer that this command asks for is missing.
    pub required: bool,
}

/// A shared folder that appears with a private layer over it: what is written goes into the layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LayeredFolder {
    /// The shared folder, which is only read.
    #[serde(with = "drive_core::serde_path")]
    pub lower: PathBuf,
    /// The path at which it appears: a folder that exists.
    #[serde(with = "drive_core::serde_path")]
    pub at: PathBuf,
    /// A folder for the layer, which the child does not see; created when absent.
    #[serde(with = "drive_core::serde_path")]
    pub layer: PathBuf,
    /// Whether it is of use where it can only be read; else it is left out there.
    pub is_useful_read_only: bool,
}

/// Write access of a child.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Writes {
    /// Everywhere its user may write.
    #[default]
    Anywhere,
    /// In these folders and below, and in the private temporary folder; an empty list is a
    /// read-only role.
    Only(#[serde(with = "drive_core::serde_path::list")] Vec<PathBuf>),
}

/// The fate of the process tree when drive itself dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OrphanPolicy {
    /// The helper ends it at once.
    End,
    /// The helper continues within the limits; the next drive process finds its report.
    Continue,
}

/// Receives output while the child runs. A slow sink slows the child, never fills memory.
pub trait OutputSink {
    /// Bytes as they came; a chunk may end anywhere.
    fn chunk(&mut self, stream: Stream, bytes: &[u8]);

    /// A host that the child wanted and did not reach.
    fn refused(&mut self, _: &Refused) {}

    /// Whether chunks are wanted at all: without, output goes to the log and the tail only, which
    /// is faster.
    fn wanted(&self) -> bool {
        true
    }
}

/// Wants no output: the tails in the report are enough.
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard;

impl OutputSink for Discard {
    fn chunk(&mut self, _: Stream, _: &[u8]) {}

    fn wanted(&self) -> bool {
        false
    }
}

/// Collects both streams up to a size, for tools whose whole answer is needed.
#[derive(Clone, Debug, Default)]
pub struct Collect {
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// Bytes that did not fit.
    pub dropped_bytes: u64,
    limit: usize,
}

impl Collect {
    /// Keeps at most `limit` bytes of each stream.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }
}

impl OutputSink for Collect {
    fn chunk(&mut self, stream: Stream, bytes: &[u8]) {
        let kept = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let take = bytes.len().min(self.limit.saturating_sub(kept.len()));
        kept.extend_from_slice(&bytes[..take]);
        self.dropped_bytes += (bytes.len() - take) as u64;
    }
}

/// Journals the identity of a child that is about to run.
pub type Started<'a> = dyn FnMut(&ProcessIdentity) -> Result<(), Problem> + 'a;

/// The one way to start a child.
pub trait ProcessRunner: Send + Sync {
    /// Runs it to its end.
    ///
    /// `started` is called with the identity before a fully contained child executes its first
    /// instruction, so that the identity is journaled before the child counts as running; an error
    /// there means the child never runs (a light child, which is already running, is killed).
    ///
    /// What keeps a child from starting (no such program, no such folder, a required layer that is
    /// missing) is a `Problem`; whatever happens after that is a report.
    fn run(
        &self,
        spec: &CommandSpec,
        cancel: &CancelToken,
        started: &mut Started<'_>,
        sink: &mut dyn OutputSink,
    ) -> Result<ProcessReport, Problem>;

    /// Whether a recorded child, or its helper, still runs.
    fn inspect(&self, identity: &ProcessIdentity) -> Presence;

    /// Ends what is left of a recorded child's tree. Never touches a process that merely got the
    /// same pid. Fine when nothing is left; returns how many processes were killed.
    fn end(&self, identity: &ProcessIdentity) -> Result<u32, Problem>;

    /// The report a helper wrote after drive died; `None` when there is none.
    fn load_report(&self, identity: &ProcessIdentity) -> Result<Option<ProcessReport>, Problem>;

    /// Lists the containment layers that this machine offers.
    fn probe(&self) -> Vec<Layer>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_keeps_the_start_and_counts_what_did_not_fit() {
        let mut sink = Collect::new(4);
        sink.chunk(Stream::Stdout, b"abc");
        sink.chunk(Stream::Stdout, b"def");
        sink.chunk(Stream::Stderr, b"x");
        assert_eq!(
            (sink.stdout, sink.stderr, sink.dropped_bytes),
            (b"abcd".to_vec(), b"x".to_vec(), 2)
        );
    }
}
