//! Finds contradictions outside of a reviewer's answer: another verdict, or findings that the
//! answer leaves out. An approval next to either is inconclusive.

use super::block::{Object, all_json};
use super::fields::{Fields, plain};
use super::finding::Severity;
use super::review::{Review, Verdict};
use super::{Inconclusive, inconclusive};
use serde_json::Value;

/// Names of lists in which reviewers put findings.
const LISTS: [&str; 8] = [
    "suggestions",
    "findings",
    "issues",
    "blockers",
    "majors",
    "problems",
    "objections",
    "defects",
];
/// The keys that mark a finding or a verdict.
const KEYS: [&str; 3] = ["verdict", "severity", "issue"];

/// A reviewer's text without its answer.
pub(super) struct Beside<'t> {
    values: Vec<Value>,
    /// The parts that are not JSON.
    prose: Vec<&'t str>,
}

impl<'t> Beside<'t> {
    /// The text outside of the answer.
    pub(super) fn of(text: &'t str, answer: &str) -> Result<Self, Inconclusive> {
        let answer = answer.trim();
        let own = text
            .rfind(answer)
            .map(|start| (start, start + answer.len()));
        let mut spans: Vec<(usize, usize)> = own.into_iter().collect();
        let mut values = Vec::new();
        for found in all_json(text) {
            let Object { text: part, value } =
                found.map_err(|_| inconclusive("one of its JSON blocks has a key twice"))?;
            let start = part.as_ptr() as usize - text.as_ptr() as usize;
            let end = start + part.len();
            if own.is_none_or(|(from, to)| start < from || to < end) {
                spans.push((start, end));
                values.push(value);
            }
        }
        spans.sort_unstable();
        let mut prose = Vec::new();
        let mut from = 0;
        for (start, end) in spans {
            prose.push(text.get(from..start).unwrap_or_default());
            from = from.max(end);
        }
        prose.push(&text[from..]);
        Ok(Self { values, prose })
    }

    /// The values that contain a verdict or findings, except those that the answer repeats.
    pub(super) fn judging(&self, answer: &Value) -> impl Iterator<Item = &Value> {
        let all = self.values.iter();
        all.filter(move |value| judges(value) && !is_within(value, answer))
    }

    /// Refuses values that contradict the answer or add to it.
    pub(super) fn require_one_verdict(&self, answer: &Value) -> Result<(), Inconclusive> {
        let Some(other) = self.judging(answer).next() else {
            return Ok(());
        };
        Err(inconclusive(
            if Fields::new(other).get("verdict").is_some() {
                "it has two verdict blocks that differ"
            } else if has_key(other, "verdict") {
                "it has another verdict that cannot be read"
            } else {
                "it lists findings outside its verdict block"
            },
        ))
    }

    /// Refuses a verdict or finding in the prose, which may be an objection. A statement that
    /// agrees with the review is accepted.
    pub(super) fn require_agreement(&self, review: &Review) -> Result<(), Inconclusive> {
        for said in self.prose.iter().flat_map(|part| keys(part)) {
            let is_content = review.verdict.is_content();
            match (said.key, said.is_quoted) {
                ("verdict", true) => {
                    return Err(inconclusive("it has another verdict that cannot be read"));
                }
                (_, true) => {
                    return Err(inconclusive("it has another finding that cannot be read"));
                }
                ("verdict", false) => match verdict(said.value) {
                    Some(verdict) if verdict != review.verdict => {
                        return Err(inconclusive("it has two verdicts that differ"));
                    }
                    None if is_content && said.is_first && !said.value.is_empty() => {
                        return Err(inconclusive("it has another verdict that cannot be read"));
                    }
                    Some(_) | None => {}
                },
                ("severity", false) => {
                    let word = said.value.split_whitespace().next().map(plain);
                    let severity = word.and_then(|word| Severity::read(&word));
                    let mut listed = review.findings.iter().map(|one| one.severity);
                    let is_left_out = severity.is_some_and(|severity| {
                        severity <= Severity::Major && !listed.any(|one| one <= severity)
                    });
                    if is_content && is_left_out {
                        return Err(inconclusive("it names a finding that it does not list"));
                    }
                }
                (_, false) => {}
            }
        }
        Ok(())
    }
}

