//! Selects the forge of a repository from its remote, the settings and the token.

use super::ForgeHost;
use super::github::{Credential, find_credential};
use drive_core::Problem;
use drive_core::forge::choice::{Choice, Chosen, Surroundings, choose};
use drive_core::settings::{ForgeKind, ForgeSettings};
use drive_engine::ports::{Place, VersionControl};

/// The choice, with the credential if it is GitHub. Programs are only run for a token if their
/// answer matters.
pub(super) fn select(
    settings: &ForgeSettings,
    host: &ForgeHost<'_>,
    place: Place<'_>,
) -> Result<(Choice, Option<Credential>), Problem> {
    let remote = settings.remote_name()?;
    let remote_url = match settings.kind {
        ForgeKind::Local => None,
        ForgeKind::Auto | ForgeKind::Github => host.git.remote_url(place, &remote)?,
    };
    let around = |token_from| Surroundings {
        wanted: settings.kind,
        repo: settings.repo.as_deref(),
        api_url: &settings.api_url,
        remote: &remote,
        remote_url: remote_url.as_deref(),
        token_from,
    };
    let with_any_token = choose(&around(Some("any")))?;
    if with_any_token.chosen == Chosen::Local {
        return Ok((with_any_token, None));
    }
    let found = find_credential(settings, host.environment, host.runner, host.cancel)?;
    let choice = choose(&around(found.as_ref().map(Credential::source)))?;
    let found = found.map(|found| found.known_to(host.secrets.cloned()));
    Ok((choice, found))
}
