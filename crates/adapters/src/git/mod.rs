//! The one builder for every git call.
//!
//! Nothing of the caller's `GIT_*` environment, locale, hooks, monitors, filters or pagers reaches a
//! call. Answers are read from exit codes and from formats made for programs, never from messages.

mod absorb;
mod answer;
mod branch;
mod call;
mod case_clash;
mod commit;
mod config;
mod config_cache;
mod credentials;
mod descent;
mod discover;
mod environment;
mod history;
mod ignored_files;
mod location;
mod lock;
mod login;
mod merge;
mod merge_tree;
mod messages;
mod object_folders;
mod raw_commits;
mod remote;
mod sandbox;
mod scratch;
mod signing;
mod stage;
mod stale_lock;
mod state;
mod sweep;
mod take;
mod tracked;
mod unpublished;
mod usual;

pub use answer::Answer;
pub use call::{Call, Touches};
pub use config::Overrides;
pub(crate) use config::{Entry as Setting, last as last_setting};
use config_cache::ConfigCache;
use drive_core::ids::{BranchName, CommitSha, RemoteName};
pub use login::GitLogin;

use crate::Environment;
use crate::environment::{HOME, PATH};
use crate::tool_paths;
use drive_core::Problem;
use drive_core::forge::inert::Said;
use drive_core::process::{Layer, LayerName, ProcessIdentity, missing_essentials};
use drive_core::review::Change;
use drive_core::run::CommitSummary;
use drive_core::sandbox::{Brought, Sandbox};
use drive_engine::CancelToken;
use drive_engine::ports::{
    CollectedWork, CommitObject, DiffStats, IsolationMode, Leftovers, MergeCommit, Merged, Place,
    ProcessRunner, Push, Pushed, Repository, VersionControl, WorkState,
};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long each kind of call may take.
#[derive(Clone, Copy, Debug)]
pub struct Deadlines {
    /// A question about refs and objects.
    pub quick: Duration,
    /// For calls that read or write a whole tree.
    pub tree: Duration,
    /// For calls that use a remote.
    pub network: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            quick: Duration::from_secs(60),
            tree: Duration::from_secs(30 * 60),
            network: Duration::from_secs(10 * 60),
        }
    }
}

/// Git, through the bounded runner.
#[derive(Clone)]
pub struct Git {
    runner: Arc<dyn ProcessRunner>,
    local: Vec<(OsString, OsString)>,
    confined: Vec<(OsString, OsString)>,
    network: Vec<(OsString, OsString)>,
    signing: Vec<(OsString, OsString)>,
    deadlines: Deadlines,
    isolation: IsolationMode,
    /// The most bytes that git in a sandbox may add to its disk.
    disk_bytes: u64,
    missing: Arc<Mutex<BTreeSet<LayerName>>>,
    cancel: CancelToken,
    config_cache: ConfigCache,
    logins: login::Logins,
    /// The user's home, which confined git does not see.
    home: Option<PathBuf>,
    /// The folders of the search path, where git itself may be.
    tools: Vec<PathBuf>,
}

impl Git {
    /// Git with what the allow-lists take from `environment`.
    pub fn new(runner: Arc<dyn ProcessRunner>, environment: &Environment) -> Self {
        Self {
            runner,
            local: environment::local(environment),
            confined: environment::confined(environment),
            tools: tool_paths::of_search_path(
                environment.get(PATH).unwrap_or_default(),
                environment.absolute_path(HOME).as_deref(),
            ),
            home: environment.absolute_path(HOME),
            network: environment::network(environment),
            signing: environment::signing(environment),
            deadlines: Deadlines::default(),
            isolation: IsolationMode::Auto,
            disk_bytes: call::CONFINED_DISK,
            missing: Arc::default(),
            cancel: CancelToken::new(),
            config_cache: ConfigCache::default(),
            logins: login::Logins::default(),
        }
    }