/// A key of the answer that is not read although it holds findings, or verdicts on parts.
pub(super) fn unread(answer: &Value) -> Option<&str> {
    let is_read = |key: &String| ["suggestions", "findings"].contains(&plain(key).as_str());
    let mut fields = answer.as_object()?.iter().filter(|(key, _)| !is_read(key));
    let found = fields.find(|(key, value)| is_list(key, value) || judges(value));
    found.map(|(key, _)| key.as_str())
}

/// Whether this value contains, at any depth, an object with the keys of a finding or verdict, or a
/// list of such.
fn judges(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(judges),
        Value::Object(fields) => fields.iter().any(|(key, value)| {
            KEYS.contains(&plain(key).as_str()) || is_list(key, value) || judges(value)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Whether this is a non-empty list of findings.
fn is_list(key: &str, value: &Value) -> bool {
    LISTS.contains(&plain(key).as_str())
        && match value {
            Value::Array(items) => !items.is_empty(),
            Value::Object(fields) => !fields.is_empty(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
}

fn has_key(value: &Value, name: &str) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| has_key(item, name)),
        Value::Object(fields) => {
            let mut fields = fields.iter();
            fields.any(|(key, value)| plain(key) == name || has_key(value, name))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Whether the answer contains all of this value.
fn is_within(value: &Value, answer: &Value) -> bool {
    let is_part = match answer {
        Value::Array(items) => items.iter().any(|item| is_within(value, item)),
        Value::Object(fields) => fields.values().any(|item| is_within(value, item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    let is_list = |items: &Vec<Value>| items.iter().all(|item| is_within(item, answer));
    value == answer || is_part || value.as_array().is_some_and(is_list)
}

/// A key with a value, in text that is not JSON.
struct Said<'t> {
    key: &'static str,
    /// Whether the key is quoted, as in JSON and Python.
    is_quoted: bool,
    /// Whether the key is the first word of its line or of an object.
    is_first: bool,
    /// The rest of its line, or the next one.
    value: &'t str,
}

/// Marks around words that do not change their meaning.
const MARKS: &[char] = &['"', '\'', '`', '*', '_', ' ', '\t'];

fn keys(text: &str) -> impl Iterator<Item = Said<'_>> {
    // This lowercasing keeps lengths, so that positions in both texts are the same.
    let lower = text.to_ascii_lowercase();
    let mut found = Vec::new();
    for key in KEYS {
        let places: Vec<usize> = lower.match_indices(key).map(|(at, _)| at).collect();
        found.extend(places.into_iter().filter_map(|at| said(text, key, at)));
    }
    found.into_iter()
}

/// The statement at this place, if the word is a key with a value.
fn said<'t>(text: &'t str, key: &'static str, at: usize) -> Option<Said<'t>> {
    let (before, after) = (&text[..at], &text[at + key.len()..]);
    if before.ends_with(|c: char| c.is_alphanumeric()) {
        return None;
    }
    let value = after.trim_start_matches(|c: char| MARKS.contains(&c) || c.is_whitespace());
    let value = value.strip_prefix([':', '='])?;
    let quote = before.chars().next_back().filter(|c| "\"'".contains(*c));
    let line = before.rsplit('\n').next().unwrap_or_default();
    let line = line.trim_end_matches(MARKS);
    let is_marked = line.chars().all(|c| !c.is_alphanumeric());
    Some(Said {
        key,
        is_quoted: quote.is_some_and(|quote| after.starts_with(quote)),
        is_first: is_marked || line.ends_with(['{', ',', ';']),
        value: value_of(value),
    })
}

/// A value without its marks; empty if a block follows.
fn value_of(text: &str) -> &str {
    let mut lines = text.lines().map(|line| line.trim_matches(MARKS));
    let line = lines.find(|line| !line.is_empty()).unwrap_or_default();
    if line.starts_with("~~~") || text.trim_start().starts_with("```") {
        return "";
    }
    line.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '!')
}

/// The verdict that a text begins with.
fn verdict(text: &str) -> Option<Verdict> {
    let is_end = |c: char| !c.is_alphanumeric() && !"-_ ".contains(c);
    let phrase = text.split(is_end).next().unwrap_or_default();
    let words: Vec<&str> = phrase.split_whitespace().collect();
    let most = words.len().min(3);
    let mut counts = (1..=most).rev();
    counts.find_map(|count| Verdict::read(&plain(&words[..count].concat())))
}
