//! The variables, files and grants of one agent, and how a dummy takes the place of a key.

use crate::broker::Grant;
use crate::entropy::random_token;
use drive_core::problem::Problem;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::net::TcpListener;

/// When a dummy login ends: a program that takes it for old would try to renew it.
pub(super) const FAR: i64 = 4_102_444_800_000;

/// What an agent is given, and what the broker has instead of it.
#[derive(Default)]
pub(in crate::agents) struct Keys {
    /// The variables of the agent's environment.
    pub(in crate::agents) env: BTreeMap<OsString, OsString>,
    /// The files of its private home.
    pub(in crate::agents) files: Vec<(&'static str, String)>,
    /// Empty where there is nothing that a broker could hold.
    pub(in crate::agents) grants: Vec<Grant>,
    /// The login that the agent is given as it is.
    pub(in crate::agents) held: Option<Cow<'static, str>>,
    /// Whether the user named what is held by its variable: no broker could hold it, so it is told and
    /// not refused.
    pub(in crate::agents) is_named: bool,
    /// Whether it calls its model with the login of a file, and so only as long as that holds.
    pub(in crate::agents) by_login: bool,
    /// Whether it has neither a key nor a login, though its model asks for one.
    pub(in crate::agents) lacks_login: bool,
    /// The broker's address.
    pub(super) url: String,
    /// The port that the broker will serve.
    pub(super) listener: Option<(TcpListener, u16)>,
}

impl Keys {
    /// A variable that is set to something.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        let value = self.env.get(OsStr::new(name))?.to_str()?;
        Some(value).filter(|value| !value.is_empty())
    }

    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.env.insert(name.into(), value.into());
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.env.remove(OsStr::new(name));
    }

    /// Puts a dummy into a variable that holds a key.
    pub(super) fn take_variable(&mut self, name: &str, upstream: &str) -> Result<(), Problem> {
        if let Some(real) = self.variable(name).map(str::to_owned) {
            let dummy = self.grant(&real, upstream)?;
            self.set(name, &dummy);
        }
        Ok(())
    }

    /// A dummy for a key.
    pub(super) fn grant(&mut self, real: &str, upstream: &str) -> Result<String, Problem> {
        let dummy = format!("drive-{}", random_token()?);
        self.grant_as(dummy.clone(), real, upstream, Vec::new());
        Ok(dummy)
    }

    pub(super) fn grant_as(
        &mut self,
        dummy: String,
        real: &str,
        upstream: &str,
        headers: Vec<(String, String)>,
    ) {
        self.grants.push(Grant {
            dummy,
            real: real.to_owned(),
            upstream: upstream.trim_end_matches('/').to_owned(),
            headers,
        });
    }

    pub(super) fn file(&self, name: &str) -> Option<&str> {
        let mut files = self.files.iter();
        files
            .find(|(known, _)| *known == name)
            .map(|(_, text)| text.as_str())
    }

    /// A file that the projection wrote as JSON.
    pub(super) fn json(&self, name: &str) -> Option<Value> {
        serde_json::from_str(self.file(name)?).ok()
    }

    pub(super) fn write(&mut self, name: &str, text: String) {
        if let Some(file) = self.files.iter_mut().find(|(known, _)| *known == name) {
            file.1 = text;
        }
    }
}
