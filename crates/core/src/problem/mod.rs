//! The one error type that reaches users.
//!
//! A [`Problem`] says what failed and on what, who must act, and what to do next. It is plain data:
//! the journal, `--json` and the terminal show it unchanged.

mod kind;

pub use kind::Kind;

use serde::{Deserialize, Serialize};
use std::fmt;

/// Who must act on a problem. This decides the exit code of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The work did not succeed: the agent failed, the review did not approve, verification failed.
    Work,
    /// The caller made a mistake in the usage or the configuration.
    Usage,
    /// The environment failed: git, forge, disk, an agent that is not installed.
    Environment,
    /// A person or a signal stopped the work.
    Interrupted,
}

impl Class {
    /// The exit code documented in the contract.
    pub fn exit_code(self) -> u8 {
        match self {
            Class::Work => 1,
            Class::Usage => 2,
            Class::Environment => 3,
            Class::Interrupted => 130,
        }
    }
}

/// A problem: what failed, on what, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The kind, from which class and exit code follow.
    pub kind: Kind,
    /// A lowercase fragment that names the thing in backticks.
    pub message: String,
    /// What to run or change next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The underlying causes, outermost first. They never repeat `message`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
}

/// The first `drive` command that a text names in backticks.
pub fn command_in(text: &str) -> Option<String> {
    let mut quoted = text.split('`').skip(1).step_by(2);
    let command = quoted.find(|one| one.starts_with("drive "))?;
    Some(command.to_owned())
}

impl Problem {
    /// A problem without a hint and without causes.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
            causes: Vec::new(),
        }
    }

    /// The class, which says who must act.
    pub fn class(&self) -> Class {
        self.kind.class()
    }

    /// The exit code of a command that fails with this problem.
    pub fn exit_code(&self) -> u8 {
        self.kind.exit_code()
    }

    /// Sets the hint: the next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds an error and its sources as causes.
    #[must_use]
    pub fn because(mut self, source: impl std::error::Error) -> Self {
        self.causes.push(source.to_string());
        let mut next = source.source();
        while let Some(error) = next {
            self.causes.push(error.to_string());
            next = error.source();
        }
        self
    }

    /// Adds a cause as plain text.
    #[must_use]
    pub fn cause(mut self, cause: impl Into<String>) -> Self {
        self.causes.push(cause.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        for cause in &self.causes {
            write!(f, ": {cause}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}