    /// The same git with other deadlines.
    #[must_use]
    pub fn with_deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// The same git, which refuses to work in a sandbox where isolation is required and a layer of
    /// it is missing.
    #[must_use]
    pub fn with_isolation(mut self, mode: IsolationMode) -> Self {
        self.isolation = mode;
        self
    }

    /// The same git, which may add this many bytes to the disk when it works in a sandbox.
    #[must_use]
    pub fn with_disk_limit(mut self, bytes: u64) -> Self {
        self.disk_bytes = bytes;
        self
    }

    /// Remembers what git in a sandbox went without. Where no control group counts, limits are
    /// polled, and hold as well.
    fn note_missing(&self, layers: &[Layer]) {
        let missing = missing_essentials(layers, true).map(|layer| layer.name);
        let mut all = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(
            missing.filter(|name| {
                !matches!(name, LayerName::CgroupMemory | LayerName::CgroupProcesses)
            }),
        );
    }

    /// The layers that git in sandboxes went without so far.
    pub(crate) fn missing_layers(&self) -> Vec<LayerName> {
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing.iter().copied().collect()
    }

    /// The same git, whose talk with remotes ends when `cancel` asks for it. Everything else is
    /// short, and needed to save work after a stop was asked for.
    #[must_use]
    pub fn with_cancel(mut self, cancel: CancelToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// A call in a place.
    pub fn call(&self, place: Place<'_>, touches: Touches) -> Call<'_> {
        Call::new(self, Location::of(place), touches)
    }

    /// What `head` changes against `base`, as git prints it, up to a size; and whether it is longer.
    pub fn patch(
        &self,
        place: Place<'_>,
        base: &CommitSha,
        head: &CommitSha,
        most_bytes: usize,
    ) -> Result<(Vec<u8>, bool), Problem> {
        history::patch(self, &Location::history_of(place), base, head, most_bytes)
    }

    /// The commit of the branch that work usually goes to; `None` where there is no such branch.
    pub fn main_tip(&self, repo: &Path) -> Result<Option<CommitSha>, Problem> {
        usual::main_tip(self, &Location::checkout(repo))
    }

    /// Ends a recorded git that outlived its drive. Fine when it is gone.
    pub(crate) fn end(&self, identity: &ProcessIdentity) -> Result<(), Problem> {
        self.runner.end(identity).map(drop)
    }

    /// The user's home.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Where git looks for the user's own files by itself.
    pub(crate) fn settings_folder(&self) -> PathBuf {
        let named = self
            .local
            .iter()
            .find(|(name, _)| name == "XDG_CONFIG_HOME");
        let below = named.map(|(_, folder)| PathBuf::from(folder));
        let home = || self.home.clone().unwrap_or_default().join(".config");
        below.unwrap_or_else(home).join("git")
    }

    /// A call at explicit folders, for sandboxes on their way in or out.
    pub(crate) fn call_at(&self, location: Location, touches: Touches) -> Call<'_> {
        Call::new(self, location, touches)
    }
}

/// Whether objects may be missing in a repository and come from a remote when they are needed.
pub(crate) fn is_partial(git: &Git, location: &Location) -> Result<bool, Problem> {
    load_settings(git, location).map(|settings| config::is_partial_clone(&settings))
}

/// What lies in a place and is nobody's work there.
fn brought(place: Place<'_>) -> &[Brought] {
    match place {
        Place::Checkout(_) => &[],
        Place::Sandbox(sandbox) => &sandbox.brought,
    }
}

impl VersionControl for Git {
    fn discover(&self, path: &Path) -> Result<Repository, Problem> {
        discover::discover(self, path)
    }

    fn resolve(&self, place: Place<'_>, revision: &str) -> Result<CommitSha, Problem> {
        history::resolve(self, &Location::history_of(place), revision)
    }

