//! Which forge this repository would use, and whether a token is there. Never the token.

use super::{Check, Doctor};
use crate::environment::GH_TOKEN;
use crate::git::{Git, Location, Touches};
use drive_core::forge::choice::{Chosen, Surroundings, choose};
use drive_core::settings::ForgeKind;

/// The forge and its token.
pub(super) fn checks(doctor: &Doctor<'_>) -> Vec<Check> {
    let forge = &doctor.settings.forge;
    let token_from = token(doctor);
    let remote_url = remote_url(doctor);
    let choice = choose(&Surroundings {
        wanted: forge.kind,
        repo: forge.repo.as_deref(),
        api_url: &forge.api_url,
        remote: &forge.remote,
        remote_url: remote_url.as_deref(),
        token_from: token_from.as_deref(),
    });
    let kind = match &choice {
        Ok(choice) => {
            let name = match &choice.chosen {
                Chosen::Github { .. } => "GitHub",
                Chosen::Local => "the local forge",
            };
            Check::ok("forge", format!("{name}: {}", choice.why))
        }
        Err(problem) => Check::from_problem("forge", problem),
    };
    let token = match (token_from, forge.kind) {
        (Some(from), _) => Check::ok("forgeToken", format!("found in {from}")),
        (None, ForgeKind::Local) => Check::ok("forgeToken", "none, and the local forge needs none"),
        (None, ForgeKind::Auto | ForgeKind::Github) => Check::missing(
            "forgeToken",
            format!(
                "neither `{}` nor `{GH_TOKEN}` is set, and `gh` gives none",
                forge.token_env
            ),
            "only needed for GitHub: set one of them, or run `gh auth login`",
        ),
    };
    vec![kind, token]
}

/// Where a token is.
fn token(doctor: &Doctor<'_>) -> Option<String> {
    let own = doctor.settings.forge.token_env.as_str();
    let variable = [own, GH_TOKEN]
        .into_iter()
        .find(|name| doctor.environment.get(name).is_some());
    if let Some(name) = variable {
        return Some(format!("`{name}`"));
    }
    let gh = doctor.find("gh")?;
    let said = doctor.ask(&gh, &["auth", "token"])?;
    (!said.trim().is_empty()).then(|| "`gh auth token`".to_owned())
}

/// The address of the remote that is pushed to; none without git, repository or remote.
fn remote_url(doctor: &Doctor<'_>) -> Option<String> {
    doctor.find("git")?;
    let git =
        Git::new(doctor.runner.clone(), doctor.environment).with_cancel(doctor.cancel.clone());
    let answer = git
        .call_at(Location::checkout(doctor.folder), Touches::Objects)
        .args(["remote", "get-url", "--", &doctor.settings.forge.remote])
        .run()
        .ok()?;
    (answer.code == 0).then(|| answer.line())
}
