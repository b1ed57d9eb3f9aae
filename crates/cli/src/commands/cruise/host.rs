//! The services a process needs to own the cruises of one repository.

use crate::app::App;
use crate::commands::verify::OwnVerifier;
use crate::output::Output;
use crate::progress::Progress;
use crate::wiring::Wiring;
use drive_adapters::store::SqliteNudges;
use drive_core::forge::choice::{Choice, Chosen};
use drive_core::ids::{RemoteName, RunId};
use drive_core::problem::{Kind, Problem};
use drive_core::settings::Settings;
use drive_engine::CancelToken;
use drive_engine::cruise::{CruiseService, Resumed};
use drive_engine::executor::Hints;
use drive_engine::forge::Conversation;
use drive_engine::perform::World;
use drive_engine::ports::Forge;
use std::path::{Path, PathBuf};

/// One repository with its settings and its forge.
pub(super) struct Host {
    pub(super) wiring: Wiring,
    /// The forge; `None` if the cruises' repository is gone.
    conversation: Option<Conversation>,
    /// The remote from which the forge reads; `None` for a forge that reads the repository itself.
    pub(super) remote: Option<RemoteName>,
    /// The choice of the forge, with the reason; `None` if the repository is gone.
    pub(super) choice: Option<Choice>,
    /// Nudges from webhooks, and the repository's name on its forge.
    nudges: SqliteNudges,
    repository: Option<String>,
    pub(super) folder: PathBuf,
    /// The verifier that runs before anything lands.
    gate: OwnVerifier,
}

impl Host {
    /// The host for the repository that contains `folder`.
    pub(super) fn new(app: &App, settings: &Settings, folder: &Path) -> Result<Self, Problem> {
        let wiring = Wiring::new(app, settings, folder)?;
        let open = wiring.forge(settings, folder)?;
        app.output()
            .detail(format_args!("forge: {}", open.choice.why));
        Ok(Self {
            conversation: Some(wiring.conversation(&open, settings)?),
            remote: open.remote.clone(),
            nudges: wiring.nudges(),
            repository: match &open.choice.chosen {
                Chosen::Github { repo } => Some(repo.clone()),
                Chosen::Local => None,
            },
            choice: Some(open.choice),
            wiring,
            folder: folder.to_owned(),
            gate: OwnVerifier::of(app),
        })
    }

    /// The host for the repository of a cruise, with the settings of that repository.
    pub(super) fn of(app: &App, repo: &Path) -> Result<Self, Problem> {
        let settings = app.settings_at(repo)?.settings;
        Self::new(app, &settings, repo)
    }

    /// The host for cruises whose repository is gone; it can only end them.
    pub(super) fn adrift(app: &App) -> Result<Self, Problem> {
        let folder = app.state_dir()?.path().to_owned();
        let wiring = Wiring::new(app, &app.settings_at(&folder)?.settings, &folder)?;
        Ok(Self {
            conversation: None,
            remote: None,
            choice: None,
            nudges: wiring.nudges(),
            repository: None,
            wiring,
            folder,
            gate: OwnVerifier::of(app),
        })
    }

    /// The forge of the pull requests.
    pub(super) fn forge(&self) -> Result<&dyn Forge, Problem> {
        let conversation = self.conversation.as_ref();
        let forge = conversation.map(|conversation| conversation.forge.as_ref());
        forge.ok_or_else(|| Problem::new(Kind::RepositoryGone, "its repository does not exist"))
    }

    fn hints(&self) -> Option<Hints<'_>> {
        let repository = self.repository.as_deref()?;
        Some(Hints {
            log: &self.nudges,
            repository,
        })
    }

    /// Resumes several cruises of this repository at the same time.
    pub(super) fn resume_all(
        &self,
        output: &Output,
        cancel: &CancelToken,
        runs: &[RunId],
    ) -> Result<Resumed, Problem> {
        let progress = Progress::new(output);
        let world = World {
            gate: Some(&self.gate),
            ..self.wiring.world(self.conversation.as_ref(), &progress)
        };
        self.service(&world, cancel).resume_all(runs)
    }

    fn service<'a>(&'a self, world: &'a World<'a>, cancel: &'a CancelToken) -> CruiseService<'a> {
        CruiseService {
            journal: self.wiring.journal(),
            whoami: &self.wiring.whoami,
            performer: world,
            cancel,
            hints: self.hints(),
        }
    }

    /// Calls `work` with the service, and prints progress.
    pub(super) fn with_service<T>(
        &self,
        app: &App,
        work: impl FnOnce(CruiseService<'_>) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let progress = Progress::new(app.output());
        let world = World {
            gate: Some(&self.gate),
            ..self.wiring.world(self.conversation.as_ref(), &progress)
        };
        let cruises = self.service(&world, app.cancel()?);
        let letting_go = "detaching; continue with `drive cruise resume`";
        progress.ticking(cruises.cancel, letting_go, || work(cruises))
    }
}
