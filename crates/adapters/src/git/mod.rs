//! The one builder for every git call.
//!
//! Nothing of the caller's `GIT_*` environment, locale, hooks, monitors, filters or pagers reaches a
//! call. Answers are read from exit codes and from formats made for programs, never from messages.

mod call;
mod commit;
mod config;
mod config_cache;
mod credentials;
mod discover;
mod environment;
mod history;
mod ignored_files;
mod index;
mod index_flags;
mod lock;
mod merge;
mod refs_snapshot;
mod remote;
mod scratch;
mod stage;
mod stale_lock;
mod state;
mod tracked;
mod unpublished;

pub use call::{Answer, Call, Touches};
pub use config::Overrides;
use config_cache::ConfigCache;
use drive_core::ids::{BranchName, CommitSha, RemoteName};
pub(crate) use index::{Index, Stamp};

use crate::Environment;
use drive_core::Problem;
use drive_core::process::ProcessIdentity;
use drive_core::run::CommitSummary;
use drive_core::sandbox::{Brought, Sandbox};
use drive_engine::CancelToken;
use drive_engine::ports::{
    CollectedWork, DiffStats, DiffText, Leftovers, Merged, Place, ProcessRunner, Push, Pushed,
    Repository, Tips, VersionControl, WorkState,
};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
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
    network: Vec<(OsString, OsString)>,
    deadlines: Deadlines,
    cancel: CancelToken,
    config_cache: ConfigCache,
}

impl Git {
    /// Git with what the allow-lists take from `environment`.
    pub fn new(runner: Arc<dyn ProcessRunner>, environment: &Environment) -> Self {
        Self {
            runner,
            local: environment::local(environment),
            network: environment::network(environment),
            deadlines: Deadlines::default(),
            cancel: CancelToken::new(),
            config_cache: ConfigCache::default(),
        }
    }

    /// The same git with other deadlines.
    #[must_use]
    pub fn with_deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
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

    /// Ends a recorded git that outlived its drive. Fine when it is gone.
    pub(crate) fn end(&self, identity: &ProcessIdentity) -> Result<(), Problem> {
        self.runner.end(identity).map(drop)
    }

    /// A call at explicit folders, for worktrees on their way in or out.
    pub(crate) fn call_at(&self, location: Location, touches: Touches) -> Call<'_> {
        Call::new(self, location, touches)
    }
}

/// The folders of one call.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    /// Where git is started.
    pub(crate) dir: PathBuf,
    /// The folders git must not look up by itself.
    pub(crate) pinned: Option<Pinned>,
}

/// Git folders known from our own record rather than from a file in the worktree.
#[derive(Clone, Debug)]
pub(crate) struct Pinned {
    pub(crate) git_dir: PathBuf,
    pub(crate) common_dir: PathBuf,
    /// `None` when the worktree's folder is gone.
    pub(crate) work_tree: Option<PathBuf>,
}

impl Location {
    fn of(place: Place<'_>) -> Self {
        match place {
            Place::Checkout(dir) => Self::checkout(dir),
            Place::Sandbox(sandbox) => Self {
                dir: sandbox.path.clone(),
                pinned: Some(Pinned {
                    git_dir: sandbox.admin_dir.clone(),
                    common_dir: sandbox.git_dir.clone(),
                    work_tree: Some(sandbox.path.clone()),
                }),
            },
        }
    }

    /// A git folder that is not believed about where its work tree is.
    pub(crate) fn bare(git_dir: &Path) -> Self {
        Self {
            dir: git_dir.to_path_buf(),
            pinned: Some(Pinned {
                git_dir: git_dir.to_path_buf(),
                common_dir: git_dir.to_path_buf(),
                work_tree: None,
            }),
        }
    }

