use super::answer::Answer;
use super::builder::Git;
use super::location::{Confined, Location};
use super::object_folders::as_variable;
use super::{config, stale_lock};
use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};
use drive_core::process::{DiskBound, End, LeakPolicy, Limits};
use drive_engine::CancelToken;
use drive_engine::ports::{
    Collect, CommandSpec, Containment, Isolation, IsolationMode, NetworkAccess, OrphanPolicy,
    OutputSink, Place, Started, Stdin, Stream, Writes,
};
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// What a call accesses. This decides which programs are disabled and how long it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touches {
    /// Only refs, objects and settings.
    Objects,
    /// Files of a worktree: filters and drivers do not run.
    Files,
    /// A remote: credentials are passed on, and programs named by the repository are not run.
    Network,
}

/// How many bytes a call may print before it is ended.
const OUTPUT_CAP: usize = 256 << 20;
/// How much memory git in a sandbox, with everything it starts, may use.
const CONFINED_MEMORY: u64 = 4 << 30;
/// How many processes git in a sandbox may have at the same time.
const CONFINED_PROCESSES: u32 = 256;

/// A git call that is being built.
pub struct Call<'a> {
    git: &'a Git,
    location: Location,
    touches: Touches,
    args: Vec<OsString>,
    config: Vec<(String, String)>,
    env: Vec<(OsString, OsString)>,
    stdin: Stdin,
    entries: Option<Vec<config::Entry>>,
    cancel: CancelToken,
}

impl Git {
    /// A call in this place.
    pub fn call(&self, place: Place<'_>, touches: Touches) -> Call<'_> {
        Call::new(self, Location::of(place), touches)
    }

    /// A call with explicit folders, for sandboxes that are being created or removed.
    pub(crate) fn call_at(&self, location: Location, touches: Touches) -> Call<'_> {
        Call::new(self, location, touches)
    }
}

/// Passes on standard output as it arrives, and collects standard error.
struct EachChunk<'a> {
    on_stdout: &'a mut dyn FnMut(&[u8]),
    rest: Collect,
}

impl OutputSink for EachChunk<'_> {
    fn chunk(&mut self, stream: Stream, bytes: &[u8]) {
        match stream {
            Stream::Stdout => (self.on_stdout)(bytes),
            Stream::Stderr => self.rest.chunk(stream, bytes),
        }
    }
}