    fn state(&self, place: Place<'_>) -> Result<WorkState, Problem> {
        match place {
            Place::Checkout(_) => state::load(self, &Location::of(place)),
            Place::Sandbox(sandbox) => sandbox::load_state(self, sandbox),
        }
    }

    fn collect_work(
        &self,
        place: Place<'_>,
        leftovers: &Leftovers,
        base: &str,
    ) -> Result<CollectedWork, Problem> {
        commit::collect(self, place, leftovers, base)
    }

    fn make_messages_inert(
        &self,
        sandbox: &Sandbox,
        base: &CommitSha,
        said: &Said,
        remote: Option<&RemoteName>,
    ) -> Result<usize, Problem> {
        let judged = Judged {
            git: self,
            sandbox,
            inside: &Location::inside(&sandbox.path, &sandbox.git_dir),
            base,
            said,
            remote,
        };
        judged.make_inert()
    }

    fn commits(
        &self,
        place: Place<'_>,
        base: &str,
        head: &str,
    ) -> Result<Vec<CommitSummary>, Problem> {
        history::commits(self, &Location::history_of(place), base, head)
    }

    fn diff_stats(&self, place: Place<'_>, base: &str, head: &str) -> Result<DiffStats, Problem> {
        history::diff_stats(self, &Location::history_of(place), base, head)
    }

    fn diff(&self, place: Place<'_>, base: &str, head: &str) -> Result<Change, Problem> {
        history::diff(self, &Location::history_of(place), base, head)
    }

    fn read_file(
        &self,
        place: Place<'_>,
        commit: &str,
        path: &str,
        limit: u64,
    ) -> Result<Option<String>, Problem> {
        history::read_file(self, &Location::history_of(place), commit, path, limit)
    }

    fn plain_files(
        &self,
        place: Place<'_>,
        commit: &str,
        names: &[&str],
        limit: u64,
    ) -> Result<Vec<(String, String)>, Problem> {
        history::plain_files(self, &Location::history_of(place), commit, names, limit)
    }

    fn changed_paths(
        &self,
        place: Place<'_>,
        base: &str,
        head: &str,
    ) -> Result<Vec<PathBuf>, Problem> {
        history::changed_paths(self, &Location::history_of(place), base, head)
    }

    fn merge_base(&self, place: Place<'_>, a: &str, b: &str) -> Result<Option<CommitSha>, Problem> {
        history::merge_base(self, &Location::history_of(place), a, b)
    }

    fn commit_object(&self, place: Place<'_>, commit: &CommitSha) -> Result<CommitObject, Problem> {
        history::commit_object(self, &Location::history_of(place), commit)
    }

    fn is_ancestor(
        &self,
        place: Place<'_>,
        ancestor: &str,
        descendant: &str,
    ) -> Result<bool, Problem> {
        history::is_ancestor(self, &Location::history_of(place), ancestor, descendant)
    }

    fn users_tip(&self, sandbox: &Sandbox, head: &CommitSha) -> Result<Option<CommitSha>, Problem> {
        sandbox::users_tip(self, sandbox, head)
    }

    fn advance_branch(
        &self,
        place: Place<'_>,
        branch: &BranchName,
        from: &CommitSha,
        to: &CommitSha,
    ) -> Result<(), Problem> {
        match place {
            Place::Checkout(_) => branch::advance(self, &Location::of(place), branch, from, to),
            // The agent may have renamed or deleted its own one.
            Place::Sandbox(sandbox) => {
                self.call(place, Touches::Objects)
                    .args(["update-ref", "--no-deref", &branch.full(), to])
                    .ok()?;
                sandbox::put_branch(self, sandbox, to)
            }
        }
    }

    fn create_branch(
        &self,
        place: Place<'_>,
        branch: &BranchName,
        at: &CommitSha,
    ) -> Result<(), Problem> {
        branch::create(self, &Location::history_of(place), branch, at)
    }