    pub(crate) fn checkout(dir: &Path) -> Self {
        Self {
            dir: dir.to_path_buf(),
            pinned: None,
        }
    }
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
        history::resolve(self, &Location::of(place), revision)
    }

    fn state(&self, place: Place<'_>) -> Result<WorkState, Problem> {
        state::load(self, &Location::of(place))
    }

    fn collect_work(
        &self,
        place: Place<'_>,
        leftovers: &Leftovers,
        base: &str,
    ) -> Result<CollectedWork, Problem> {
        commit::collect(self, &Location::of(place), leftovers, brought(place), base)
    }

    fn commits(
        &self,
        place: Place<'_>,
        base: &str,
        head: &str,
    ) -> Result<Vec<CommitSummary>, Problem> {
        history::commits(self, &Location::of(place), base, head)
    }

    fn unpushed(&self, place: Place<'_>) -> Result<Vec<CommitSummary>, Problem> {
        let (own, base) = match place {
            Place::Checkout(_) => (None, None),
            Place::Sandbox(sandbox) => (sandbox.branch.as_ref(), Some(sandbox.base_sha.as_str())),
        };
        history::unpushed(self, &Location::of(place), own, base)
    }

    fn diff_stats(&self, place: Place<'_>, base: &str, head: &str) -> Result<DiffStats, Problem> {
        history::diff_stats(self, &Location::of(place), base, head)
    }

    fn diff(
        &self,
        place: Place<'_>,
        base: &str,
        head: &str,
        limit: usize,
    ) -> Result<DiffText, Problem> {
        history::diff(self, &Location::of(place), base, head, limit)
    }

    fn read_file(
        &self,
        place: Place<'_>,
        commit: &str,
        path: &str,
        limit: u64,
    ) -> Result<Option<String>, Problem> {
        history::read_file(self, &Location::of(place), commit, path, limit)
    }

    fn changed_paths(
        &self,
        place: Place<'_>,
        base: &str,
        head: &str,
    ) -> Result<Vec<PathBuf>, Problem> {
        history::changed_paths(self, &Location::of(place), base, head)
    }

    fn merge_base(&self, place: Place<'_>, a: &str, b: &str) -> Result<Option<CommitSha>, Problem> {
        history::merge_base(self, &Location::of(place), a, b)
    }

    fn is_ancestor(
        &self,
        place: Place<'_>,
        ancestor: &str,
        descendant: &str,
    ) -> Result<bool, Problem> {
        history::is_ancestor(self, &Location::of(place), ancestor, descendant)
    }

    fn advance_branch(
        &self,
        place: Place<'_>,
        branch: &BranchName,
        from: &CommitSha,
        to: &CommitSha,
    ) -> Result<(), Problem> {
        self.call(place, Touches::Objects)
            .args(["update-ref", "--no-deref", &branch.full(), to, from])
            .ok()
            .map(drop)
    }

    fn tips(&self, sandbox: &Sandbox) -> Result<Tips, Problem> {
        refs_snapshot::read(self, sandbox)
    }

    fn is_all_by(
        &self,
        agent: &str,
        sandbox: &Sandbox,
        from: &str,
        to: &str,
    ) -> Result<bool, Problem> {
        refs_snapshot::is_all_by(self, agent, sandbox, from, to)
    }

    fn may_be_made_by(&self, agent: &str, sandbox: &Sandbox, name: &str) -> bool {
        refs_snapshot::may_be_made_by(self, agent, sandbox, name)
    }

    fn remote_url(&self, place: Place<'_>, remote: &RemoteName) -> Result<Option<String>, Problem> {
        remote::url(self, &Location::of(place), remote)
    }

    fn fetch(&self, place: Place<'_>, remote: &RemoteName) -> Result<(), Problem> {
        remote::fetch(self, &Location::of(place), remote)
    }

    fn fetch_branch(
        &self,
        place: Place<'_>,
        remote: &RemoteName,
        branch: &BranchName,
    ) -> Result<Option<CommitSha>, Problem> {
        remote::fetch_branch(self, &Location::of(place), remote, branch)
    }

    fn conflicts(
        &self,
        place: Place<'_>,
        ours: &CommitSha,
        theirs: &CommitSha,
    ) -> Result<Vec<PathBuf>, Problem> {
        merge::conflicts(self, &Location::of(place), ours, theirs)
    }

    fn merge(
        &self,
        place: Place<'_>,
        theirs: &CommitSha,
        leftovers: &Leftovers,
    ) -> Result<Merged, Problem> {
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
        remote::head(self, &Location::of(place), remote, branch)
    }

    fn unpublished(
        &self,
        place: Place<'_>,
        push: &Push,
        base: &CommitSha,
        merged: Option<&CommitSha>,
    ) -> Result<Vec<u8>, Problem> {
        unpublished::unpublished(self, &Location::of(place), push, base, merged)
    }

    fn push(&self, place: Place<'_>, push: &Push) -> Result<Pushed, Problem> {
        remote::push(self, &Location::of(place), push)
    }
}

pub(crate) use call::path_from;
pub(crate) use commit::{commit_tree, commit_tree_at};
pub(crate) use discover::{Look, filters_of, look_at, tree_bytes};
pub(crate) use history::{is_ancestor, resolve, unbranched, unpushed};
pub(crate) use ignored_files::{IgnoredFiles, stamp_of};
pub(crate) use index_flags::may_hide;
pub(crate) use lock::ref_problem;
pub(crate) use refs_snapshot::address_of;
pub(crate) use scratch::ScratchIndex;
pub(crate) use stage::stage;
pub(crate) use stale_lock::remove_if_stale;
pub(crate) use state::{
    Status, has_reftable, head_branch, in_progress, load_head, load_in_progress, status,
};
pub(crate) use tracked::{Tracked, has_entry};
