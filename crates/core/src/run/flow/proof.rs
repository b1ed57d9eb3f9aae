//! Tells whether a verification report proves a commit.

use crate::cruise::Cause;
use crate::verify::{FailureCategory, Fault, Overall, Verification};

/// Why a report does not allow the merge.
pub(super) fn failure_of(report: &Verification) -> String {
    match &report.failure {
        Some(failure) => format!("{}: {}", failure.category.as_str(), failure.reason),
        None => "the report is for another commit or base".to_owned(),
    }
}

/// Why a report that proves nothing does not.
pub(super) fn cause_of(report: &Verification) -> Cause {
    let is_away = report
        .stages
        .iter()
        .any(|one| one.fault == Some(Fault::Infra));
    let failure = report.failure.as_ref();
    match failure.map(|one| (one.category, one.stage.is_some())) {
        _ if is_away => Cause::Machine,
        Some((FailureCategory::Infra, _)) => Cause::Machine,
        // What it is about is what ran that long, or passed only now and then.
        Some((FailureCategory::Timeout | FailureCategory::Flaky, true)) => Cause::Candidate,
        Some((
            FailureCategory::Compile
            | FailureCategory::Test
            | FailureCategory::Startup
            | FailureCategory::Timeout
            | FailureCategory::Resource
            | FailureCategory::Policy
            | FailureCategory::Baseline
            | FailureCategory::Flaky,
            _,
        ))
        | None => Cause::Base,
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
