//! The context of every command: options, environment, and services that are created on first use.

use crate::global_args::GlobalArgs;
use crate::logging;
use crate::output::Output;
use drive_adapters::process::BoundedRunner;
use drive_adapters::settings::{self, LoadError, SettingsPaths, checkout_root};
use drive_adapters::store::{Database, SqliteStore};
use drive_adapters::{Environment, StateDir, SystemClock, signals};
use drive_core::problem::{Kind, Problem};
use drive_core::settings::{Effective, Layer};
use drive_core::time::Timestamp;
use drive_engine::CancelToken;
use drive_engine::ports::{Clock, ProcessRunner};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The context of one command.
pub(crate) struct App {
    global: GlobalArgs,
    environment: Environment,
    output: Arc<Output>,
    settings: OnceCell<Effective>,
    state_dir: OnceCell<StateDir>,
    runner: Arc<dyn ProcessRunner>,
    cancel: OnceCell<CancelToken>,
}

impl App {
    /// A context with these global options.
    pub(crate) fn new(global: GlobalArgs) -> Self {
        Self::in_environment(global, Environment::load())
    }

    /// A context with another environment than that of this process.
    pub(crate) fn in_environment(global: GlobalArgs, environment: Environment) -> Self {
        let output = Arc::new(Output::new(&global, &environment));
        logging::start(&output, &environment, global.verbose);
        Self {
            global,
            environment,
            output,
            settings: OnceCell::new(),
            state_dir: OnceCell::new(),
            runner: Arc::new(BoundedRunner::new()),
            cancel: OnceCell::new(),
        }
    }

    /// The options that every command accepts.
    pub(crate) fn global(&self) -> &GlobalArgs {
        &self.global
    }

    /// The current wall-clock time.
    pub(crate) fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    /// The output for answers and progress.
    pub(crate) fn output(&self) -> &Output {
        &self.output
    }

    /// The environment in which drive was started.
    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The folder of the repository: `--repo`, else the current folder.
    pub(crate) fn start_dir(&self) -> Result<PathBuf, Problem> {
        let Some(repo) = &self.global.repo else {
            return current_dir();
        };
        let path = current_dir()?.join(repo);
        if path.is_dir() {
            Ok(path)
        } else {
            Err(Problem::new(
                Kind::NoSuchFolder,
                format!("folder `{}` does not exist", repo.display()),
            )
            .hint("check the path given with `--repo`"))
        }
    }

    /// The files settings are read from.
    pub(crate) fn settings_paths(&self) -> Result<SettingsPaths, Problem> {
        let checkout = checkout_root(&self.start_dir()?);
        let config = self.global.config.as_deref();
        let current = current_dir()?;
        Ok(SettingsPaths::locate(
            &self.environment,
            &current,
            checkout.as_deref(),
            config,
        ))
    }

    /// The effective settings, read on first use. A command whose flags override settings uses
    /// [`Self::settings_with`].
    pub(crate) fn settings(&self) -> Result<&Effective, Problem> {
        get_or_try_init(&self.settings, || self.settings_with(&[]))
    }

    /// The effective settings with a command's flags on top.
    pub(crate) fn settings_with(&self, flags: &[Layer]) -> Result<Effective, Problem> {
        self.load_settings(flags).map_err(Problem::from)
    }

    /// Like `settings_with`, for a command that reports errors itself.
    pub(crate) fn load_settings(&self, flags: &[Layer]) -> Result<Effective, LoadError> {
        let paths = self.settings_paths().map_err(LoadError::Unreadable)?;
        settings::load(&paths, flags)
    }

    /// The settings of another repository, with the same options.
    pub(crate) fn settings_at(&self, folder: &Path) -> Result<Effective, Problem> {
        let checkout = checkout_root(folder);
        let paths = SettingsPaths::locate(
            &self.environment,
            &current_dir()?,
            checkout.as_deref(),
            self.global.config.as_deref(),
        );
        settings::load(&paths, &[]).map_err(Problem::from)
    }

    /// Warns about access that the repository's settings grant to all agents or to these.
    pub(crate) fn warn_of_repository(&self, agents: &BTreeSet<&str>) -> Result<(), Problem> {
        for widened in &self.settings()?.widened {
            let agent = widened.agent.as_deref();
            if agent.is_none_or(|agent| agents.contains(agent)) {
                self.output().warn(&widened.message);
            }
        }
        Ok(())
    }

    /// The journal, for commands that only read it.
    pub(crate) fn store(&self) -> Result<SqliteStore, Problem> {
        let database = Database::open(&self.state_dir()?.database())?;
        Ok(SqliteStore::new(Arc::new(database)))
    }

    /// The state directory, created on first use.
    pub(crate) fn state_dir(&self) -> Result<&StateDir, Problem> {
        get_or_try_init(&self.state_dir, || StateDir::open(&self.environment))
    }

    /// The runner that starts every child. Its helper is drive's own program.
    pub(crate) fn runner(&self) -> &Arc<dyn ProcessRunner> {
        &self.runner
    }

    /// The token for cancellation. Signals are only caught after a command asked for the token, so
    /// that other commands simply end when they are interrupted.
    pub(crate) fn cancel(&self) -> Result<&CancelToken, Problem> {
        get_or_try_init(&self.cancel, || {
            let token = CancelToken::new();
            signals::cancel_on_signals(token.clone())?;
            Ok(token)
        })
    }
}

fn current_dir() -> Result<PathBuf, Problem> {
    std::env::current_dir().map_err(|error| {
        Problem::new(
            Kind::CurrentFolderUnknown,
            "cannot determine the current folder",
        )
        .because(error)
        .hint("change to a folder that exists: `cd ~`")
    })
}

fn get_or_try_init<T>(
    cell: &OnceCell<T>,
    make: impl FnOnce() -> Result<T, Problem>,
) -> Result<&T, Problem> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = make()?;
    Ok(cell.get_or_init(|| value))
}
