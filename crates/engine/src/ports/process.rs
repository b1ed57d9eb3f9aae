use crate::{CancelToken, StdinSource};
use drive_core::Problem;
use drive_core::network::{NetworkAccess, Reach, Refused};
use drive_core::process::{
    Layer, LeakPolicy, Limits, Presence, ProcessIdentity, ProcessReport, Stream,
};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// One child to start. A child inherits nothing: the environment is exactly `env`.
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
    /// writes nothing to disk.
    pub log_dir: Option<PathBuf>,
    /// The treatment of leaked processes.
    pub leaks: LeakPolicy,
    /// What happens to the process when drive dies.
    pub orphans: OrphanPolicy,
}

impl CommandSpec {
    /// A fully contained command with an empty environment, no input, default limits, and
    /// unrestricted access.
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

    /// Adds these arguments.
    #[must_use]
    pub fn args<T: Into<OsString>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds one environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }
}

/// The degree to which a child is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Containment {
    /// By a helper process and every layer that the machine supports: for agents, stages and all
    /// other foreign programs.
    Full,
    /// Only a process group, at nearly the cost of a plain start, for trusted short tools. Memory
    /// and process limits are not enforced, a process with its own session escapes, and nothing
    /// ends the tree when drive dies.
    Light,
}

/// The standard input of a child.
#[derive(Clone, Debug)]
pub enum Stdin {
    /// Nothing: the child reads end of file immediately.
    Null,
    /// These bytes, then end of file.
    Bytes(Vec<u8>),
    /// Bytes that are sent while it runs, for interactive agents; see [`crate::stdin_channel`].
    Channel(StdinSource),
}

/// The isolation of a child. With [`Writes::Only`] the child only sees the system's programs and
/// settings, and the paths named here; everything but the writable folders is read-only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Isolation {
    /// Write access.
    pub writes: Writes,
    /// A private folder for temporary files: created if missing, writable, and the value of
    /// `TMPDIR`. It also appears as `/tmp`.
    pub tmp: Option<PathBuf>,
    /// Paths that may not be written even inside a writable folder.
    pub protected: Vec<PathBuf>,
    /// Paths that are hidden even inside a visible folder, such as a home below `/opt` or a
    /// password in a toolchain's folder.
    pub hidden: Vec<PathBuf>,
    /// Paths that can be read in addition to the system, the program, the working folder and
    /// everything writable.
    pub shown: Vec<PathBuf>,
    /// Folders whose changes only this child sees.
    pub layered: Vec<LayeredFolder>,
    /// Network access.
    pub network: NetworkAccess,
    /// Hosts that can be reached by name although the network is off.
    pub reach: Reach,
    /// Whether to report the names it looks up even if it may reach no host.
    pub reports_names: bool,
    /// Whether to refuse to start if a layer that this command needs is missing.
    pub required: bool,
}

/// A shared folder with a private layer on top, which receives all writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LayeredFolder {
    /// The shared folder, which is never written.
    #[serde(with = "drive_core::serde_path")]
    pub lower: PathBuf,
    /// The path at which it appears: a folder that exists.
    #[serde(with = "drive_core::serde_path")]
    pub at: PathBuf,
    /// The folder of the layer, which the child does not see; created if missing.
    #[serde(with = "drive_core::serde_path")]
    pub layer: PathBuf,
    /// Whether the shared folder is useful without a layer, read-only; else it is left out then.
    pub is_useful_read_only: bool,
}

/// Write access of a child.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Writes {
    /// Everywhere its user may write.
    #[default]
    Anywhere,
    /// In these folders and the private temporary folder; an empty list is for a read-only role.
    Only(#[serde(with = "drive_core::serde_path::list")] Vec<PathBuf>),
}

/// What happens to the process tree when drive dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OrphanPolicy {
    /// The helper ends it at once.
    End,
    /// The helper continues within the limits; the next drive process finds its report.
    Continue,
}

/// Receives output while the child runs. A slow sink slows down the child and never fills memory.
pub trait OutputSink {
    /// Output bytes; a chunk may end anywhere.
    fn chunk(&mut self, stream: Stream, bytes: &[u8]);

    /// A host that the child tried to reach and did not.
    fn refused(&mut self, _: &Refused) {}

    /// Whether the sink wants chunks. Otherwise output only goes to the log and the tail, which is faster.
    fn wanted(&self) -> bool {
        true
    }
}

/// A sink that ignores output, because the tails in the report are enough.
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard;

impl OutputSink for Discard {
    fn chunk(&mut self, _: Stream, _: &[u8]) {}

    fn wanted(&self) -> bool {
        false
    }
}

/// A sink that collects both streams up to a size, for tools whose complete output is needed.
#[derive(Clone, Debug, Default)]
pub struct Collect {
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// How many bytes did not fit.
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

/// Starts children. There is no other way to start one.
pub trait ProcessRunner: Send + Sync {
    /// Runs a child to its end.
    ///
    /// `started` is called with the identity before a fully contained child executes its first
    /// instruction, so that the identity is journaled before the child counts as running; an error
    /// there means the child never runs (a light child, which is already running, is killed).
    ///
    /// A child that cannot start (a missing program, folder or required layer) gives a `Problem`;
    /// everything after the start is in the report.
    fn run(
        &self,
        spec: &CommandSpec,
        cancel: &CancelToken,
        started: &mut Started<'_>,
        sink: &mut dyn OutputSink,
    ) -> Result<ProcessReport, Problem>;

    /// Whether a recorded child or its helper is still running.
    fn inspect(&self, identity: &ProcessIdentity) -> Presence;

    /// Ends the rest of a recorded child's tree. It never touches a process that only got the same
    /// pid. Returns how many processes were killed.
    fn end(&self, identity: &ProcessIdentity) -> Result<u32, Problem>;

    /// The report that a helper wrote after drive died; `None` if there is none.
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
