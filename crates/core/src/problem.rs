//! One shape for everything that goes wrong on the way to a user.
//!
//! A [`Problem`] says what failed and on what, who must act, and what to do next. It is plain data:
//! it goes unchanged into the journal, into `--json` and onto the terminal.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Who must act, and so which exit code the command ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Class {
    /// The work did not succeed: the agent failed, the review did not approve, verification failed.
    Work,
    /// The caller asked for something wrong: usage or configuration.
    Usage,
    /// The environment failed: git, forge, disk, an agent that is not installed.
    Environment,
    /// A person or a signal stopped it.
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

/// What failed, on what, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// Who must act.
    pub class: Class,
    /// A stable camel-case name that scripts may match, such as `notARepository`.
    pub kind: String,
    /// A lowercase fragment that names the thing in backticks.
    pub message: String,
    /// What to run or change next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What lay underneath, outermost first. Never repeats `message`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
}

impl Problem {
    /// A problem of the work itself.
    pub fn work(kind: &str, message: impl Into<String>) -> Self {
        Self::new(Class::Work, kind, message)
    }

    /// A problem of usage or configuration.
    pub fn usage(kind: &str, message: impl Into<String>) -> Self {
        Self::new(Class::Usage, kind, message)
    }

    /// A problem of the environment.
    pub fn environment(kind: &str, message: impl Into<String>) -> Self {
        Self::new(Class::Environment, kind, message)
    }

    /// A stop asked for by a person or a signal.
    pub fn interrupted(message: impl Into<String>) -> Self {
        Self::new(Class::Interrupted, "interrupted", message)
    }

    fn new(class: Class, kind: &str, message: impl Into<String>) -> Self {
        Self {
            class,
            kind: kind.to_owned(),
            message: message.into(),
            hint: None,
            causes: Vec::new(),
        }
    }

    /// The same problem with a next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same problem with the chain of errors underneath.
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

    /// The same problem with one more plain-text cause.
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
