//! The gate: decides whether a report allows the merge of one commit into one base.

use super::envelope::{Overall, SCHEMA, Stage, StageEnd, StageStatus, Verification};
use crate::ids::CommitSha;

/// Whether `report` allows `head` to be promoted onto `base`.
///
/// False for any other commit pair, for a report of another version, for a report that contradicts
/// itself, and for one without a single stage: nothing passes by accident. Which isolation layers
/// held does not decide here, because `isolation = "require"` decides it before a stage starts.
pub fn promotable(report: &Verification, head: &CommitSha, base: &CommitSha) -> bool {
    report.schema == SCHEMA
        && report.overall == Overall::Pass
        && report.failure.is_none()
        && is_full(head)
        && is_full(base)
        && report.candidate.head_sha.as_ref() == Some(head)
        && report.candidate.base_sha.as_ref() == Some(base)
        && report.workspace.path.is_some()
        && !report.stages.is_empty()
        && report.stages.iter().all(is_satisfied)
}

/// Whether one stage allows the merge.
pub(super) fn is_satisfied(stage: &Stage) -> bool {
    match stage.status {
        StageStatus::Pass => ended_well(stage),
        StageStatus::Skipped => !stage.required && stage.reason.is_some() && stage.ended.is_none(),
        StageStatus::Fail | StageStatus::Timeout | StageStatus::Error => false,
    }
}

/// A pass must also have ended like one.
fn ended_well(stage: &Stage) -> bool {
    stage.ended == Some(StageEnd::Exited) && stage.exit_code == Some(0) && stage.signal.is_none()
}

/// A report is read from a file, which may say anything.
fn is_full(sha: &CommitSha) -> bool {
    CommitSha::parse(sha.as_str()).is_some()
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
