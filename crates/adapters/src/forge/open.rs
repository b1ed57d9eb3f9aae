//! The forge of a repository, ready to use.

use super::github::{
    Bounds, Endpoint, GitHub, MemoryBudgets, MemoryCache, Pause, Route, Surroundings, find_token,
};
use super::local::LocalForge;
use super::select;
use crate::Environment;
use crate::git::Git;
use crate::store::Database;
use drive_core::Problem;
use drive_core::forge::choice::{Choice, Chosen};
use drive_core::settings::ForgeSettings;
use drive_engine::ports::{Clock, Forge, Place, ProcessRunner, VersionControl};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What a forge is opened with.
#[derive(Clone, Copy)]
pub struct ForgeHost<'a> {
    /// Where a token may be.
    pub environment: &'a Environment,
    /// Asks `gh` for one.
    pub runner: &'a dyn ProcessRunner,
    /// Reads the repository.
    pub git: &'a Git,
    /// Keeps what must survive.
    pub database: &'a Arc<Database>,
    /// Tells the time.
    pub clock: &'a Arc<dyn Clock>,
}

/// A forge, and why it is this one.
pub struct OpenForge {
    /// The forge.
    pub forge: Box<dyn Forge>,
    /// Which, and why.
    pub choice: Choice,
    /// The remote that branches are pushed to before the forge sees them; `None` for a forge that
    /// reads the repository itself.
    pub remote: Option<String>,
}

/// Opens the forge of the repository that `folder` lies in.
pub fn open(
    settings: &ForgeSettings,
    host: &ForgeHost<'_>,
    folder: &Path,
) -> Result<OpenForge, Problem> {
    let repository = host.git.discover(folder)?;
    let api_host = web_host(&settings.api_url);
    let token = find_token(host.environment, &settings.token_env, api_host, host.runner)?;
    let found = token.as_ref().map(|_| "a token was found");
    let choice = select(settings, host.git, Place::Checkout(folder), found)?;
    if let (Chosen::Github { repo }, Some(token)) = (&choice.chosen, token) {
        let around = Surroundings {
            cache: Arc::new(MemoryCache::default()),
            budgets: Arc::new(MemoryBudgets::default()),
            clock: host.clock.clone(),
            pause: Arc::new(ThreadPause),
        };
        let endpoint = Endpoint::new(&settings.api_url, repo)?;
        let github = GitHub::new(
            endpoint,
            token,
            Bounds::default(),
            Route::Environment,
            around,
        );
        let remote = Some(settings.remote.clone());
        return Ok(OpenForge {
            forge: Box::new(github),
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
        forge: Box::new(local),
        choice,
        remote: None,
    })
}

/// Waits by sleeping.
struct ThreadPause;

impl Pause for ThreadPause {
    fn pause(&self, wait: Duration) {
        std::thread::sleep(wait);
    }
}

/// The host people and `gh` know the API's host by.
fn web_host(api_url: &str) -> &str {
    let rest = api_url.split_once("://").map_or(api_url, |(_, rest)| rest);
    let host = rest.split('/').next().unwrap_or(rest);
    if host == "api.github.com" {
        "github.com"
    } else {
        host
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_of_the_public_forge_is_known_by_its_web_host() {
        for (url, host) in [
            ("https://api.github.com", "github.com"),
            ("https://ghe.example/api/v3", "ghe.example"),
            ("http://127.0.0.1:8080/", "127.0.0.1:8080"),
        ] {
            assert_eq!(web_host(url), host);
        }
    }
}
