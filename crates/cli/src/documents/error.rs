//! `drive.error/1`, and the failure that other documents hold.

use drive_core::problem::{Kind, Problem};
use schemars::JsonSchema;
use serde::Serialize;

/// Why a command did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    /// The failure in one line: what failed, on what.
    #[schemars(length(min = 1))]
    pub(crate) message: String,
    /// The command to run or the setting to change next.
    pub(crate) hint: Option<String>,
    /// The causes below it, outermost first.
    pub(crate) causes: Vec<String>,
}

impl From<&Problem> for Failure {
    fn from(problem: &Problem) -> Self {
        Self {
            kind: problem.kind,
            message: problem.message.clone(),
            hint: problem.hint.clone(),
            causes: problem.causes.clone(),
        }
    }
}

/// A command that failed before it had a document of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErrorDocument {
    kind: Kind,
    /// The failure in one line: what failed, on what.
    #[schemars(length(min = 1))]
    message: String,
    /// The command to run or the setting to change next.
    hint: Option<String>,
    /// The exit code of the command.
    #[schemars(extend("enum" = [1, 2, 3, 130]))]
    exit_code: u8,
    /// The same, as the documents of other commands hold it.
    failure: Failure,
}

impl From<&Problem> for ErrorDocument {
    fn from(problem: &Problem) -> Self {
        Self {
            kind: problem.kind,
            message: problem.message.clone(),
            hint: problem.hint.clone(),
            exit_code: problem.exit_code(),
            failure: Failure::from(problem),
        }
    }
}
