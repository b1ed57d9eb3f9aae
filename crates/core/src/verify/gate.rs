//! The gate: decides whether a report allows the merge of one commit into one base.

use super::envelope::{Overall, SCHEMA, Stage, StageEnd, StageStatus, Verification};
use super::rules_from::RulesFrom;
use crate::ids::{CommitSha, TreeSha};

/// The tree that `report` allows to land without a person when `head` is merged into `base`.
///
/// Besides a [pass](passed), the rules must be those of the base or the user's own: a candidate
/// must not write its own rules.
pub fn promotable<'a>(
    report: &'a Verification,
    head: &CommitSha,
    base: &CommitSha,
) -> Option<&'a TreeSha> {
    promotable_by(base, report, head, base)
}

/// Like `promotable`, for a `base` on a branch that agents write: the rules must be those of another commit.
pub fn promotable_by<'a>(
    rules: &CommitSha,
    report: &'a Verification,
    head: &CommitSha,
    base: &CommitSha,
) -> Option<&'a TreeSha> {
    let has_rules = match &report.candidate.rules_from {
        Some(RulesFrom::Commit(from)) => from == rules,
        // The user named a file of their own instead of the repository's.
        Some(RulesFrom::OwnSettings) => true,
        Some(RulesFrom::WorkingCopy) | None => false,
    };
    passed(report, head, base).filter(|_| has_rules)
}

/// The tree that passed, if `report` is about `head` merged into `base`.
///
/// `None` for any other pair of commits, for a commit that was verified without a base, for a
/// report of another version, for a contradictory report, and for one without stages: nothing
/// passes by accident. Missing isolation layers do not matter here, because `isolation = "require"`
/// checks them before a stage starts.
pub fn passed<'a>(
    report: &'a Verification,
    head: &CommitSha,
    base: &CommitSha,
) -> Option<&'a TreeSha> {
    let has_passed = report.schema == SCHEMA
        && report.overall == Overall::Pass
        && report.failure.is_none()
        && is_full(head)
        && is_full(base)
        && report.candidate.head_sha.as_ref() == Some(head)
        && report.candidate.base_sha.as_ref() == Some(base)
        && report.candidate.rules_from.is_some()
        && report.workspace.path.is_some()
        && !report.stages.is_empty()
        && report.stages.iter().all(is_satisfied);
    let tree = report.candidate.merged_tree_sha.as_ref();
    // The report comes from a file, which may contain anything.
    tree.filter(|tree| has_passed && TreeSha::parse(tree.as_str()).is_some())
}

/// Whether one stage allows the merge.
pub(super) fn is_satisfied(stage: &Stage) -> bool {
    match stage.status {
        StageStatus::Pass => ended_well(stage),
        StageStatus::Skipped => !stage.required && stage.reason.is_some() && stage.ended.is_none(),
        StageStatus::Fail | StageStatus::Timeout | StageStatus::Error => false,
    }
}

/// Whether the command of a passed stage also ended successfully.
fn ended_well(stage: &Stage) -> bool {
    stage.ended == Some(StageEnd::Exited) && stage.exit_code == Some(0) && stage.signal.is_none()
}

fn is_full(sha: &CommitSha) -> bool {
    CommitSha::parse(sha.as_str()).is_some()
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
