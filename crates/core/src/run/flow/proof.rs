//! Checks whether a verification report proves a commit.

use crate::cruise::Cause;
use crate::verify::{FailureCategory, Fault, Overall, Verification};

/// Why a report does not allow the merge, as text.
pub(super) fn failure_of(report: &Verification) -> String {
    match &report.failure {
        Some(failure) => format!("{}: {}", failure.category.as_str(), failure.reason),
        None => "the report is for another commit or base".to_owned(),
    }
}

/// The cause of a report that is no proof.
pub(super) fn cause_of(report: &Verification) -> Cause {
    let is_away = report
        .stages
        .iter()
        .any(|one| one.fault == Some(Fault::Infra));
    let failure = report.failure.as_ref();
    match failure.map(|one| (one.category, one.stage.is_some())) {
        _ if is_away => Cause::Machine,
        Some((FailureCategory::Infra, _)) => Cause::Machine,
        // The tested commit itself took that long, or is flaky.
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

/// Whether a report proves that the verified commit is broken. A failure before the first stage, of
/// the machine, of a flaky test or of the base as well proves nothing.
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
