//! Check runs and commit statuses of a pull request's head: their states, and whether the head may land.

mod failure;

pub use failure::{ANNOTATIONS, Annotation, CheckFailure, LOG_BYTES};

use crate::ids::CommitSha;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The context under which drive reports its review.
pub const REVIEW_CONTEXT: &str = "drive/review";
/// The context under which drive reports a verification.
pub const VERIFY_CONTEXT: &str = "drive/verify";

/// The source of a check.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum CheckSource {
    /// A check run, which an app reports.
    CheckRun,
    /// A commit status.
    Status,
}

/// The state of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CheckState {
    /// It has not ended.
    Pending,
    /// The check passed.
    Passed,
    /// It failed, or ended without a result.
    Failed,
    /// It ended without an objection to the commit: neutral, or skipped.
    Neutral,
}

impl CheckState {
    /// The state of a check run, from GitHub's words. A run that ended with an unknown conclusion
    /// has not passed.
    pub fn of_run(status: &str, conclusion: Option<&str>) -> Self {
        if !status.eq_ignore_ascii_case("completed") {
            return Self::Pending;
        }
        match conclusion.unwrap_or_default().to_ascii_lowercase().as_str() {
            "success" => Self::Passed,
            "neutral" | "skipped" => Self::Neutral,
            _ => Self::Failed,
        }
    }

    /// The state of a commit status, from GitHub's word. An unknown word counts as pending.
    pub fn of_status(state: &str) -> Self {
        match state.to_ascii_lowercase().as_str() {
            "success" => Self::Passed,
            "failure" | "error" => Self::Failed,
            _ => Self::Pending,
        }
    }
}

/// A check run or commit status of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ForgeCheck")]
pub struct Check {
    /// The name of the check run, or the context of the status.
    pub name: String,
    /// A check run or a status.
    pub source: CheckSource,
    /// The state of the check.
    pub state: CheckState,
    /// Whether the base requires it.
    #[serde(default)]
    pub required: bool,
    /// A link for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its own words about the result, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Details of the failure, if the forge provides them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<CheckFailure>,
}

impl Check {
    /// Whether drive itself reports this check.
    pub fn is_own(&self) -> bool {
        is_own(&self.name)
    }

    /// An identifier of the failure: another run that fails for the same reason has the same one.
    /// Numbers, times and ids, which change from run to run, are left out.
    pub fn fingerprint(&self) -> String {
        let summary = self.summary.as_deref().unwrap_or_default();
        failure::fingerprint(&self.name, self.failure.as_ref(), summary)
    }
}

/// All checks of one commit, read completely.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ForgeChecks")]
pub struct Checks {
    /// The commit.
    pub head: CommitSha,
    /// Its checks, by name.
    pub checks: Vec<Check>,
    /// The names that the base requires.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<String>,
}

impl Checks {
    /// The checks of a commit, sorted by name; those that the base requires are marked.
    pub fn new(head: CommitSha, mut checks: Vec<Check>, required: Vec<String>) -> Self {
        let required: BTreeSet<String> = required.into_iter().collect();
        for check in &mut checks {
            check.required = required.contains(&check.name);
        }
        checks.sort_by(|a, b| (&a.name, a.source).cmp(&(&b.name, b.source)));
        Self {
            head,
            checks,
            required: required.into_iter().collect(),
        }
    }

    /// The checks without drive's own.
    #[must_use]
    pub fn without_own(&self) -> Self {
        let mut others = self.clone();
        others.checks.retain(|check| !check.is_own());
        others.required.retain(|name| !is_own(name));
        others
    }

    /// The failed checks that a fixer can fix: all but drive's own.
    pub fn failing(&self) -> impl Iterator<Item = &Check> {
        let checks = self.checks.iter();
        checks.filter(|check| check.state == CheckState::Failed && !check.is_own())
    }
}

/// Whether the checks of a head let it land.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// The head may land.
    Green,
    /// Some checks have not ended.
    Pending {
        /// Their names.
        names: Vec<String>,
    },
    /// Some checks failed.
    Red {
        /// Their names.
        names: Vec<String>,
    },
    /// The base requires checks that were not reported for this commit.
    Missing {
        /// Their names.
        names: Vec<String>,
    },
}

/// Decides whether a head may land by its checks.
///
/// If the base requires checks, only those count, as on the forge; otherwise all of them do, because it is
/// unknown which matter. Drive's own checks count only if the base requires them, because drive must not wait
/// for itself. Failed checks are reported before pending ones, and pending ones before missing ones.
pub fn gate(checks: &Checks) -> Gate {
    let counts = |check: &&Check| {
        if checks.required.is_empty() {
            !check.is_own()
        } else {
            check.required
        }
    };
    let names = |state: CheckState| -> Vec<String> {
        let counted = checks.checks.iter().filter(counts);
        let found = counted.filter(|check| check.state == state);
        let names: BTreeSet<String> = found.map(|check| check.name.clone()).collect();
        names.into_iter().collect()
    };
    let red = names(CheckState::Failed);
    if !red.is_empty() {
        return Gate::Red { names: red };
    }
    let pending = names(CheckState::Pending);
    if !pending.is_empty() {
        return Gate::Pending { names: pending };
    }
    let reported: BTreeSet<&str> = checks.checks.iter().map(|c| c.name.as_str()).collect();
    let required = checks.required.iter();
    let missing: Vec<String> = required
        .filter(|name| !reported.contains(name.as_str()))
        .cloned()
        .collect();
    if missing.is_empty() {
        Gate::Green
    } else {
        Gate::Missing { names: missing }
    }
}

fn is_own(name: &str) -> bool {
    matches!(name, REVIEW_CONTEXT | VERIFY_CONTEXT)
}

/// Checks by their names, as text.
pub fn named(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [one] => format!("check {one}"),
        many => format!("checks {}", many.join(", ")),
    }
}

#[cfg(test)]
mod tests;