    fn merge_commits(
        &self,
        place: Place<'_>,
        ours: &CommitSha,
        theirs: &CommitSha,
        leftovers: &Leftovers,
    ) -> Result<MergeCommit, Problem> {
        merge_tree::merge_commits(self, place, (ours, theirs), leftovers)
    }

    fn remote_url(&self, place: Place<'_>, remote: &RemoteName) -> Result<Option<String>, Problem> {
        remote::url(self, &Location::history_of(place), remote)
    }

    fn fetch(&self, place: Place<'_>, remote: &RemoteName) -> Result<(), Problem> {
        remote::fetch(self, &Location::history_of(place), remote)
    }

    fn fetch_branch(
        &self,
        place: Place<'_>,
        remote: &RemoteName,
        branch: &BranchName,
    ) -> Result<Option<CommitSha>, Problem> {
        remote::fetch_branch(self, &Location::history_of(place), remote, branch)
    }

    fn conflicts(
        &self,
        place: Place<'_>,
        ours: &CommitSha,
        theirs: &CommitSha,
    ) -> Result<Vec<PathBuf>, Problem> {
        merge::conflicts(self, &Location::history_of(place), ours, theirs)
    }

    fn merge(
        &self,
        place: Place<'_>,
        theirs: &CommitSha,
        leftovers: &Leftovers,
    ) -> Result<Merged, Problem> {
        if let Place::Sandbox(sandbox) = place {
            sandbox::pin_theirs(self, sandbox, theirs)?;
        }
        merge::merge(
            self,
            &Location::of(place),
            theirs,
            leftovers,
            brought(place),
        )
    }

    fn conclude_merge(
        &self,
        place: Place<'_>,
        ours: &CommitSha,
        theirs: &CommitSha,
        leftovers: &Leftovers,
    ) -> Result<Merged, Problem> {
        let sides = merge::Sides { ours, theirs };
        merge::conclude(
            self,
            &Location::of(place),
            &sides,
            leftovers,
            brought(place),
        )
    }

    fn remote_head(
        &self,
        place: Place<'_>,
        remote: &RemoteName,
        branch: &BranchName,
    ) -> Result<Option<CommitSha>, Problem> {
        remote::head(self, &Location::history_of(place), remote, branch)
    }

    fn unpublished(
        &self,
        place: Place<'_>,
        push: &Push,
        base: &CommitSha,
        merged: Option<&CommitSha>,
    ) -> Result<Vec<u8>, Problem> {
        unpublished::unpublished(self, &Location::history_of(place), push, base, merged)
    }

    fn push(&self, place: Place<'_>, push: &Push) -> Result<Pushed, Problem> {
        remote::push(self, &Location::history_of(place), push)
    }
}

pub(crate) use absorb::{absorb, has_unpushed};
pub(crate) use call::{load_config as load_settings, path_from};
pub(crate) use commit::{commit_tree, commit_tree_at};
pub(crate) use discover::{Look, filters_of, look_at, tree_bytes};
pub(crate) use history::{committed_at, is_ancestor, resolve, unbranched, unpushed};
pub(crate) use ignored_files::{IgnoredFiles, stamp_of};
pub(crate) use location::{Confined, Location, Pinned};
pub(crate) use lock::ref_problem;
pub(crate) use merge_tree::{Trial, merge_tree};
pub(crate) use messages::Judged;
pub(crate) use object_folders::{as_file, object_folders};
pub(crate) use sandbox::{bring_out, head_of, own_tip, pin_of, put_branch, take, theirs_of};
pub(crate) use scratch::ScratchIndex;
pub(crate) use signing::{signed, try_signing};
pub(crate) use stage::stage;
pub(crate) use stale_lock::remove_if_stale;
pub(crate) use state::{
    Status, has_reftable, head_branch, in_progress, load_head, load_in_progress, status,
};
pub(crate) use sweep::sweep_takes;
pub(crate) use take::{Held, Take};
pub(crate) use tracked::{Tracked, declared, has_entry};
pub(crate) use usual::usual_bases;
