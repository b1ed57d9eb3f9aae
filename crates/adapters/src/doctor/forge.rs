//! Checks the forge, the token and its remaining requests. The token itself is never shown.

use super::{Check, Doctor};
use crate::environment::GH_TOKEN;
use crate::forge::github::{Budgets, Token, find_token};
use crate::git::{Git, Location, Touches};
use crate::store::{Database, SqliteForgeMemory};
use crate::{StateDir, SystemClock};
use drive_core::forge::RequestBudget;
use drive_core::forge::choice::{Chosen, Surroundings, choose, web_host};
use drive_core::settings::ForgeKind;
use drive_core::time::Timestamp;
use drive_engine::ports::Clock;
use std::sync::Arc;

const BUDGET: &str = "forgeBudget";

/// The forge, its token and the budget of the token.
pub(super) fn checks(doctor: &Doctor<'_>) -> Vec<Check> {
    let forge = &doctor.settings.forge;
    let found = find_token(
        doctor.environment,
        &forge.token_env,
        &web_host(&forge.api_url),
        doctor.runner.as_ref(),
        doctor.cancel,
    )
    // Whoever stopped the doctor does not read on.
    .unwrap_or_default();
    let token_from = found.as_ref().map(|found| found.source.as_str());
    let remote_url = remote_url(doctor);
    let choice = forge.remote_name().and_then(|remote| {
        choose(&Surroundings {
            wanted: forge.kind,
            repo: forge.repo.as_deref(),
            api_url: &forge.api_url,
            remote: &remote,
            remote_url: remote_url.as_deref(),
            token_from,
        })
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
        (None, ForgeKind::Local) => Check::ok("forgeToken", "none (not needed by the local forge)"),
        (None, ForgeKind::Auto | ForgeKind::Github) => Check::missing(
            "forgeToken",
            format!(
                "neither `{}` nor `{GH_TOKEN}` is set, and `gh auth token` prints none",
                forge.token_env
            ),
            "only needed for GitHub: set one of them, or run `gh auth login`",
        ),
    };
    let mut checks = vec![kind, token];
    checks.extend(found.map(|found| budget(doctor, &found.token)));
    checks
}

/// What the token may still ask, as any process of this machine was last told.
fn budget(doctor: &Doctor<'_>, token: &Token) -> Check {
    let known = StateDir::open(doctor.environment)
        .and_then(|state_dir| Database::open(&state_dir.database()))
        .and_then(|database| {
            let memory = SqliteForgeMemory::new(Arc::new(database));
            Budgets::load(&memory, &token.fingerprint())
        });
    match known {
        Ok(Some(budget)) => spoken_budget(&budget, SystemClock.now()),
        Ok(None) => Check::ok(BUDGET, "no requests with this token yet"),
        Err(problem) => Check::from_problem(BUDGET, &problem),
    }
}

fn spoken_budget(budget: &RequestBudget, now: Timestamp) -> Check {
    let standing = budget.standing(now);
    if standing.waits {
        Check::degraded(BUDGET, standing.words, "drive waits until then")
    } else {
        Check::ok(BUDGET, standing.words)
    }
}

/// The address of the remote that is pushed to; none without git, repository or remote.
fn remote_url(doctor: &Doctor<'_>) -> Option<String> {
    doctor.find("git")?;
    let git =
        Git::new(doctor.runner.clone(), doctor.environment).with_cancel(doctor.cancel.clone());
    let answer = git
        .call_at(Location::checkout(doctor.folder), Touches::Objects)
        .args(["remote", "get-url", "--", &doctor.settings.forge.remote])
        .interruptible()
        .run()
        .ok()?;
    (answer.code == 0).then(|| answer.line())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_that_makes_everybody_wait_is_degraded() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let check = |remaining| {
            let budget = RequestBudget {
                limit: 5000,
                remaining,
                resets_at: at(3600),
                paused_until: None,
            };
            spoken_budget(&budget, at(100))
        };
        let words = |count| format!("{count} of 5000 requests left until 1970-01-01T01:00:00Z");
        assert_eq!(check(42), Check::ok(BUDGET, words(42)));
        let wait = "drive waits until then";
        assert_eq!(check(0), Check::degraded(BUDGET, words(0), wait));
    }
}
