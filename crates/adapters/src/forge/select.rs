//! Which forge this repository uses, from its remote and the settings.

use crate::git::Git;
use drive_core::Problem;
use drive_core::forge::choice::{Choice, Surroundings, choose};
use drive_core::settings::ForgeSettings;
use drive_engine::ports::{Place, VersionControl};

/// Chooses the forge. `token_from` says where a token was found, in words; `None` when there is none.
pub fn select(
    settings: &ForgeSettings,
    git: &Git,
    place: Place<'_>,
    token_from: Option<&str>,
) -> Result<Choice, Problem> {
    let remote_url = git.remote_url(place, &settings.remote)?;
    choose(&Surroundings {
        wanted: settings.kind,
        repo: settings.repo.as_deref(),
        api_url: &settings.api_url,
        remote: &settings.remote,
        remote_url: remote_url.as_deref(),
        token_from,
    })
}
