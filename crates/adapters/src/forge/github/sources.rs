//! Sources of GitHub tokens, in order: the GitHub App, `forge.token_command`, a variable, `gh`.

use super::app::App;
use super::credential::{Credential, Minted, TokenSource};
use super::surroundings::Surroundings;
use super::token::{COMMAND, GH, Token, ask_command, ask_gh, in_variable};
use super::transport::{Bounds, Route};
use crate::Environment;
use crate::environment::HOME;
use drive_core::forge::choice::web_host;
use drive_core::problem::{Kind, Problem};
use drive_core::settings::ForgeSettings;
use drive_engine::CancelToken;
use drive_engine::ports::ProcessRunner;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The credential from the settings and the environment; `None` if there is none.
///
/// An app's token is not requested yet, because that needs the network. A requested stop is an
/// error, because it does not show whether there is a token.
pub fn find_credential(
    settings: &ForgeSettings,
    environment: &Environment,
    runner: &Arc<dyn ProcessRunner>,
    cancel: &CancelToken,
) -> Result<Option<Credential>, Problem> {
    if let Some(app) = settings.app() {
        let key_file = key_file(settings, environment)?.unwrap_or_default();
        let app = App::new(
            app.id,
            app.installation,
            &key_file,
            &settings.api_url,
            Bounds::default(),
            Route::Environment,
        );
        let identity = hashed(&app.identity());
        return Ok(Some(Credential::renewable(identity, None, Box::new(app))));
    }
    let host = web_host(&settings.api_url);
    if !settings.token_command.is_empty() {
        let source = CommandSource {
            command: settings.token_command.clone(),
            environment: environment.clone(),
            runner: runner.clone(),
        };
        // Each token may be a new one, but the limits belong to one account.
        let identity = hashed(&format!("{host} {:?}", source.command));
        let token = source.token(cancel)?;
        let credential = Credential::renewable(identity, Some(token), Box::new(source));
        return Ok(Some(credential));
    }
    if let Some(found) = in_variable(environment, &settings.token_env) {
        return Ok(Some(Credential::fixed(found.token, found.source)));
    }
    let source = GhSource {
        environment: environment.clone(),
        host,
        runner: runner.clone(),
    };
    let token = source.token(cancel)?;
    Ok(token.map(|token| {
        let identity = token.fingerprint();
        Credential::renewable(identity, Some(token), Box::new(source))
    }))
}

/// The file with the private key of the app, if there is one.
pub fn key_file(
    settings: &ForgeSettings,
    environment: &Environment,
) -> Result<Option<PathBuf>, Problem> {
    let Some(path) = &settings.private_key_file else {
        return Ok(None);
    };
    let Some(below) = path.strip_prefix("~/") else {
        return Ok(Some(Path::new(path).to_owned()));
    };
    let home = environment.absolute_path(HOME).ok_or_else(|| {
        Problem::new(
            Kind::NoHome,
            "`forge.private_key_file` starts with `~/`, but `HOME` is not set",
        )
        .hint("set `HOME`, or use an absolute path")
    })?;
    Ok(Some(home.join(below)))
}

fn hashed(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest[..16].iter().map(|b| format!("{b:02x}")).collect()
}

/// Runs `forge.token_command` for a token.
struct CommandSource {
    command: Vec<String>,
    environment: Environment,
    runner: Arc<dyn ProcessRunner>,
}

impl CommandSource {
    fn token(&self, cancel: &CancelToken) -> Result<Token, Problem> {
        ask_command(
            &self.command,
            &self.environment,
            self.runner.as_ref(),
            cancel,
        )
    }
}

impl TokenSource for CommandSource {
    fn ask(&self, around: &Surroundings) -> Result<Minted, Problem> {
        let token = self.token(&around.cancel)?;
        Ok(Minted {
            token,
            lives: None,
            granted: None,
        })
    }

    fn describe(&self) -> String {
        COMMAND.to_owned()
    }

    fn advice(&self) -> String {
        "run the command yourself, and check that its token is valid for this repository".to_owned()
    }
}

/// The source `gh auth token`.
struct GhSource {
    environment: Environment,
    host: String,
    runner: Arc<dyn ProcessRunner>,
}

impl GhSource {
    fn token(&self, cancel: &CancelToken) -> Result<Option<Token>, Problem> {
        let runner = self.runner.as_ref();
        let asked = ask_gh(&self.environment, &self.host, runner, cancel);
        if asked.is_none() && cancel.asked().is_some() {
            let what = format!("{GH} was stopped");
            return Err(Problem::new(Kind::Interrupted, what));
        }
        Ok(asked)
    }
}

impl TokenSource for GhSource {
    fn ask(&self, around: &Surroundings) -> Result<Minted, Problem> {
        let token = self.token(&around.cancel)?.ok_or_else(|| {
            let what = format!("the forge does not accept the token, and {GH} prints none");
            Problem::new(Kind::ForgeToken, what).hint(self.advice())
        })?;
        Ok(Minted {
            token,
            lives: None,
            granted: None,
        })
    }

    fn describe(&self) -> String {
        GH.to_owned()
    }

    fn advice(&self) -> String {
        format!("run `gh auth login --hostname {}`", self.host)
    }

    fn is_for_git(&self) -> bool {
        false
    }
}
