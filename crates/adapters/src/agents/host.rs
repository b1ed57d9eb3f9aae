use super::keys::Keys;
use super::projection::{Projection, project};
use crate::Environment;
use crate::environment::HOME;
use drive_core::agent::{
    AgentConfig, AgentKind, allowed_env, config_dir_variable, secret_values, withheld_values,
};
use drive_core::problem::Problem;
use drive_core::process::Layer;
use drive_core::time::Timestamp;
use drive_engine::ports::ProcessRunner;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// Everything besides its settings that an agent needs.
#[derive(Clone)]
pub struct AgentHost {
    /// Starts the agents' processes.
    pub runner: Arc<dyn ProcessRunner>,
    /// The caller's environment, of which agents get a part.
    pub environment: Environment,
    /// The caller's checkout, to which relative commands in the settings refer.
    pub base: PathBuf,
    /// A folder for files that belong to no run.
    pub scratch: PathBuf,
    /// The state directory, which is hidden from agents.
    pub state: PathBuf,
    /// The variable with the forge's token, which no agent gets.
    pub forge_token_env: String,
    /// Files that are hidden from agents everywhere, such as the private key of a GitHub App.
    pub hidden: Vec<PathBuf>,
    /// Values that no log and no event may contain, in addition to the agent's own secrets.
    pub secrets: Vec<String>,
}

/// What is known of an agent's login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginState {
    /// It has neither a login nor a key.
    Missing,
    /// It calls its model with a key.
    Key,
    /// It calls its model with the login of its program.
    Login {
        /// When the access that it can use without renewing it ends.
        ends: Option<Timestamp>,
    },
}

impl AgentHost {
    /// The secrets that an agent with these settings gets, or that are withheld from it.
    pub fn secret_values(&self, config: &AgentConfig) -> Vec<String> {
        let projection = self.projection("", config).unwrap_or_default();
        self.known_secrets(config, &projection)
    }

    /// The layer that keeps the logins of an agent with drive; `None` if the agent has no logins.
    /// The second value tells whether a missing layer is refused if isolation is required.
    pub fn keys(&self, config: &AgentConfig) -> Option<(Layer, bool)> {
        let projection = self.projection("", config).ok()?;
        let env = allowed_env(config, &self.caller(&projection), &self.forge_token_env);
        let keys = Keys::of(config.kind, env, &projection).ok()?;
        Some((keys.layer()?, !keys.is_named))
    }

    /// What is known of the login of an agent with these settings, without asking anybody and without
    /// its value; `None` for an agent whose logins drive does not know.
    pub fn login(&self, config: &AgentConfig) -> Option<LoginState> {
        match config.kind {
            AgentKind::ClaudeCode | AgentKind::GeminiCli | AgentKind::Codex => {}
            AgentKind::Acp | AgentKind::Command => return None,
        }
        let projection = self.projection("", config).ok()?;
        let env = allowed_env(config, &self.caller(&projection), &self.forge_token_env);
        let keys = Keys::of(config.kind, env, &projection).ok()?;
        Some(match (keys.lacks_login, keys.by_login) {
            (true, _) => LoginState::Missing,
            (false, true) => LoginState::Login {
                ends: projection.login_ends,
            },
            (false, false) => LoginState::Key,
        })
    }

    pub(super) fn known_secrets(
        &self,
        config: &AgentConfig,
        projection: &Projection,
    ) -> Vec<String> {
        let caller = self.caller(projection);
        let mut values =
            secret_values(config, &allowed_env(config, &caller, &self.forge_token_env));
        values.extend(withheld_values(&caller, &self.forge_token_env));
        values.extend(projection.secrets.iter().cloned());
        values
    }

    /// The part of the user's files for the agent's program that the agent gets.
    pub(super) fn projection(
        &self,
        agent: &str,
        config: &AgentConfig,
    ) -> Result<Projection, Problem> {
        let folder = config_dir_variable(config.kind)
            .and_then(|name| self.environment.get(name))
            .map(PathBuf::from);
        project(
            agent,
            config,
            self.real_home().as_deref(),
            folder.as_deref(),
        )
    }

    /// The caller's environment on top of the variables that the program's own files set.
    pub(super) fn caller(&self, projection: &Projection) -> BTreeMap<OsString, OsString> {
        let own = projection.variables.iter();
        let own = own.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let caller = self.environment.iter();
        own.chain(caller.map(|(name, value)| (name.to_owned(), value.to_owned())))
            .collect()
    }

    pub(super) fn real_home(&self) -> Option<PathBuf> {
        let home = self.environment.absolute_path(HOME)?;
        Some(home.canonicalize().unwrap_or(home))
    }
}
