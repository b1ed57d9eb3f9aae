//! Crash recovery: cleans up after a drive process that was killed.

use crate::app::App;
use crate::wiring::{Wiring, sandbox_root};
use drive_adapters::sandbox::{self, GitSandboxes};
use drive_adapters::store::{Database, SqliteStore};
use drive_adapters::verify::VerifyWorkspaces;
use drive_adapters::{StateDir, SystemClock};
use drive_core::Problem;
use drive_core::settings::{Findings, Settings, resolve};
use drive_engine::ports::{RunFilter, Store};
use drive_engine::verify::Workspaces;
use std::path::PathBuf;
use std::sync::Arc;

/// Ends left-over processes, saves work, removes sandboxes, and prints one line for each. If the
/// state directory cannot be used, a command that needs it reports that itself.
pub(crate) fn recover(app: &App) {
    let found = match Recovery::find(app) {
        Ok(Some(found)) => found,
        Ok(None) => return,
        Err(problem) => {
            let what = "could not check for killed drive processes";
            return app.output().detail(format_args!("{what}: {problem}"));
        }
    };
    if let Err(problem) = found.recover(app) {
        let what = "could not clean up after a killed drive process";
        app.output().warn(format_args!("{what}: {problem}"));
    }
}

/// The state that a killed process may have left, and the services to clean it up.
struct Recovery<'a> {
    state: &'a StateDir,
    settings: Settings,
    folder: PathBuf,
    runs: bool,
    verifications: bool,
}

impl<'a> Recovery<'a> {
    /// A cheap check that starts and creates nothing; `None` if there is nothing to clean up.
    fn find(app: &'a App) -> Result<Option<Self>, Problem> {
        if !StateDir::locate(app.environment())?.is_dir() {
            return Ok(None);
        }
        let state = app.state_dir()?;
        let settings = settings(app)?;
        let folder = app.start_dir().unwrap_or_else(|_| state.path().into());
        let root = sandbox_root(state, app.environment(), &settings, &folder)?;
        let runs = sandbox::is_anything_left(&root, state.path()) || has_active_runs(state)?;
        let verifications = VerifyWorkspaces::is_any_dead(&scratch(state));
        let found = Self {
            state,
            settings,
            folder,
            runs,
            verifications,
        };
        Ok((runs || verifications).then_some(found))
    }

    fn recover(&self, app: &App) -> Result<(), Problem> {
        let environment = app.environment();
        let wiring = Wiring::in_state(self.state, environment, &self.settings, &self.folder)?;
        if self.verifications {
            for note in self.verifications(app, &wiring)?.sweep()? {
                app.output().warn(note);
            }
        }
        if self.runs {
            wiring.sweep(app)?;
        }
        Ok(())
    }

    fn verifications(&self, app: &App, wiring: &Wiring) -> Result<VerifyWorkspaces, Problem> {
        let (state, git) = (self.state.path(), wiring.git.clone());
        let root = self.state.sandboxes();
        let sandboxes = GitSandboxes::open(git.clone(), Arc::new(SystemClock), &root, state)?;
        Ok(VerifyWorkspaces::new(
            git,
            Arc::new(sandboxes),
            app.environment().clone(),
            state,
            &scratch(self.state),
        ))
    }
}

fn has_active_runs(state: &StateDir) -> Result<bool, Problem> {
    if !state.database().exists() {
        return Ok(false);
    }
    let store = SqliteStore::new(Arc::new(Database::open(&state.database())?));
    Ok(!store.list(RunFilter::Active, 1)?.is_empty())
}

/// The settings, or the defaults if they are invalid: the command reports invalid settings itself.
fn settings(app: &App) -> Result<Settings, Problem> {
    match app.settings() {
        Ok(effective) => Ok(effective.settings.clone()),
        Err(_) => Ok(resolve(&[]).map_err(Findings::into_problem)?.settings),
    }
}

/// Folder of the verifications' private folders.
pub(crate) fn scratch(state: &StateDir) -> PathBuf {
    state.path().join("verify")
}
