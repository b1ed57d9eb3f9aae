//! Git with what the allow-lists take from the environment, from which every call is made.

use super::config_cache::ConfigCache;
use super::environment;
use super::login::{GitLogin, Logins, base64};
use crate::Environment;
use crate::environment::{HOME, PATH};
use crate::tool_paths;
use drive_core::Problem;
use drive_core::process::{Layer, LayerName, ProcessIdentity, missing_essentials};
use drive_engine::CancelToken;
use drive_engine::ports::{IsolationMode, ProcessRunner};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The most that git in a sandbox may add to the disk, with all that it starts.
const CONFINED_DISK: u64 = 64 << 30;

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
    pub(super) runner: Arc<dyn ProcessRunner>,
    pub(super) local: Vec<(OsString, OsString)>,
    pub(super) confined: Vec<(OsString, OsString)>,
    pub(super) network: Vec<(OsString, OsString)>,
    pub(super) signing: Vec<(OsString, OsString)>,
    pub(super) deadlines: Deadlines,
    pub(super) isolation: IsolationMode,
    /// The most bytes that git in a sandbox may add to its disk.
    pub(super) disk_bytes: u64,
    missing: Arc<Mutex<BTreeSet<LayerName>>>,
    pub(super) cancel: CancelToken,
    pub(super) config_cache: ConfigCache,
    logins: Logins,
    /// The user's home, which confined git does not see.
    pub(super) home: Option<PathBuf>,
    /// The folders of the search path, where git itself may be.
    pub(super) tools: Vec<PathBuf>,
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
            disk_bytes: CONFINED_DISK,
            missing: Arc::default(),
            cancel: CancelToken::new(),
            config_cache: ConfigCache::default(),
            logins: Logins::default(),
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
    pub(super) fn note_missing(&self, layers: &[Layer]) {
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
}

impl Git {
    /// Proves itself to one server like this from now on. Every copy of this git does.
    pub fn log_in(&self, login: GitLogin) {
        let mut logins = self.logins.write().unwrap_or_else(PoisonError::into_inner);
        *logins = Some(login);
    }

    /// Settings for calls to a remote. They travel by environment, which others cannot read. The
    /// empty one clears what the repository's own settings add: two such headers are refused.
    pub(super) fn login_settings(&self) -> Vec<(String, String)> {
        let logins = self.logins.read().unwrap_or_else(PoisonError::into_inner);
        let login = logins.clone();
        drop(logins);
        let Some((server, (user, password))) =
            login.and_then(|login| Some((login.server, (login.password)()?)))
        else {
            return Vec::new();
        };
        let key = format!("http.{server}.extraHeader");
        let encoded = base64(format!("{user}:{password}").as_bytes());
        let header = format!("Authorization: Basic {encoded}");
        vec![(key.clone(), String::new()), (key, header)]
    }
}
