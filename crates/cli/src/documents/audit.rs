//! The audit of a cruise: `drive.audit/1`.

use super::value::Sha;
use drive_core::run::{
    Audit, AuditFinding, Debrief, Evidence, PhaseTook, ReceiptResult, RoleTook, Run, Said, Tally,
    TaskAudit, TaskResult,
};
use schemars::JsonSchema;
use serde::Serialize;

/// The result of every task of a cruise, and its evidence.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuditDocument {
    #[schemars(length(min = 1))]
    cruise_id: String,
    /// The outcome, in one line.
    outcome: String,
    /// The acceptance level: what the cruise had to show before it counted as done.
    level: &'static str,
    /// The commit it is about.
    commit: Option<Sha>,
    tasks: Vec<TaskDocument>,
    /// Findings about the whole.
    findings: Vec<FindingDocument>,
    /// Things that were built although no task asks for them.
    additions: Vec<String>,
    /// Work that is left to do.
    gaps: Vec<String>,
    /// What is left to a person to decide, with the command where there is one.
    decisions: Vec<String>,
    /// Comments of people and programs on the pull requests, and their outcome.
    comments: Vec<SaidDocument>,
    /// Landings of the tasks.
    trains: TrainsDocument,
    /// Number of tasks built in parallel, on average; null before one ended.
    parallelism: Option<f64>,
    phases: Vec<PhaseCost>,
    roles: Vec<RoleCost>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TaskDocument {
    id: String,
    title: String,
    status: TaskStatus,
    evidence: Vec<EvidenceDocument>,
    /// Number of runs that were started for it.
    attempts: usize,
    /// Work that the agent reports as not done.
    undone: Vec<String>,
}

/// The result of a task.
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
    /// The command that checks it; null if no program can check it.
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

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SaidDocument {
    author: String,
    body: String,
    url: Option<String>,
    /// The outcome, in a few words.
    became: String,
}

/// Landings of a cruise's tasks.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TrainsDocument {
    /// Number of times the branch moved to a tree that passed.
    landings: u32,
    /// The most tasks that landed in one move.
    longest: u32,
    /// Number of merged trees that were verified.
    verified: u32,
    /// Number of them that did not pass.
    red: u32,
    /// Number of them that could not be verified.
    unknown: u32,
    /// Number of them that passed only when a stage ran again.
    flaky: u32,
    /// Number of times that tasks conflicted in a file.
    conflicts: u32,
}

/// Time and cost of one phase.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PhaseCost {
    name: &'static str,
    /// The duration in milliseconds; null while it has not ended.
    duration_ms: Option<i64>,
    /// Tokens, without those read from the model's cache.
    tokens: Option<u64>,
    #[schemars(range(min = 0))]
    cost_usd: Option<f64>,
}

/// Time and cost of the agents of one role.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RoleCost {
    role: &'static str,
    /// Number of agents that were started.
    agents: u32,
    /// Their total working time.
    duration_ms: i64,
    tokens: u64,
    #[schemars(range(min = 0))]
    cost_usd: Option<f64>,
}

impl From<&PhaseTook> for PhaseCost {
    fn from(took: &PhaseTook) -> Self {
        let (began, ended) = took.times;
        Self {
            name: took.name,
            duration_ms: began
                .zip(ended)
                .map(|(began, ended)| ended.as_millisecond() - began.as_millisecond()),
            tokens: took.spent.usage.reported(),
            cost_usd: took.spent.cost.map(|cost| cost.usd()),
        }
    }
}

impl From<&RoleTook> for RoleCost {
    fn from(took: &RoleTook) -> Self {
        Self {
            role: took.role.name(),
            agents: took.agents,
            duration_ms: took.duration_ms,
            tokens: took.tokens,
            cost_usd: took.cost.map(|cost| cost.usd()),
        }
    }
}

impl From<&Said> for SaidDocument {
    fn from(said: &Said) -> Self {
        Self {
            author: said.author.clone(),
            body: said.body.clone(),
            url: said.url.clone(),
            became: said.became.clone(),
        }
    }
}

impl From<Tally> for TrainsDocument {
    fn from(tally: Tally) -> Self {
        let Tally {
            landings,
            longest,
            verified,
            red,
            unknown,
            flaky,
            conflicts,
        } = tally;
        Self {
            landings,
            longest,
            verified,
            red,
            unknown,
            flaky,
            conflicts,
        }
    }
}

impl AuditDocument {
    pub(crate) fn new(
        run: &Run,
        audit: &Audit,
        outcome: String,
        debrief: &Debrief,
        decisions: Vec<String>,
    ) -> Self {
        Self {
            cruise_id: run.id.to_string(),
            outcome,
            level: audit.level.as_str(),
            commit: audit.commit.as_ref().map(Sha::new),
            tasks: audit.tasks.iter().map(TaskDocument::from).collect(),
            findings: audit.findings.iter().map(FindingDocument::from).collect(),
            additions: audit.additions.clone(),
            gaps: audit.gaps.clone(),
            decisions,
            comments: debrief.said.iter().map(SaidDocument::from).collect(),
            trains: debrief.trains.into(),
            parallelism: debrief.parallelism,
            phases: debrief.phases.iter().map(PhaseCost::from).collect(),
            roles: debrief.roles.iter().map(RoleCost::from).collect(),
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
            attempts: task.attempts,
            undone: task.undone.clone(),
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
