//! The answer of a validator: the status of each task's criteria, with evidence.

use super::block::{all_json, last_json};
use super::fields::Fields;
use super::form::Said;
use super::json::object;
use super::{Inconclusive, inconclusive};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How many findings and how many additions are read at most.
const MOST_FINDINGS: usize = 100;
/// How many items of evidence of one task are read at most.
const MOST_EVIDENCE: usize = 200;
/// How many files are stored for one entry.
const MOST_PLACES: usize = 3;
/// The longest command, in arguments and in bytes.
const MOST_ARGUMENTS: usize = 64;
const COMMAND_BYTES: usize = 8 << 10;
/// The longest text that an output must contain, in bytes.
const CONTAINS_BYTES: usize = 1 << 10;
/// How many characters of a text are stored.
const TITLE_CHARS: usize = 200;
const TEXT_CHARS: usize = 2_000;
const PATH_CHARS: usize = 500;

/// How an entry compares to its contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Standing {
    /// It is implemented.
    Implemented,
    /// A part of it is missing.
    Partial,
    /// It is missing.
    Missing,
    /// It was built differently than the contract says.
    Deviated,
}

impl Standing {
    /// The word in answers and texts.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Implemented => "implemented",
            Standing::Partial => "partial",
            Standing::Missing => "missing",
            Standing::Deviated => "deviated",
        }
    }

    fn read(word: &str) -> Option<Self> {
        match word {
            "implemented" => Some(Standing::Implemented),
            "partial" => Some(Standing::Partial),
            "missing" => Some(Standing::Missing),
            "deviated" => Some(Standing::Deviated),
            _ => None,
        }
    }
}

/// The severity of a finding about the whole; the worst comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AuditSeverity {
    /// Data is lost, a secret leaks, or the program cannot be used.
    Critical,
    /// Something that was asked for does not work.
    High,
    /// Something works only in part.
    Medium,
    /// Something could be better.
    Low,
}

impl AuditSeverity {
    /// The word in answers, documents and texts.
    pub fn name(self) -> &'static str {
        match self {
            AuditSeverity::Critical => "critical",
            AuditSeverity::High => "high",
            AuditSeverity::Medium => "medium",
            AuditSeverity::Low => "low",
        }
    }

    /// Parses a word in its plain form, including the words of reviewers.
    fn read(word: &str) -> Option<Self> {
        match word {
            "critical" | "blocker" => Some(AuditSeverity::Critical),
            "high" | "major" => Some(AuditSeverity::High),
            "medium" | "moderate" => Some(AuditSeverity::Medium),
            "low" | "minor" => Some(AuditSeverity::Low),
            _ => None,
        }
    }
}

/// A place in the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cited {
    /// The file, relative to the root of the repository.
    pub file: String,
    /// The line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// A command, and how it ends once what it is about is met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProofCommand {
    /// The program and its arguments; never empty.
    pub command: Vec<String>,
    /// The exit code.
    pub exit: i32,
    /// A text that its output contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
}

/// A validator's claim about one entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryClaim {
    /// The task.
    pub task: String,
    /// The entry's id within its task.
    pub id: String,
    /// The state of the entry.
    pub status: Standing,
    /// The validator's note about the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The places that show it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Cited>,
    /// A command that shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<ProofCommand>,
}

/// A finding about the whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingClaim {
    /// The severity.
    pub severity: AuditSeverity,
    /// A summary of the problem, in one line.
    pub title: String,
    /// The place that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Cited>,
    /// More about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// A command that fails because of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<ProofCommand>,
}

/// The whole answer of a validator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ValidatorAnswer {
    /// One claim for each entry that it had to judge.
    pub entries: Vec<EntryClaim>,
    /// The findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingClaim>,
    /// Things that were built although no task asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additions: Vec<String>,
}

