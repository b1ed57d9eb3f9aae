use super::block::last_json;
use super::fields::Fields;
use super::{Inconclusive, MAX_ITEMS, inconclusive};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How much of a task is implemented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TaskStatus {
    /// Everything is implemented.
    Implemented,
    /// A part is missing.
    Partial,
    /// Nothing is implemented.
    Missing,
    /// Something other than the plan is implemented.
    Deviated,
}

/// What a validator says about one task of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskJudgement {
    /// The task's id in the plan.
    pub id: String,
    /// How much of the task is implemented.
    pub status: TaskStatus,
    /// The validator's explanation.
    pub note: String,
}

/// A defect that belongs to no task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The severity as the validator gave it, in lowercase.
    pub severity: Option<String>,
    /// A short title.
    pub title: String,
    /// The full description.
    pub detail: String,
}

/// A validator's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Validation {
    /// One judgement a task. A task that is not here was not judged.
    pub tasks: Vec<TaskJudgement>,
    /// Defects that belong to no task.
    pub findings: Vec<Finding>,
    /// Entries that said nothing clear, or contradicted each other.
    pub unclear: u32,
}

/// A validator's answer. A judgement that is not clear is left out, so its task counts as not
/// judged.
pub fn read_validation(text: &str) -> Result<Validation, Inconclusive> {
    let answer = last_json(text).map_err(inconclusive)?;
    let fields = Fields::new(&answer);
    let tasks = fields
        .list("tasks")
        .ok_or_else(|| inconclusive("it has no list of tasks"))?;
    let findings = fields.list("findings").unwrap_or_default();
    if tasks.len() > MAX_ITEMS || findings.len() > MAX_ITEMS {
        return Err(inconclusive("its lists are too long"));
    }
    let judged: Vec<TaskJudgement> = tasks.iter().filter_map(judgement).collect();
    let contradicts = |one: &TaskJudgement| {
        judged
            .iter()
            .any(|other| other.id == one.id && other.status != one.status)
    };
    let clear: Vec<TaskJudgement> = judged.iter().filter(|j| !contradicts(j)).cloned().collect();
    let found: Vec<Finding> = findings.iter().filter_map(finding).collect();
    let unclear = tasks.len() - clear.len() + findings.len() - found.len();
    Ok(Validation {
        tasks: clear,
        findings: found,
        unclear: u32::try_from(unclear).unwrap_or(u32::MAX),
    })
}

fn judgement(value: &Value) -> Option<TaskJudgement> {
    let fields = Fields::new(value);
    let status = match fields.word("status")?.as_str() {
        "implemented" => TaskStatus::Implemented,
        "partial" => TaskStatus::Partial,
        "missing" => TaskStatus::Missing,
        "deviated" => TaskStatus::Deviated,
        _ => return None,
    };
    Some(TaskJudgement {
        id: fields.id("id")?,
        status,
        note: fields.text("note").unwrap_or_default(),
    })
}

fn finding(value: &Value) -> Option<Finding> {
    let fields = Fields::new(value);
    let (title, detail) = match (fields.text("title"), fields.text("detail")) {
        (Some(title), detail) => (title, detail.unwrap_or_default()),
        (None, Some(detail)) => (detail, String::new()),
        (None, None) => return None,
    };
    Some(Finding {
        severity: fields.text("severity").map(|word| word.to_lowercase()),
        title,
        detail,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clear_judgements_and_findings_are_kept_and_the_rest_is_counted() {
        let text = r#"{"tasks": [
            {"id": "t1", "status": "Implemented", "note": "all of it"},
            {"id": 2, "status": "PARTIAL"},
            {"id": "t3", "status": "done"},
            {"id": "t4", "status": "missing"}, {"id": "t4", "status": "implemented"}
        ], "findings": [{"severity": "High", "title": "no tests"}, {"severity": "low"}, {"detail": "slow"}]}"#;
        assert_eq!(
            read_validation(text),
            Ok(Validation {
                tasks: vec![
                    TaskJudgement {
                        id: "t1".to_owned(),
                        status: TaskStatus::Implemented,
                        note: "all of it".to_owned(),
                    },
                    TaskJudgement {
                        id: "2".to_owned(),
                        status: TaskStatus::Partial,
                        note: String::new(),
                    },
                ],
                findings: vec![
                    Finding {
                        severity: Some("high".to_owned()),
                        title: "no tests".to_owned(),
                        detail: String::new(),
                    },
                    Finding {
                        severity: None,
                        title: "slow".to_owned(),
                        detail: String::new(),
                    },
                ],
                unclear: 4,
            })
        );
    }

    #[test]
    fn an_answer_without_tasks_is_inconclusive() {
        assert_eq!(
            read_validation(r#"{"findings": []}"#),
            Err(inconclusive("it has no list of tasks"))
        );
    }
}
