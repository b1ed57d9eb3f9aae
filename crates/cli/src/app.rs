//! What every command is handed: the options, the environment, and what is made of them on first
//! use. Nothing is read before a command asks for it.

use crate::args::GlobalArgs;
use crate::output::Output;
use drive_adapters::{Environment, StateDir, signals};
use drive_core::Problem;
use drive_engine::CancelToken;
use std::cell::OnceCell;
use std::path::PathBuf;

/// The context of one command.
pub(crate) struct App {
    global: GlobalArgs,
    environment: Environment,
    output: Output,
    state_dir: OnceCell<StateDir>,
    cancel: OnceCell<CancelToken>,
}

impl App {
    /// The context the global options ask for.
    pub(crate) fn new(global: GlobalArgs) -> Self {
        let environment = Environment::load();
        let output = Output::new(&global, &environment);
        Self {
            global,
            environment,
            output,
            state_dir: OnceCell::new(),
            cancel: OnceCell::new(),
        }
    }

    /// Where answers and narration go.
    pub(crate) fn output(&self) -> &Output {
        &self.output
    }

    /// The environment drive was started with.
    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The folder whose repository is meant: `--repo`, else the current folder.
    pub(crate) fn start_dir(&self) -> Result<PathBuf, Problem> {
        let path = self
            .global
            .repo
            .clone()
            .unwrap_or_else(|| PathBuf::from("."));
        std::path::absolute(&path).map_err(|error| {
            Problem::environment("currentFolderUnknown", "the current folder cannot be told")
                .because(error)
        })
    }

    /// The state directory, made on first use.
    pub(crate) fn state_dir(&self) -> Result<&StateDir, Problem> {
        get_or_try_init(&self.state_dir, || StateDir::open(&self.environment))
    }

    /// The token that signals cancel. Signals are only caught once a command asked for it, so that
    /// a command without it simply ends when it is interrupted.
    pub(crate) fn cancel(&self) -> Result<&CancelToken, Problem> {
        get_or_try_init(&self.cancel, || {
            let token = CancelToken::new();
            signals::cancel_on_signals(token.clone())?;
            Ok(token)
        })
    }
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
