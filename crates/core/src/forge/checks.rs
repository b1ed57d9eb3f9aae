//! Check runs and commit statuses of a pull request's head: what each says, and whether the head may
//! land.

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

/// Where a check comes from.
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

/// What a check says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CheckState {
    /// It has not ended.
    Pending,
    /// The check passed.
    Passed,
    /// It failed, or ended without a result.
    Failed,
    /// It ended and has nothing against the commit: neutral, or skipped.
    Neutral,
}

impl CheckState {
    /// The state of a check run, by GitHub's words. One that ended with an unknown conclusion has
    /// not passed.
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

    /// The state of a commit status, by GitHub's words. An unknown word is no result.
    pub fn of_status(state: &str) -> Self {
        match state.to_ascii_lowercase().as_str() {
            "success" => Self::Passed,
            "failure" | "error" => Self::Failed,
            _ => Self::Pending,
        }
    }
}

/// One check run or commit status of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ForgeCheck")]
pub struct Check {
    /// The name of the check run, or the context of the status.
    pub name: String,
    /// A check run or a status.
    pub source: CheckSource,
    /// What it says.
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
    /// What failed, where the forge tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<CheckFailure>,
}

impl Check {
    /// Whether drive reports it itself.
    pub fn is_own(&self) -> bool {
        is_own(&self.name)
    }

    /// A name for this very failure: the same for another run that fails for the same reason. What
    /// changes from run to run (numbers, times, ids) is left out.
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
    /// The checks of a commit, in order of their names; those that the base requires are marked.
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

    /// The same without what drive reports itself.
    #[must_use]
    pub fn without_own(&self) -> Self {
        let mut others = self.clone();
        others.checks.retain(|check| !check.is_own());
        others.required.retain(|name| !is_own(name));
        others
    }

    /// The failed checks that a fixer can do something about: all but drive's own.
    pub fn failing(&self) -> impl Iterator<Item = &Check> {
        let checks = self.checks.iter();
        checks.filter(|check| check.state == CheckState::Failed && !check.is_own())
    }
}

/// Whether the checks of a head let it land.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Nothing is in the way.
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
    /// The base requires checks that nobody has reported for this commit.
    Missing {
        /// Their names.
        names: Vec<String>,
    },
}

/// Decides whether a head may land by its checks.
///
/// Where the base requires checks, those decide, as on the forge; otherwise every check counts, since
/// nobody told which of them matter. Drive's own count only where the base requires them: drive must
/// not wait for itself. A failure is told before what is pending, and that before what is missing.
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
