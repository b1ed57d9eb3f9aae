//! Selects the forge of a repository from its remote, the settings and the token.

use super::ForgeHost;
use super::github::{Token, find_token};
use drive_core::Problem;
use drive_core::forge::choice::{Choice, Chosen, Surroundings, choose, web_host};
use drive_core::settings::{ForgeKind, ForgeSettings};
use drive_engine::ports::{Place, VersionControl};

/// The choice, and the token if it is GitHub. `gh` is asked only where its answer decides.
pub(super) fn select(
    settings: &ForgeSettings,
    host: &ForgeHost<'_>,
    place: Place<'_>,
) -> Result<(Choice, Option<Token>), Problem> {
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
    let web = web_host(&settings.api_url);
    let found = find_token(
        host.environment,
        &settings.token_env,
        &web,
        host.runner,
        host.cancel,
    )?;
    let from = found.as_ref().map(|found| found.source.as_str());
    let choice = choose(&around(from))?;
    Ok((choice, found.map(|found| found.token)))
}
