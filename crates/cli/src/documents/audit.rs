//! The audit of a cruise: `drive.audit/1`.

use super::value::Sha;
use drive_core::run::{
    Audit, AuditFinding, Evidence, ReceiptResult, Run, Spent, TaskAudit, TaskResult,
};
use drive_core::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// What became of every task of a cruise, and what proves it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuditDocument {
    #[schemars(length(min = 1))]
    cruise_id: String,
    /// How it ended, in one line.
    outcome: String,
    /// What it had to show before it counted as done.
    level: &'static str,
    /// The commit it is about.
    commit: Option<Sha>,
    tasks: Vec<TaskDocument>,
    /// Findings about the whole.
    findings: Vec<FindingDocument>,
    /// What was built though no task asks for it.
    additions: Vec<String>,
    /// What is left to do.
    gaps: Vec<String>,
    phases: Vec<PhaseCost>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TaskDocument {
    id: String,
    title: String,
    status: TaskStatus,
    evidence: Vec<EvidenceDocument>,
}

/// What became of a task.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum TaskStatus {
    Implemented,
    Partial,
    Missing,
    Deviated,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct EvidenceDocument {
    criterion: String,
    /// The command that checks it; null where no program can.
    command: Option<Vec<String>>,
    /// The file in which a validator saw that it is met.
    file: Option<String>,
    line: Option<u64>,
    expected: Option<String>,
    actual: Option<String>,
    result: EvidenceResult,
}

/// Whether something that must be true is.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum EvidenceResult {
    /// A program showed that it is met.
    Proven,
    /// A program showed that it is not met.
    Failed,
    /// Nothing shows it.
    Unproven,
    /// A validator judged that it is met, and named a file that is there.
    Judged,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FindingDocument {
    severity: String,
    title: String,
    file: Option<String>,
    line: Option<u64>,
    detail: String,
    /// Whether a command failed because of it.
    confirmed: bool,
}

/// What one phase took.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PhaseCost {
    name: &'static str,
    /// Null where it has not ended.
    duration_ms: Option<i64>,
    /// Tokens, without those read from the model's cache.
    tokens: Option<u64>,
    #[schemars(range(min = 0))]
    cost_usd: Option<f64>,
}

impl PhaseCost {
    pub(crate) fn new(
        name: &'static str,
        (began, ended): (Option<Timestamp>, Option<Timestamp>),
        spent: Spent,
    ) -> Self {
        let duration = began.zip(ended);
        Self {
            name,
            duration_ms: duration
                .map(|(began, ended)| ended.as_millisecond() - began.as_millisecond()),
            tokens: spent.usage.reported(),
            cost_usd: spent.cost.map(|cost| cost.usd()),
        }
    }
}

impl AuditDocument {
    pub(crate) fn new(run: &Run, audit: &Audit, outcome: String, phases: Vec<PhaseCost>) -> Self {
        Self {
            cruise_id: run.id.to_string(),
            outcome,
            level: audit.level.as_str(),
            commit: audit.commit.as_ref().map(Sha::new),
            tasks: audit.tasks.iter().map(TaskDocument::from).collect(),
            findings: audit.findings.iter().map(FindingDocument::from).collect(),
            additions: audit.additions.clone(),
            gaps: audit.gaps.clone(),
            phases,
        }
    }
}

impl From<&TaskAudit> for TaskDocument {
    fn from(task: &TaskAudit) -> Self {
        Self {
            id: task.id.to_string(),
            title: task.title.clone(),
            status: match task.status {
                TaskResult::Implemented => TaskStatus::Implemented,
                TaskResult::Partial => TaskStatus::Partial,
                TaskResult::Missing => TaskStatus::Missing,
                TaskResult::Deviated => TaskStatus::Deviated,
            },
            evidence: task.evidence.iter().map(EvidenceDocument::from).collect(),
        }
    }
}

impl From<&Evidence> for EvidenceDocument {
    fn from(one: &Evidence) -> Self {
        Self {
            criterion: one.criterion.clone(),
            command: (!one.command.is_empty()).then(|| one.command.clone()),
            file: one.place.as_ref().map(|place| place.file.clone()),
            line: one.place.as_ref().and_then(|place| place.line),
            expected: one.expected.clone(),
            actual: one.actual.clone(),
            result: match one.result {
                ReceiptResult::Proven => EvidenceResult::Proven,
                ReceiptResult::Failed => EvidenceResult::Failed,
                ReceiptResult::Unproven => EvidenceResult::Unproven,
                ReceiptResult::Judged => EvidenceResult::Judged,
            },
        }
    }
}

impl From<&AuditFinding> for FindingDocument {
    fn from(one: &AuditFinding) -> Self {
        Self {
            severity: one.severity.name().to_owned(),
            title: one.title.clone(),
            file: one.place.as_ref().map(|place| place.file.clone()),
            line: one.place.as_ref().and_then(|place| place.line),
            detail: one.detail.clone(),
            confirmed: one.confirmed.is_some(),
        }
    }
}
