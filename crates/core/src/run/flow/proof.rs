//! Tells whether a verification report proves a commit.

use crate::verify::{FailureCategory, Overall, Verification};

/// Why a report does not allow the merge.
pub(super) fn failure_of(report: &Verification) -> String {
    match &report.failure {
        Some(failure) => format!("{}: {}", failure.category.as_str(), failure.reason),
        None => "the report is for another commit or base".to_owned(),
    }
}

/// Whether a report shows that what it is about is broken. What fails before the first stage, because
/// of the machine, now and then, or on the base as well, does not.
pub(super) fn is_proof(report: &Verification) -> bool {
    let failure = report.failure.as_ref();
    let failed = failure
        .filter(|one| one.stage.is_some())
        .map(|one| one.category);
    report.overall == Overall::Fail
        && match failed {
            Some(
                FailureCategory::Compile
                | FailureCategory::Test
                | FailureCategory::Startup
                | FailureCategory::Resource
                | FailureCategory::Policy,
            ) => true,
            Some(
                FailureCategory::Timeout
                | FailureCategory::Infra
                | FailureCategory::Baseline
                | FailureCategory::Flaky,
            )
            | None => false,
        }
}
