//! Wires the adapters of a verification.

use crate::app::App;
use crate::recovery::scratch;
use crate::wiring::sandbox_root;
use drive_adapters::SystemClock;
use drive_adapters::forge::github::key_file;
use drive_adapters::git::Git;
use drive_adapters::sandbox::GitSandboxes;
use drive_adapters::verify::{
    FileReports, FileSlots, GitCandidates, ProjectReader, VerifyWorkspaces,
};
use drive_core::problem::{Kind, Problem};
use drive_core::settings::Settings;
use drive_engine::ports::{ProcessRunner, VersionControl};
use drive_engine::verify::Verifier;
use std::path::PathBuf;
use std::sync::Arc;

/// The folder of the reports, in the state directory.
const VERIFICATIONS: &str = "verifications";

/// The stored reports of this user.
pub(crate) fn kept_reports(app: &App) -> Result<FileReports, Problem> {
    let folder = app.state_dir()?.path().join(VERIFICATIONS);
    Ok(FileReports::new(&folder))
}

pub(super) struct World {
    /// The repository: the caller's checkout, or its git directory if it has none.
    pub(super) repo: PathBuf,
    pub(super) reports: FileReports,
    pub(super) workspaces: VerifyWorkspaces,
    sandboxes: Arc<GitSandboxes>,
    runner: Arc<dyn ProcessRunner>,
    candidates: GitCandidates,
    projects: ProjectReader,
    slots: FileSlots,
}

impl World {
    /// Wires the adapters for the repository that the options name.
    pub(super) fn open(app: &App, settings: &Settings) -> Result<Self, Problem> {
        let runner = Arc::clone(app.runner());
        let git = Git::new(Arc::clone(&runner), app.environment())
            .with_isolation(settings.sandbox.isolation);
        let found = git.discover(&app.start_dir()?)?;
        let repo = found.top.unwrap_or(found.common_dir);
        let state = app.state_dir()?.path();
        let scratch = made(scratch(app.state_dir()?))?;
        let root = sandbox_root(app.state_dir()?, app.environment(), settings, &repo)?;
        let clock = Arc::new(SystemClock);
        let sandboxes = Arc::new(GitSandboxes::open(
            git.clone(),
            clock.clone(),
            &root,
            state,
        )?);
        let environment = app.environment().clone();
        Ok(Self {
            reports: FileReports::new(&made(state.join(VERIFICATIONS))?),
            workspaces: VerifyWorkspaces::new(
                git.clone(),
                sandboxes.clone(),
                environment,
                state,
                &scratch,
            )
            .hiding(key_file(&settings.forge, app.environment())?),
            candidates: GitCandidates::new(git, &scratch),
            projects: ProjectReader::new(Arc::clone(&runner)),
            slots: FileSlots::new(&scratch, clock),
            sandboxes,
            runner,
            repo,
        })
    }

    pub(super) fn verifier(&self) -> Verifier<'_> {
        Verifier {
            clock: &SystemClock,
            runner: &*self.runner,
            candidates: &self.candidates,
            workspaces: &self.workspaces,
            projects: &self.projects,
            slots: &self.slots,
            reports: &self.reports,
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // Files are deleted in the background, but the files of a verification must be gone at its end.
        self.sandboxes.finish_deletions();
    }
}

fn made(path: PathBuf) -> Result<PathBuf, Problem> {
    std::fs::create_dir_all(&path).map_err(|error| {
        Problem::new(
            Kind::StateDirUnusable,
            format!("cannot make `{}`", path.display()),
        )
        .because(error)
    })?;
    Ok(path)
}
