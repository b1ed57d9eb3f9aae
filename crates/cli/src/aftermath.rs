//! What a killed drive left behind, put in order before a command does its own work.

use crate::app::App;
use crate::wiring::{Wiring, sandbox_root};
use drive_adapters::store::{Database, SqliteStore};
use drive_adapters::verify::VerifyWorkspaces;
use drive_adapters::worktree::{self, Worktrees};
use drive_adapters::{StateDir, SystemClock};
use drive_core::Problem;
use drive_core::settings::{Findings, Settings, resolve};
use drive_engine::ports::{RunFilter, Store};
use drive_engine::verify::Workspaces;
use std::path::PathBuf;
use std::sync::Arc;

/// Ends what still runs, keeps the work, removes the sandboxes, and says so in one line each. A
/// state directory that cannot be used is the command's own to report, where it needs one.
pub(crate) fn put_in_order(app: &App) {
    let found = match Aftermath::look(app) {
        Ok(Some(found)) => found,
        Ok(None) => return,
        Err(problem) => {
            let what = "what a killed drive may have left was not looked for";
            return app.output().detail(format_args!("{what}: {problem}"));
        }
    };
    if let Err(problem) = found.put_in_order(app) {
        let what = "what a killed drive left could not be put in order";
        app.output().warn(format_args!("{what}: {problem}"));
    }
}

/// What a glance found that must be looked at more closely.
struct Aftermath<'a> {
    state: &'a StateDir,
    settings: Settings,
    folder: PathBuf,
    runs: bool,
    verifications: bool,
}

impl<'a> Aftermath<'a> {
    /// A glance that starts nothing and makes nothing; `None` when there is nothing.
    fn look(app: &'a App) -> Result<Option<Self>, Problem> {
        if !StateDir::locate(app.environment())?.is_dir() {
            return Ok(None);
        }
        let state = app.state_dir()?;
        let settings = settings(app)?;
        let folder = app.start_dir().unwrap_or_else(|_| state.path().into());
        let root = sandbox_root(state, app.environment(), &settings, &folder)?;
        let runs = worktree::is_anything_left(&root, state.path()) || has_active_runs(state)?;
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

    fn put_in_order(&self, app: &App) -> Result<(), Problem> {
        let environment = app.environment();
        let wiring = Wiring::in_state(self.state, environment, &self.settings, &self.folder)?;
        if self.verifications {
            for note in self.verifications(app, &wiring)?.sweep()? {
                app.output().warn(note);
            }
        }
        match self.runs {
            true => wiring.sweep(app),
            false => Ok(()),
        }
    }

    fn verifications(&self, app: &App, wiring: &Wiring) -> Result<VerifyWorkspaces, Problem> {
        let (state, git) = (self.state.path(), wiring.git.clone());
        let root = self.state.sandboxes();
        let sandboxes = Worktrees::open(git.clone(), Arc::new(SystemClock), &root, state)?;
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

/// Wrong settings are the command's own to report: the defaults know enough to clean up.
fn settings(app: &App) -> Result<Settings, Problem> {
    match app.settings() {
        Ok(effective) => Ok(effective.settings.clone()),
        Err(_) => Ok(resolve(&[]).map_err(Findings::into_problem)?.settings),
    }
}

/// The private folders of verifications.
pub(crate) fn scratch(state: &StateDir) -> PathBuf {
    state.path().join("verify")
}
