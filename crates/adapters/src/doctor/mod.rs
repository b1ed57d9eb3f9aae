//! Checks of `drive doctor`: what is installed, what is missing, and which isolation this machine supports.
//!
//! Checks are read-only: they install nothing, and only test whether a secret exists. Only the
//! check of a forge's access uses the network.

mod examine;
mod forge;
mod machine;
mod program;
mod tools;

use crate::Environment;
use drive_core::Problem;
use drive_core::settings::Settings;
use drive_engine::CancelToken;
use drive_engine::ports::ProcessRunner;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Status {
    /// It works.
    Ok,
    /// It is missing or unusable.
    Missing,
    /// It works with restrictions.
    Degraded,
}

/// Whether drive needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Need {
    /// Nothing works without it.
    Required,
    /// Some commands need it.
    Optional,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// A stable name, such as `git` or `agent.codex`.
    pub name: String,
    /// The status.
    pub status: Status,
    /// The result of the check.
    pub detail: String,
    /// How to fix it.
    pub hint: Option<String>,
    /// Whether drive needs it.
    pub need: Need,
}

impl Check {
    fn ok(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            status: Status::Ok,
            detail: detail.into(),
            hint: None,
            need: Need::Optional,
        }
    }

    fn missing(
        name: impl Into<String>,
        detail: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            status: Status::Missing,
            hint: Some(hint.into()),
            ..Self::ok(name, detail)
        }
    }

    fn degraded(
        name: impl Into<String>,
        detail: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            status: Status::Degraded,
            ..Self::missing(name, detail, hint)
        }
    }

    fn required(mut self) -> Self {
        self.need = Need::Required;
        self
    }

    /// A problem as a failed check.
    fn from_problem(name: &str, problem: &Problem) -> Self {
        let hint = problem
            .hint
            .clone()
            .unwrap_or_else(|| "see its cause".to_owned());
        Self::missing(name, problem.to_string(), hint)
    }

    /// The check of the settings files.
    #[must_use]
    pub fn settings(problem: Option<&Problem>) -> Self {
        let check = match problem {
            None => Self::ok("settings", "no mistakes"),
            Some(problem) => {
                let hint = "run `drive config check`; the checks below use the defaults";
                Self::missing("settings", problem.message.clone(), hint)
            }
        };
        check.required()
    }

    /// Whether nothing works until this is fixed.
    #[must_use]
    pub fn blocks(&self) -> bool {
        self.need == Need::Required && self.status == Status::Missing
    }
}

/// The context of all checks.
#[derive(Clone, Copy)]
pub struct Doctor<'a> {
    /// The caller's environment.
    pub environment: &'a Environment,
    /// The runner that starts tools to read their version.
    pub runner: &'a Arc<dyn ProcessRunner>,
    /// Cancels the checks.
    pub cancel: &'a CancelToken,
    /// The effective settings.
    pub settings: &'a Settings,
    /// The folder in which drive was called.
    pub folder: &'a Path,
}
