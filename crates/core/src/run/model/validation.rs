//! A validator's opinion of one commit, checked by programs.

use super::line::{Receipt, ReceiptResult};
use crate::agent::answer::{AuditSeverity, Cited, ProofCommand, Standing, ValidatorAnswer};
use crate::ids::{CommitSha, TaskId};
use serde::{Deserialize, Serialize};

/// An acceptance entry that an agent judges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JudgeCheck {
    /// The task.
    pub task: TaskId,
    /// The entry's id within its task.
    pub id: String,
    /// The acceptance criterion's text in the plan.
    pub criterion: String,
}

/// A validator that works on one commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Validation {
    /// The commit.
    pub commit: CommitSha,
    /// Why its first answer was unusable, once the validator was asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
    /// Its answer, while programs check it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<ValidatorAnswer>,
}

/// A validator's opinion of one commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Opinion {
    /// The entries that it judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<JudgedEntry>,
    /// Its findings, the worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<AuditFinding>,
    /// Things that were built although no task asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additions: Vec<String>,
    /// Why it gave no usable answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// One entry that a validator judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JudgedEntry {
    /// The task.
    pub task: TaskId,
    /// The entry's id within its task.
    pub id: String,
    /// The status that the validator gave it.
    pub status: Standing,
    /// The result that counts, after programs checked the validator's claim.
    pub result: ReceiptResult,
    /// The validator's note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The files that show it; all of them exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Cited>,
    /// The command that the validator gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<ProofCommand>,
    /// The result of that command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
    /// Why this result counts, if it is not simply the validator's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A finding of a validator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditFinding {
    /// The severity.
    pub severity: AuditSeverity,
    /// The problem, in one line.
    pub title: String,
    /// The place that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Cited>,
    /// Details of the finding.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The failed command that confirms it; `None` if no program confirmed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<Confirmed>,
}

/// A command that failed as the validator predicted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Confirmed {
    /// The command.
    pub proof: ProofCommand,
    /// The result of that command.
    pub receipt: Receipt,
}

impl AuditFinding {
    /// Whether it is critical and a program confirmed it.
    pub fn is_critical(&self) -> bool {
        self.severity == AuditSeverity::Critical && self.confirmed.is_some()
    }
}

impl Opinion {
    /// The judgement of an entry of a task.
    pub fn of(&self, task: &TaskId, id: &str) -> Option<&JudgedEntry> {
        let mut entries = self.entries.iter();
        entries.find(|one| one.task == *task && one.id == id)
    }
}
