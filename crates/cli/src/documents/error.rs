//! `drive.error/1`, and the failure that other documents hold.

use drive_core::problem::{Kind, Problem};
use schemars::JsonSchema;
use serde::Serialize;

/// The reason why a command failed.
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

/// The document of a command that failed before it had another one.
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
    /// The failure, in the form that the documents of other commands use too.
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
