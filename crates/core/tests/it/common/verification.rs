//! Examples of verification reports.

use super::{at, run_id};
use drive_core::ids::{CommitSha, TreeSha};
use drive_core::run::EffectResult;
use drive_core::verify::{
    Candidate, Failure, FailureCategory, Overall, RulesFrom, SCHEMA, Stage, StageEnd, StageName,
    StageResource, StageStatus, Timing, Verification, Workspace,
};

/// The commit of the base branch.
pub fn base() -> String {
    "d".repeat(40)
}

/// The tree of the work merged into it.
pub fn tree() -> String {
    "e".repeat(40)
}

/// A report in which everything passed.
pub fn passed(head: &str, base: &str) -> Verification {
    Verification {
        schema: SCHEMA.into(),
        run_id: run_id(),
        overall: Overall::Pass,
        candidate: Candidate {
            head_sha: Some(CommitSha::new(head)),
            base_sha: Some(CommitSha::new(base)),
            merged_tree_sha: TreeSha::parse(&tree()),
            rules_from: Some(RulesFrom::Commit(CommitSha::new(base))),
        },
        workspace: Workspace {
            path: Some("/state/sandboxes/verify".into()),
            isolated: true,
            ..Workspace::default()
        },
        timing: Timing::between(at(1), at(2)),
        stages: vec![Stage {
            name: StageName::TargetedTests,
            status: StageStatus::Pass,
            ended: Some(StageEnd::Exited),
            route: "all".into(),
            required: true,
            command: vec!["make".into(), "test".into()],
            cwd: Some("/state/sandboxes/verify".into()),
            exit_code: Some(0),
            signal: None,
            duration_ms: 1_000,
            stdout_tail: "1 passed".into(),
            stderr_tail: String::new(),
            truncated_bytes: 0,
            resource: StageResource::default(),
            leaked_processes: 0,
            reason: None,
            fault: None,
            failed_tests: Vec::new(),
            tests: None,
        }],
        failure: None,
        cached_from: None,
        protected_changes: Vec::new(),
        notes: Vec::new(),
    }
}

/// A report in which the tests failed.
pub fn failed(head: &str, base: &str) -> Verification {
    let mut report = passed(head, base);
    report.overall = Overall::Fail;
    report.stages[0].status = StageStatus::Fail;
    report.stages[0].exit_code = Some(1);
    report.failure = Some(Failure {
        category: FailureCategory::Test,
        reason: "targeted tests (all): exit code 1".into(),
        stage: Some(StageName::TargetedTests),
        hint: Some("fix the candidate".into()),
    });
    report
}

/// The report as an effect's result.
pub fn verified(report: Verification) -> EffectResult {
    EffectResult::Verified {
        base: CommitSha::new(base()),
        report: Box::new(report),
    }
}

/// A report that does not show whether the commit is right.
pub fn not_shown(head: &str, base: &str, category: FailureCategory) -> Verification {
    let mut report = failed(head, base);
    if let Some(failure) = &mut report.failure {
        failure.category = category;
    }
    report
}