impl<'a> Call<'a> {
    pub(super) fn new(git: &'a Git, location: Location, touches: Touches) -> Self {
        Self {
            git,
            location,
            touches,
            args: Vec::new(),
            config: Vec::new(),
            env: Vec::new(),
            stdin: Stdin::Null,
            entries: None,
            cancel: CancelToken::new(),
        }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<T: Into<OsString>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds a setting for this call, which overrides all others.
    #[must_use]
    pub fn config(mut self, key: &str, value: &str) -> Self {
        self.config.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Sets a variable for this call.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Sets the standard input.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Stdin::Bytes(bytes.into());
        self
    }

    /// Makes a stop request end the call.
    #[must_use]
    pub(crate) fn interruptible(mut self) -> Self {
        self.cancel = self.git.cancel.clone();
        self
    }

    /// Passes the current settings of a caller that has just read them.
    #[must_use]
    pub(super) fn knowing(mut self, entries: &[config::Entry]) -> Self {
        self.entries = Some(entries.to_vec());
        self
    }

    /// Runs the call; any exit code is an answer.
    pub fn run(self) -> Result<Answer, Problem> {
        self.run_recorded(&mut |_| Ok(()))
    }

    /// Runs the call; `started` records the process, so that it can be ended if it outlives drive.
    pub(crate) fn run_recorded(mut self, started: &mut Started<'_>) -> Result<Answer, Problem> {
        let overrides = self.overrides()?;
        self.config.splice(0..0, overrides.pairs);
        let mut answer = self.start(started)?;
        // In a sandbox, an agent may have caused git's message.
        let is_own_word = self.location.confined.is_none();
        if answer.code != 0 && is_own_word && stale_lock::remove_stale(&answer, &self.location) {
            answer = self.start(started)?;
        }
        answer.withheld = overrides.withheld;
        Ok(answer)
    }

    /// Runs the call; fails if the exit code is not 0.
    pub fn ok(self) -> Result<Answer, Problem> {
        self.run()?.require()
    }

    /// Runs the call and passes on standard output of any length as it arrives; fails if the exit
    /// code is not 0.
    pub(super) fn each_chunk(mut self, on_stdout: &mut dyn FnMut(&[u8])) -> Result<(), Problem> {
        let overrides = self.overrides()?;
        self.config.splice(0..0, overrides.pairs);
        let mut sink = EachChunk {
            on_stdout,
            rest: Collect::new(OUTPUT_CAP),
        };
        let mut spec = self.spec();
        spec.limits.output_bytes = u64::MAX;
        let code = self.run_into(&spec, &mut |_| Ok(()), &mut sink)?;
        self.answer(code, sink.rest).require().map(drop)
    }

    /// Runs the call; exit code 0 is true, 1 is false, and any other is a problem.
    pub fn yes(self) -> Result<bool, Problem> {
        let answer = self.run()?;
        match answer.code {
            0 => Ok(true),
            1 => Ok(false),
            _ => Err(answer.problem()),
        }
    }

    /// Runs the call; returns its one line of text.
    pub fn line(self) -> Result<String, Problem> {
        self.ok().map(|answer| answer.line())
    }

    /// Runs the call; returns the id of a commit, or `None` for exit code 1.
    pub fn optional_sha(self) -> Result<Option<CommitSha>, Problem> {
        let answer = self.run()?;
        match answer.code {
            0 => answer.sha().map(Some),
            1 => Ok(None),
            _ => Err(answer.problem()),
        }
    }

    /// Runs the call; returns its one line, or `None` for exit code 1.
    pub fn optional_line(self) -> Result<Option<String>, Problem> {
        let answer = self.run()?;
        match answer.code {
            0 => Ok(Some(answer.line()).filter(|line| !line.is_empty())),
            1 => Ok(None),
            _ => Err(answer.problem()),
        }
    }

    fn overrides(&mut self) -> Result<config::Overrides, Problem> {
        // Programs that the settings of a sandbox start are confined like git itself.
        if self.location.confined.is_some() {
            return Ok(config::Overrides::default());
        }
        let runs_hooks = config::runs_hooks(&self.asked());
        if self.touches == Touches::Objects && !runs_hooks {
            return Ok(config::Overrides::default());
        }
        let entries = match self.entries.take() {
            Some(entries) => entries,
            None => load_config(self.git, &self.location)?,
        };
        let hooks = config::hook_overrides(&entries);
        if self.touches == Touches::Objects {
            return Ok(hooks);
        }
        let mut overrides = config::content_overrides(&entries);
        overrides.pairs.extend(hooks.pairs);
        if config::is_partial_clone(&entries) {
            self.touches = Touches::Network;
        }
        if self.touches == Touches::Network {
            let network = config::network_overrides(&entries);
            if config::last(&entries, "core.sshcommand").is_none() {
                overrides.set("core.sshcommand", "ssh -o BatchMode=yes");
            }
            overrides.pairs.extend(network.pairs);
            overrides.withheld.extend(network.withheld);
            overrides.pairs.extend(self.git.login_settings());
        }
        Ok(overrides)
    }

    fn start(&self, started: &mut Started<'_>) -> Result<Answer, Problem> {
        let mut sink = Collect::new(OUTPUT_CAP);
        let code = self.run_into(&self.spec(), started, &mut sink)?;
        if sink.dropped_bytes > 0 {
            return Err(too_much(&self.asked()));
        }
        Ok(self.answer(code, sink))
    }

    /// The command's name.
    fn asked(&self) -> String {
        let first = self.args.first();
        first.map_or(String::new(), |arg| arg.to_string_lossy().into_owned())
    }

    fn answer(&self, code: i32, said: Collect) -> Answer {
        Answer {
            code,
            stdout: said.stdout,
            stderr: said.stderr,
            withheld: Vec::new(),
            asked: self.asked(),
        }
    }

    /// Runs the call to its exit code.
    fn run_into(
        &self,
        spec: &CommandSpec,
        started: &mut Started<'_>,
        sink: &mut dyn OutputSink,
    ) -> Result<i32, Problem> {
        let asked = self.asked();
        let report = self.git.runner.run(spec, &self.cancel, started, sink)?;
        if self.location.confined.is_some() {
            self.git.note_missing(&report.layers);
        }
        match report.end {
            End::Exited { code } => Ok(code),
            End::Aborted => Err(Problem::new(
                Kind::Interrupted,
                format!("`git {asked}` was interrupted"),
            )),
            End::TimedOut { .. } => Err(timed_out(&asked, spec.limits.wall)),
            End::OutputLimit => Err(too_much(&asked)),
            End::DiskLimit {
                bound: DiskBound::FreeBytes(_) | DiskBound::FreeFiles(_),
            } => Err(disk_full(&self.location.dir)),
            End::Signalled { .. }
            | End::LeakedProcesses { .. }
            | End::MemoryLimit
            | End::ProcessLimit
            | End::DiskLimit {
                bound: DiskBound::Bytes(_) | DiskBound::Files(_),
            }
            | End::Infra { .. } => Err(Problem::new(
                Kind::GitFailed,
                format!("`git {asked}` was killed: {}", report.end.name()),
            )),
        }
    }

    fn spec(&self) -> CommandSpec {
        let mut spec = CommandSpec::new("git", &self.location.dir);
        spec.args = self.args.clone();
        spec.env = self.environment();
        spec.stdin = self.stdin.clone();
        spec.containment = match &self.location.confined {
            None => Containment::Light,
            Some(confined) => {
                spec.isolation = self.isolation(confined);
                Containment::Full
            }
        };
        spec.leaks = LeakPolicy::Kill;
        spec.orphans = OrphanPolicy::End;
        let is_confined = self.location.confined.is_some();
        spec.limits = Limits {
            wall: self.deadline(),
            memory_bytes: is_confined.then_some(CONFINED_MEMORY),
            processes: is_confined.then_some(CONFINED_PROCESSES),
            // This also leaves some space on the disk for others.
            disk_bytes: is_confined.then_some(self.git.disk_bytes),
            output_bytes: 2 * OUTPUT_CAP as u64,
            tail_bytes: 4096,
            ..Limits::default()
        };
        spec
    }

    fn isolation(&self, confined: &Confined) -> Isolation {
        Isolation {
            writes: Writes::Only(vec![confined.folder.clone()]),
            hidden: self.git.home.iter().cloned().collect(),
            shown: self
                .git
                .tools
                .iter()
                .chain(&confined.objects)
                .cloned()
                .collect(),
            network: NetworkAccess::Off,
            required: self.git.isolation == IsolationMode::Require,
            ..Isolation::default()
        }
    }

    fn deadline(&self) -> Duration {
        match self.touches {
            Touches::Objects => self.git.deadlines.quick,
            Touches::Files => self.git.deadlines.tree,
            Touches::Network => self.git.deadlines.network,
        }
    }

    fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut env = match (self.touches, &self.location.confined) {
            (_, Some(_)) => self.git.confined.clone(),
            (Touches::Objects | Touches::Files, None) => self.git.local.clone(),
            (Touches::Network, None) => self.git.network.clone(),
        };
        let mut set = |name: &str, value: &OsStr| env.push((name.into(), value.to_owned()));
        if let Some(pinned) = &self.location.pinned {
            set("GIT_DIR", pinned.git_dir.as_os_str());
            set("GIT_COMMON_DIR", pinned.common_dir.as_os_str());
            if let Some(work_tree) = &pinned.work_tree {
                set("GIT_WORK_TREE", work_tree.as_os_str());
            }
        }
        if let Some(confined) = &self.location.confined {
            let borrowed = as_variable(&confined.objects);
            set("GIT_ALTERNATE_OBJECT_DIRECTORIES", &borrowed);
        }
        // Settings are passed in the environment: a key may contain `=`, and other users can read arguments.
        let work_tree = self.location.pinned.as_ref();
        let work_tree = work_tree.and_then(|pinned| pinned.work_tree.as_deref());
        let ignores_case = work_tree.map(|folder| {
            if ignores_case(folder) {
                ("core.ignoreCase", "true")
            } else {
                ("core.ignoreCase", "false")
            }
        });
        let fixed = config::ALWAYS.iter().copied().chain(ignores_case);
        let own = self.config.iter().map(|(k, v)| (k.as_str(), v.as_str()));
        let mut count = 0;
        for (index, (key, value)) in fixed.chain(own).enumerate() {
            set(&format!("GIT_CONFIG_KEY_{index}"), OsStr::new(key));
            set(&format!("GIT_CONFIG_VALUE_{index}"), OsStr::new(value));
            count = index + 1;
        }
        set("GIT_CONFIG_COUNT", OsStr::new(&count.to_string()));
        env.extend(self.env.iter().cloned());
        env
    }
}

