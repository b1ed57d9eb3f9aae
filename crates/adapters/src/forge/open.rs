//! Opens the forge of a repository.

use super::github::{Bounds, Endpoint, GitHub, Route, Surroundings};
use super::local::LocalForge;
use super::select::select;
use crate::Environment;
use crate::git::Git;
use crate::store::Database;
use drive_core::Problem;
use drive_core::forge::choice::{Choice, Chosen};
use drive_core::ids::RemoteName;
use drive_core::secrets::SecretPolicy;
use drive_core::settings::ForgeSettings;
use drive_engine::CancelToken;
use drive_engine::ports::{Clock, Forge, Place, ProcessRunner, VersionControl};
use std::path::Path;
use std::sync::Arc;

/// The services with which a forge is opened.
#[derive(Clone, Copy)]
pub struct ForgeHost<'a> {
    /// The environment, which may contain a token.
    pub environment: &'a Environment,
    /// Runs `gh` and `forge.token_command` for a token.
    pub runner: &'a Arc<dyn ProcessRunner>,
    /// Learns every token, so that none is published.
    pub secrets: Option<&'a SecretPolicy>,
    /// Reads the repository.
    pub git: &'a Git,
    /// The state database.
    pub database: &'a Arc<Database>,
    /// The clock.
    pub clock: &'a Arc<dyn Clock>,
    /// Cancels the search for a token.
    pub cancel: &'a CancelToken,
}

/// A forge, and why it was chosen.
pub struct OpenForge {
    /// The forge.
    pub forge: Arc<dyn Forge>,
    /// The chosen forge, with the reason.
    pub choice: Choice,
    /// The remote to which branches are pushed before the forge sees them; `None` for a forge that
    /// reads the repository itself.
    pub remote: Option<RemoteName>,
}

/// Opens the forge of the repository that contains `folder`.
pub fn open(
    settings: &ForgeSettings,
    host: &ForgeHost<'_>,
    folder: &Path,
) -> Result<OpenForge, Problem> {
    let repository = host.git.discover(folder)?;
    let (choice, credential) = select(settings, host, Place::Checkout(&repository.common_dir))?;
    if let (Chosen::Github { repo }, Some(credential)) = (&choice.chosen, credential) {
        let around = Surroundings {
            clock: host.clock.clone(),
            cancel: host.cancel.clone(),
            ..Surroundings::of_machine(host.database.clone())
        };
        let endpoint = Endpoint::new(&settings.api_url, repo)?;
        let github = GitHub::new(
            endpoint,
            credential,
            Bounds::default(),
            Route::Environment,
            around,
        );
        if let Some(login) = github.git_login() {
            host.git.log_in(login);
        }
        let remote = Some(settings.remote_name()?);
        return Ok(OpenForge {
            forge: Arc::new(github),
            choice,
            remote,
        });
    }
    let local = LocalForge::open(
        host.database.clone(),
        host.git.clone(),
        host.clock.clone(),
        &repository.common_dir,
    )?;
    Ok(OpenForge {
        forge: Arc::new(local),
        choice,
        remote: None,
    })
}
