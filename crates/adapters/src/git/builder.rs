//! The configuration of all git calls, with the allowed part of the environment.

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

/// How many bytes git in a sandbox, with everything it starts, may add to the disk.
const CONFINED_DISK: u64 = 64 << 30;

/// How long each kind of call may take.
#[derive(Clone, Copy, Debug)]
pub struct Deadlines {
    /// For calls that read refs and objects.
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

/// Git, started by the bounded runner.
#[derive(Clone)]
pub struct Git {
    pub(super) runner: Arc<dyn ProcessRunner>,
    pub(super) local: Vec<(OsString, OsString)>,
    pub(super) confined: Vec<(OsString, OsString)>,
    pub(super) network: Vec<(OsString, OsString)>,
    pub(super) signing: Vec<(OsString, OsString)>,
    pub(super) deadlines: Deadlines,
    pub(super) isolation: IsolationMode,
    /// How many bytes git in a sandbox may add to its disk.
    pub(super) disk_bytes: u64,
    missing: Arc<Mutex<BTreeSet<LayerName>>>,
    pub(super) cancel: CancelToken,
    pub(super) config_cache: ConfigCache,
    logins: Logins,
    /// The user's home, which is hidden from confined git.
    pub(super) home: Option<PathBuf>,
    /// The folders of the search path, which may contain git itself.
    pub(super) tools: Vec<PathBuf>,
}

impl Git {
    /// Git with the allowed part of `environment`.
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

    /// Sets other deadlines.
    #[must_use]
    pub fn with_deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// Refuses to run git in a sandbox if isolation is required and a layer is missing.
    #[must_use]
    pub fn with_isolation(mut self, mode: IsolationMode) -> Self {
        self.isolation = mode;
        self
    }

    /// Sets how many bytes git in a sandbox may add to the disk.
    #[must_use]
    pub fn with_disk_limit(mut self, bytes: u64) -> Self {
        self.disk_bytes = bytes;
        self
    }

    /// Records the layers that git in a sandbox lacked. Without control groups, limits are polled,
    /// which works as well.
    pub(super) fn note_missing(&self, layers: &[Layer]) {
        let missing = missing_essentials(layers, true).map(|layer| layer.name);
        let mut all = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(
            missing.filter(|name| {
                !matches!(name, LayerName::CgroupMemory | LayerName::CgroupProcesses)
            }),
        );
    }

    /// The layers that git in sandboxes lacked so far.
    pub(crate) fn missing_layers(&self) -> Vec<LayerName> {
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing.iter().copied().collect()
    }

    /// Makes `cancel` end calls to remotes. All other calls are short, and needed to save work
    /// after a stop request.
    #[must_use]
    pub fn with_cancel(mut self, cancel: CancelToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Ends a recorded git process that outlived its drive process, if it still runs.
    pub(crate) fn end(&self, identity: &ProcessIdentity) -> Result<(), Problem> {
        self.runner.end(identity).map(drop)
    }

    /// The user's home.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// The folder in which git looks for the user's own files.
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
    /// Sets the login for one server, for all clones of this value.
    pub fn log_in(&self, login: GitLogin) {
        let mut logins = self.logins.write().unwrap_or_else(PoisonError::into_inner);
        *logins = Some(login);
    }

    /// Settings for calls to a remote. They are passed in the environment, which other users cannot read. The
    /// empty value clears the repository's own headers, because two such headers are refused.
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