/// Whether the repository is a partial clone, whose missing objects git fetches when needed.
pub(crate) fn is_partial(git: &Git, location: &Location) -> Result<bool, Problem> {
    load_config(git, location).map(|settings| config::is_partial_clone(&settings))
}

/// All settings in effect in a place. For a sandbox they are the user's, because an agent may have
/// changed the sandbox's own.
pub(crate) fn load_config(git: &Git, location: &Location) -> Result<Vec<config::Entry>, Problem> {
    if let Some(confined) = &location.confined {
        return load_config(git, &Location::bare(&confined.users));
    }
    git.config_cache.get_or_load(location, || {
        let answer = Call::new(git, location.clone(), Touches::Objects)
            .args(["config", "--list", "--show-scope", "-z", "--includes"])
            .ok()?;
        Ok(config::parse(&answer.stdout))
    })
}

/// Whether the file system of a worktree ignores case. If it does not, git must not either: it
/// would mistake a new file for a known one.
fn ignores_case(work_tree: &Path) -> bool {
    let look = |name: &str| work_tree.join(name).symlink_metadata().ok();
    let (Some(lower), Some(upper)) = (look(".git"), look(".GIT")) else {
        return false;
    };
    // A second hard link to the same file would look the same.
    (lower.dev(), lower.ino()) == (upper.dev(), upper.ino()) && lower.nlink() == 1
}

fn timed_out(asked: &str, wall: Duration) -> Problem {
    Problem::new(
        Kind::GitTimedOut,
        format!("`git {asked}` did not end within {} s", wall.as_secs()),
    )
    .hint("check whether another program blocks the repository, its disk or its remote")
}

/// The problem of a disk that is too full for git or drive to write.
pub(super) fn disk_full(at: &Path) -> Problem {
    Problem::new(
        Kind::DiskFull,
        format!("the disk of `{}` is full", at.display()),
    )
    .hint("free some space, then try again")
}

fn too_much(asked: &str) -> Problem {
    Problem::new(
        Kind::GitOutputTooLarge,
        format!("`git {asked}` printed more than {} MiB", OUTPUT_CAP >> 20),
    )
}

/// A path as text for a message.
pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