/// Parses a validator's answer about these entries, given by task and id. An answer that leaves out
/// a task, or that cannot be read completely, is inconclusive.
pub fn read_validation<'t>(
    said: impl Into<Said<'t>>,
    asked: &[(&str, &str)],
) -> Result<ValidatorAnswer, Inconclusive> {
    let Said { text, document } = said.into();
    let value = match document {
        Some(document) => {
            object(document).map_err(|_| inconclusive("its answer is not a JSON object"))?
        }
        None => {
            let last = last_json(text).map_err(inconclusive)?.value;
            for other in all_json(text) {
                let other =
                    other.map_err(|_| inconclusive("one of its JSON blocks has a key twice"))?;
                let is_answer = Fields::new(&other.value).get("tasks").is_some();
                if is_answer && other.value != last {
                    return Err(inconclusive("it has two answers that differ"));
                }
            }
            last
        }
    };
    let fields = Fields::new(&value);
    let tasks = fields
        .list("tasks")
        .ok_or_else(|| inconclusive("it has no list of tasks"))?;
    let wanted = |task: &str| asked.iter().any(|(one, _)| *one == task);
    let mut entries = Vec::new();
    let mut judged: Vec<String> = Vec::new();
    // Each task may be named once, so a longer list must name a task that was not asked about.
    for item in tasks.iter().take(asked.len() + 1) {
        let id = Fields::new(item)
            .id("id")
            .ok_or_else(|| inconclusive("one of its tasks has no `id`"))?;
        if !wanted(&id) {
            return Err(inconclusive(format!("it judges the unknown task `{id}`")));
        }
        if judged.contains(&id) {
            return Err(inconclusive(format!("it judges task `{id}` twice")));
        }
        let ids = asked.iter().filter(|(task, _)| *task == id);
        let ids: Vec<&str> = ids.map(|(_, entry)| *entry).collect();
        entries.extend(task(&id, item, &ids)?);
        judged.push(id);
    }
    let left = asked
        .iter()
        .find(|(task, _)| !judged.iter().any(|one| one == task));
    if let Some((task, _)) = left {
        return Err(inconclusive(format!("it does not judge task `{task}`")));
    }
    Ok(ValidatorAnswer {
        entries,
        findings: findings(&fields)?,
        additions: additions(&fields)?,
    })
}

/// The claims about the entries of one task.
fn task(id: &str, item: &Value, ids: &[&str]) -> Result<Vec<EntryClaim>, Inconclusive> {
    let fields = Fields::new(item);
    let status = fields.word("status");
    let status = status
        .and_then(|word| Standing::read(&word))
        .ok_or_else(|| inconclusive(format!("task `{id}` has no readable `status`")))?;
    let note = fields.text("note").map(|text| cut(&text, TEXT_CHARS));
    let claim = |entry: &&str| EntryClaim {
        task: id.to_owned(),
        id: (*entry).to_owned(),
        status,
        note: note.clone(),
        places: Vec::new(),
        proof: None,
    };
    let mut claims: Vec<EntryClaim> = ids.iter().map(claim).collect();
    let evidence = fields.list("evidence").unwrap_or_default();
    if evidence.len() > MOST_EVIDENCE {
        let count = evidence.len();
        return Err(inconclusive(format!(
            "task `{id}` has {count} items of evidence; the limit is {MOST_EVIDENCE}"
        )));
    }
    for item in evidence {
        let fields = Fields::new(item);
        let criterion = fields.id("criterion").unwrap_or_default();
        let claim = claims.iter_mut().find(|claim| claim.id == criterion);
        let Some(claim) = claim else {
            let shown = cut(&criterion, 60);
            return Err(inconclusive(format!(
                "the evidence of task `{id}` names the unknown entry `{shown}`"
            )));
        };
        if let Some(proof) = proof(&fields)? {
            claim.proof.get_or_insert(proof);
        }
        if let Some(place) = cited(&fields).filter(|_| claim.places.len() < MOST_PLACES) {
            claim.places.push(place);
        }
    }
    if status == Standing::Partial {
        // In a partial task, entries with evidence are met; the others are what is missing.
        let is_met = |claim: &EntryClaim| !claim.places.is_empty() && claim.proof.is_none();
        if !claims.iter().all(is_met) {
            for claim in claims.iter_mut().filter(|claim| is_met(claim)) {
                claim.status = Standing::Implemented;
            }
        }
    }
    Ok(claims)
}

