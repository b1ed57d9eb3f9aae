//! Credentials of an agent: the keys and logins that stay with drive, and the dummies that replace them.
//!
//! Its program uses the broker's address as that of its model, and finds a dummy in place of the
//! user's key or token: in variables, and in the files of its private home.

mod claude;
mod codex;
mod gemini;
mod held;

pub(super) use held::Keys;

use super::projection::Projection;
use crate::broker::{Broker, Dialect, OnUsage, Outside, Renew};
use drive_core::agent::{AgentKind, looks_secret, proxy_of};
use drive_core::problem::{Kind, Problem};
use drive_core::process::{Layer, LayerName};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;

/// The minimum length of a secret.
const LEAST_SECRET: usize = 6;

/// The protocol of a kind's model; `None` for a kind whose program may use any.
fn dialect(kind: AgentKind) -> Option<Dialect> {
    match kind {
        AgentKind::ClaudeCode => Some(Dialect::Anthropic),
        AgentKind::GeminiCli => Some(Dialect::Gemini),
        AgentKind::Codex => Some(Dialect::OpenAi),
        AgentKind::Acp | AgentKind::Command => None,
    }
}

impl Keys {
    /// Replaces the credentials in these variables and files by dummies, for an agent of this kind.
    pub(super) fn of(
        kind: AgentKind,
        env: BTreeMap<OsString, OsString>,
        projection: &Projection,
    ) -> Result<Self, Problem> {
        let (listener, port) = Broker::bind().map_err(no_broker)?;
        let mut keys = Self::placed(kind, env, projection, port)?;
        keys.listener = Some((listener, port)).filter(|_| !keys.grants.is_empty());
        Ok(keys)
    }

    /// The layer that keeps its logins outside; `None` if it has no logins.
    pub(super) fn layer(&self) -> Option<Layer> {
        match &self.held {
            Some(why) => Some(Layer::missing(LayerName::Keys, why)),
            None if self.grants.is_empty() => None,
            None => Some(Layer::active(LayerName::Keys)),
        }
    }

    /// The port of the broker, if there are credentials to hold.
    pub(super) fn port(&self) -> Option<u16> {
        self.listener.as_ref().map(|(_, port)| *port)
    }

    /// Starts the broker, if there are credentials to hold.
    pub(super) fn start(
        &mut self,
        kind: AgentKind,
        renew: Renew,
        on_usage: OnUsage,
    ) -> Result<Option<Broker>, Problem> {
        let (Some(dialect), Some((listener, _))) = (dialect(kind), self.listener.take()) else {
            return Ok(None);
        };
        let outside = Outside::of(&self.env);
        Broker::start(listener, dialect, &self.grants, &outside, renew, on_usage)
            .map(Some)
            .map_err(no_broker)
    }

    /// Like `of`, for a broker at this port.
    pub(super) fn placed(
        kind: AgentKind,
        env: BTreeMap<OsString, OsString>,
        projection: &Projection,
        port: u16,
    ) -> Result<Self, Problem> {
        let mut keys = Self {
            env,
            files: projection.files.clone(),
            grants: Vec::new(),
            held: None,
            is_named: false,
            by_login: false,
            lacks_login: false,
            url: format!("http://127.0.0.1:{port}"),
            listener: None,
        };
        match kind {
            AgentKind::ClaudeCode => claude::place(&mut keys)?,
            AgentKind::GeminiCli => gemini::place(&mut keys)?,
            AgentKind::Codex => codex::place(&mut keys)?,
            AgentKind::Acp | AgentKind::Command => {}
        }
        keys.name_others();
        if !keys.grants.is_empty() {
            keys.pass_by_proxy();
        }
        Ok(keys)
    }

    /// Names the secret-looking variables that the agent gets unchanged. A program of another kind
    /// may use any model, and the three known ones may run tools that need a key of their own.
    fn name_others(&mut self) {
        if self.held.is_some() {
            return;
        }
        let others = self.env.iter().filter_map(|(name, value)| {
            let (name, value) = (name.to_str()?, value.to_str()?);
            let is_dummy = self.grants.iter().any(|grant| grant.dummy == value);
            let is_secret = looks_secret(name) && could_be_secret(value) && !is_dummy;
            is_secret.then(|| format!("`{name}`"))
        });
        let others: Vec<String> = others.collect();
        let verb = if others.len() == 1 { "is" } else { "are" };
        if !others.is_empty() {
            self.held = Some(format!("{} {verb} given to it", others.join(", ")).into());
            self.is_named = true;
        }
    }

    /// Excludes the broker from the user's proxy, which cannot reach it.
    fn pass_by_proxy(&mut self) {
        let Some((_, exceptions)) = proxy_of(&self.env) else {
            return;
        };
        let all = match exceptions {
            "" => "127.0.0.1".to_owned(),
            some => format!("{some},127.0.0.1"),
        };
        self.set("NO_PROXY", &all);
        self.set("no_proxy", &all);
    }
}

/// Whether a value may be a secret, and is not just a switch or a number such as that of
/// `MAX_THINKING_TOKENS`.
fn could_be_secret(value: &str) -> bool {
    value.len() >= LEAST_SECRET && !value.bytes().all(|byte| byte.is_ascii_digit())
}

fn no_broker(error: io::Error) -> Problem {
    let message = "cannot start the broker that holds the agent's key";
    Problem::new(Kind::AgentNotSupervised, message).because(error)
}

#[cfg(test)]
mod tests;
