//! `drive.doctor/1`.

use super::error::Failure;
use super::value::mirror;
use drive_adapters::doctor::{Check, Need, Status};
use drive_core::Problem;
use schemars::JsonSchema;
use serde::Serialize;

/// Checks of the programs installed here and of the isolation that this machine can enforce.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DoctorDocument {
    checks: Vec<CheckDocument>,
    /// The agents of the settings that can run here.
    usable_agents: Vec<String>,
    /// Why drive cannot work here, or that no agent can run; absent where all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<Failure>,
}

/// One check.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CheckDocument {
    /// A stable name, such as `git` or `agent.codex`.
    #[schemars(length(min = 1))]
    name: String,
    status: CheckStatus,
    /// The check's finding, in one line.
    detail: String,
    /// The next step, if something is missing.
    hint: Option<String>,
    need: CheckNeed,
}

mirror! {
    /// The result of a check.
    #[serde(rename_all = "camelCase")]
    CheckStatus = Status {
        /// As it should be.
        Ok,
        /// Not there, or not usable.
        Missing,
        /// There, with less than it could give.
        Degraded,
    }
}

mirror! {
    /// Whether drive can do without it.
    #[serde(rename_all = "camelCase")]
    CheckNeed = Need {
        /// Nothing works without it.
        Required,
        /// Some commands need it.
        Optional,
    }
}

impl DoctorDocument {
    pub(crate) fn new(checks: &[Check], usable: &[&str], problem: Option<&Problem>) -> Self {
        Self {
            checks: checks.iter().map(CheckDocument::from).collect(),
            usable_agents: usable.iter().map(|name| (*name).to_owned()).collect(),
            failure: problem.map(Failure::from),
        }
    }
}

impl From<&Check> for CheckDocument {
    fn from(check: &Check) -> Self {
        Self {
            name: check.name.clone(),
            status: check.status.into(),
            detail: check.detail.clone(),
            hint: check.hint.clone(),
            need: check.need.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_published_as_the_check_writes_them() {
        for (written, published) in [CheckStatus::both(), CheckNeed::both()].concat() {
            assert_eq!(published, written);
        }
    }
}