fn cited(fields: &Fields<'_>) -> Option<Cited> {
    let file = fields.text("file")?;
    let is_short = file.chars().count() <= PATH_CHARS;
    is_short.then(|| Cited {
        file,
        line: fields.number("line"),
    })
}

/// The command of an item; `None` if it has none.
fn proof(fields: &Fields<'_>) -> Result<Option<ProofCommand>, Inconclusive> {
    let Some(given) = fields.get("command").filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let words = given.as_array().and_then(|items| {
        let words = items.iter().map(|item| item.as_str().map(str::to_owned));
        words.collect::<Option<Vec<String>>>()
    });
    let Some(command) = words else {
        return Err(inconclusive("a `command` is not a list of texts"));
    };
    if command.is_empty() {
        return Ok(None);
    }
    let bytes: usize = command.iter().map(String::len).sum();
    let has_nul = command.iter().any(|word| word.contains('\0'));
    if command.len() > MOST_ARGUMENTS || bytes > COMMAND_BYTES || has_nul || command[0].is_empty() {
        return Err(inconclusive("a `command` is too long or cannot be run"));
    }
    let expect = fields.get("expect").filter(|value| !value.is_null());
    let expect = expect.map(Fields::new);
    let exit = match expect.as_ref().and_then(|expect| expect.get("exit")) {
        None | Some(Value::Null) => 0,
        Some(exit) => exit
            .as_u64()
            .and_then(|exit| u8::try_from(exit).ok())
            .map(i32::from)
            .ok_or_else(|| inconclusive("an `exit` is not a number from 0 to 255"))?,
    };
    let contains = expect.and_then(|expect| expect.text("contains"));
    if contains
        .as_ref()
        .is_some_and(|text| text.len() > CONTAINS_BYTES)
    {
        return Err(inconclusive("a `contains` is too long"));
    }
    Ok(Some(ProofCommand {
        command,
        exit,
        contains,
    }))
}

fn findings(fields: &Fields<'_>) -> Result<Vec<FindingClaim>, Inconclusive> {
    let items = bounded(fields, "findings")?;
    let mut findings = Vec::with_capacity(items.len());
    for item in items {
        let fields = Fields::new(item);
        let severity = fields.word("severity");
        let severity = severity
            .and_then(|word| AuditSeverity::read(&word))
            .ok_or_else(|| inconclusive("a finding has no readable `severity`"))?;
        let title = fields
            .text("title")
            .ok_or_else(|| inconclusive("a finding has no `title`"))?;
        let detail = fields.text("detail").unwrap_or_default();
        findings.push(FindingClaim {
            severity,
            title: cut(&title, TITLE_CHARS),
            place: cited(&fields),
            detail: cut(&detail, TEXT_CHARS),
            proof: proof(&fields)?,
        });
    }
    findings.sort_by_key(|one| one.severity);
    Ok(findings)
}

fn additions(fields: &Fields<'_>) -> Result<Vec<String>, Inconclusive> {
    let items = bounded(fields, "additions")?;
    let words = items.iter().map(|item| {
        let text = item.as_str().map(str::trim);
        text.ok_or_else(|| inconclusive("one of its additions is not a text"))
    });
    let words: Result<Vec<&str>, Inconclusive> = words.collect();
    let words = words?.into_iter().filter(|text| !text.is_empty());
    Ok(words.map(|text| cut(text, TITLE_CHARS)).collect())
}

fn bounded<'v>(fields: &Fields<'v>, name: &str) -> Result<&'v [Value], Inconclusive> {
    let items = match fields.get(name) {
        None | Some(Value::Null) => &[],
        Some(_) => fields
            .list(name)
            .ok_or_else(|| inconclusive(format!("its `{name}` are not a list")))?,
    };
    if items.len() > MOST_FINDINGS {
        let count = items.len();
        return Err(inconclusive(format!(
            "it has {count} {name}; the limit is {MOST_FINDINGS}"
        )));
    }
    Ok(items)
}

/// The first characters of a text.
fn cut(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}

#[cfg(test)]
mod tests;
