use super::beside::{Beside, unread};
use super::block::{Object, last_json};
use super::fields::{Fields, plain};
use super::finding::{Confidence, Finding, Severity};
use super::form::Said;
use super::json::{NotObject, object};
use super::review::{Review, Verdict};
use super::{Inconclusive, MAX_ITEMS, inconclusive};
use serde_json::Value;

/// The longest replacement that is kept; a longer one is a patch and not a suggestion.
const REPLACEMENT_BYTES: usize = 8 * 1024;

/// The marker that a reviewer writes at the end of its review. It is no remark itself.
pub const REVIEW_COMPLETE: &str = "[REVIEW COMPLETE]";

/// Whether a line is the end marker of a review: the marker alone, with any emphasis. A line that
/// only mentions the marker does not count.
pub fn ends_review(line: &str) -> bool {
    let line = line.trim().trim_matches(['*', '_', '`']);
    line.trim() == REVIEW_COMPLETE
}

/// Whether a reviewer or refuter began to give its answer in this text.
pub fn has_begun_answer(text: &str) -> bool {
    let keys = ANSWER_KEYS.map(|key| format!("\"{key}\""));
    keys.iter().any(|key| text.contains(key)) || one_word(text).is_some()
}

/// Whether the text contains a complete answer of that kind.
pub fn has_answer(text: &str) -> bool {
    let is_answer = |value: &Value| {
        let fields = Fields::new(value);
        ANSWER_KEYS.into_iter().any(|key| fields.get(key).is_some())
    };
    last_json(text).is_ok_and(|last| is_answer(&last.value))
}

/// The keys of a verdict and of a list of refutations.
const ANSWER_KEYS: [&str; 2] = ["verdict", "findings"];

/// The texts that a reviewer saw. A verdict in them was quoted by the reviewer, not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown<'a> {
    /// The commit under review, if known. A block that names it cannot be older than the review.
    pub commit: Option<&'a str>,
    /// The prompt, which contains an example.
    pub prompt: &'a str,
    /// The diff.
    pub diff: &'a str,
    /// Texts of other people: the task and comments.
    pub texts: Vec<&'a str>,
}

/// How many characters of the commit id a reviewer must repeat.
pub const COMMIT_CHARS: usize = 12;

/// Parses a reviewer's answer. An answer without a clear verdict, or with an unreadable finding, is
/// inconclusive: neither an approval nor a finding may be invented or lost.
pub fn read_review<'t>(
    said: impl Into<Said<'t>>,
    shown: &Shown<'_>,
) -> Result<Review, Inconclusive> {
    let Said { text, document } = said.into();
    if let Some(document) = document {
        return read_document(document, text, shown);
    }
    if let Some(verdict) = one_word(text) {
        let findings = Vec::new();
        return Ok(Review { verdict, findings });
    }
    let answer = last_json(text).map_err(inconclusive)?;
    let beside = Beside::of(text, answer.text)?;
    beside.require_one_verdict(&answer.value)?;
    let review = review(&answer.value)?;
    beside.require_agreement(&review)?;
    require_own(&answer, shown)?;
    Ok(review)
}

/// Parses the answer of an agent whose CLI returned its last message in the requested form. Earlier
/// messages may be drafts, but an approval after an objection is a contradiction.
fn read_document(document: &str, text: &str, shown: &Shown<'_>) -> Result<Review, Inconclusive> {
    let value = object(document).map_err(|why| match why {
        NotObject::Invalid => inconclusive("its answer is not a JSON object"),
        NotObject::Twice => inconclusive("its JSON block has a key twice"),
    })?;
    let answer = Object {
        text: document,
        value,
    };
    let given = review(&answer.value)?;
    require_own(&answer, shown)?;
    if !claims(&given) {
        unopposed(&given, &answer, text)?;
    }
    Ok(given)
}

/// Refuses an approval that follows an objection in the same output. The verdict may follow from
/// the answer although it contains a finding: one of which its reviewer is not sure.
pub fn require_unopposed<'t>(said: impl Into<Said<'t>>) -> Result<(), Inconclusive> {
    let Said { text, document } = said.into();
    let Some(document) = document else {
        // An answer without a form is read together with everything beside it.
        return Ok(());
    };
    let value = object(document).map_err(|_| inconclusive("its answer is not a JSON object"))?;
    let answer = Object {
        text: document,
        value,
    };
    unopposed(&review(&answer.value)?, &answer, text)
}

fn unopposed(given: &Review, answer: &Object<'_>, text: &str) -> Result<(), Inconclusive> {
    let objects = |other: &Value| match Fields::new(other).get("verdict") {
        Some(_) => !review(other).is_ok_and(|one| one.verdict.is_content() && !claims(&one)),
        None => true,
    };
    let beside = Beside::of(text, answer.text);
    let agrees = beside.is_ok_and(|beside| {
        let mut judging = beside.judging(&answer.value);
        !judging.any(objects) && beside.require_agreement(given).is_ok()
    });
    if agrees {
        return Ok(());
    }
    Err(inconclusive("it approves after an earlier message objects"))
}

/// Whether a review has a finding that could block a merge.
fn claims(review: &Review) -> bool {
    let mut all = review.findings.iter();
    all.any(|one| one.severity <= Severity::Major)
}

/// Refuses a verdict on another commit, and a quoted one.
fn require_own(answer: &Object<'_>, shown: &Shown<'_>) -> Result<(), Inconclusive> {
    let commit = Fields::new(&answer.value).text("commit");
    let is_own = |named: String| shown.commit.is_some_and(|commit| is_about(&named, commit));
    match commit.map(is_own) {
        Some(true) => Ok(()),
        Some(false) => Err(inconclusive("its verdict names another commit")),
        None => match shown.place_of(answer.text) {
            Some(place) => Err(inconclusive(format!(
                "its verdict block is also in {place}"
            ))),
            None => Ok(()),
        },
    }
}

/// Whether a reviewer's commit id means this commit.
fn is_about(named: &str, commit: &str) -> bool {
    let named = named.to_lowercase();
    named.len() >= COMMIT_CHARS.min(commit.len()) && commit.starts_with(&named)
}

/// The verdict of a message that contains nothing else.
fn one_word(text: &str) -> Option<Verdict> {
    let mut lines = text
        .lines()
        .filter(|line| !line.trim().is_empty() && !ends_review(line));
    let (only, more) = (lines.next()?, lines.next());
    let word = only.trim().trim_matches(|c: char| "*_`.!".contains(c));
    let is_word = more.is_none()
        && word
            .chars()
            .all(|c| c.is_alphabetic() || "-_ /".contains(c));
    Verdict::read(&plain(word)).filter(|_| is_word)
}

impl Shown<'_> {
    /// The other text in which a block occurs, if any, as words.
    pub(super) fn place_of(&self, block: &str) -> Option<&'static str> {
        let block = squeezed(block.lines());
        let unmarked = self
            .diff
            .lines()
            .map(|line| line.get(1..).unwrap_or_default());
        if squeezed(unmarked).contains(&block) {
            return Some("the diff");
        }
        if squeezed(self.prompt.lines()).contains(&block) {
            return Some("what it was asked");
        }
        let mut texts = self.texts.iter().map(|text| squeezed(text.lines()));
        texts
            .any(|text| text.contains(&block))
            .then_some("the task or a comment")
    }
}

/// The text without white space, so that indentation makes no difference.
fn squeezed<'t>(lines: impl Iterator<Item = &'t str>) -> String {
    lines.flat_map(str::split_whitespace).collect()
}

/// The beginning of a word, for quoting it in a reason.
fn clip(word: &str) -> String {
    let clean = word.chars().filter(|c| !c.is_control() && *c != '`');
    clean.take(40).collect()
}

fn review(answer: &Value) -> Result<Review, Inconclusive> {
    let fields = Fields::new(answer);
    let said = fields.text("verdict");
    let said = said.ok_or_else(|| inconclusive("it has no verdict"))?;
    let is_plain = said
        .chars()
        .all(|c| c.is_alphanumeric() || "-_ /.!*`".contains(c))
        && !said.starts_with('!');
    let Some(verdict) = Verdict::read(&plain(&said)).filter(|_| is_plain) else {
        return Err(inconclusive(format!("unknown verdict `{}`", clip(&said))));
    };
    let listed = match (fields.get("suggestions"), fields.get("findings")) {
        (Some(_), Some(_)) => {
            return Err(inconclusive("it has both `suggestions` and `findings`"));
        }
        (Some(list), None) | (None, Some(list)) => list,
        (None, None) => &Value::Null,
    };
    let items = match listed {
        Value::Null => &[],
        Value::Array(items) if items.len() <= MAX_ITEMS => items.as_slice(),
        Value::Array(items) => {
            return Err(inconclusive(format!("it has {} suggestions", items.len())));
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            return Err(inconclusive("`suggestions` is not a list"));
        }
    };
    if let Some(key) = unread(answer) {
        return Err(inconclusive(format!(
            "`{}` holds findings that are not in `suggestions`",
            clip(key)
        )));
    }
    let findings: Result<Vec<Finding>, Inconclusive> = items.iter().map(finding).collect();
    Ok(Review {
        verdict,
        findings: findings?,
    })
}

fn finding(value: &Value) -> Result<Finding, Inconclusive> {
    let fields = Fields::new(value);
    let issue = value
        .as_str()
        .map(str::trim)
        .filter(|text| !text.is_empty());
    let issue = issue.map(str::to_owned).or_else(|| fields.text("issue"));
    let (issue, suggestion) = match (issue, fields.text("suggestion")) {
        (Some(issue), suggestion) => (issue, suggestion),
        (None, Some(suggestion)) => (suggestion, None),
        (None, None) => {
            return Err(inconclusive(
                "a suggestion has neither `issue` nor `suggestion`",
            ));
        }
    };
    let severity = severity(&fields)?;
    let line = fields.number("line").filter(|line| *line > 0);
    let end_line = fields.number("endLine").filter(|end| Some(*end) > line);
    Ok(Finding {
        file: fields
            .text("file")
            .map(|file| file.trim_start_matches("./").to_owned()),
        line,
        end_line: end_line.filter(|_| line.is_some()),
        issue,
        evidence: fields.text("evidence"),
        suggestion,
        replacement: replacement(&fields),
        confidence: confidence(&fields, severity)?,
        severity,
        pre_existing: fields.flag("preExisting"),
        refuted: None,
    })
}

/// The suggested code, with its indentation. An empty one deletes the lines.
fn replacement(fields: &Fields<'_>) -> Option<String> {
    let code = fields.get("replacement")?.as_str()?;
    let code = code.strip_suffix('\n').unwrap_or(code);
    (code.len() <= REPLACEMENT_BYTES).then(|| code.to_owned())
}

/// The severity of a finding. Without one it is major, because the reviewer did not say that the
/// finding is harmless.
fn severity(fields: &Fields<'_>) -> Result<Severity, Inconclusive> {
    let Some(word) = fields.word("severity") else {
        return Ok(Severity::Major);
    };
    Severity::read(&word).ok_or_else(|| inconclusive(format!("unknown severity `{}`", clip(&word))))
}

/// The confidence as a percentage, with or without the sign, or as a fraction such as `0.9`.
fn confidence(fields: &Fields<'_>, severity: Severity) -> Result<Confidence, Inconclusive> {
    let unknown = || inconclusive("a `confidence` is not a number from 0 to 100");
    let value = match fields.get("confidence") {
        None | Some(Value::Null) => return Ok(Confidence::CERTAIN),
        Some(value) => value,
    };
    let text = match value {
        Value::String(text) => text.trim().trim_end_matches('%').trim_end().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return Err(unknown()),
    };
    let number: f64 = text.parse().map_err(|_| unknown())?;
    // A `9` may mean 9 of 10 or 9 %.
    let is_short = (1.0..=10.0).contains(&number) && number.fract() == 0.0;
    let is_percent = value.as_str().is_some_and(|said| said.contains('%'));
    let could_block = severity <= Severity::Major;
    if could_block && is_short && !is_percent && !text.contains('.') {
        return Err(inconclusive(format!(
            "`confidence` {text} is ambiguous: write `{text}%`, or a number above 10"
        )));
    }
    let percent = if text.contains('.') && (0.0..=1.0).contains(&number) {
        number * 100.0
    } else {
        number
    };
    if !(0.0..=100.0).contains(&percent) {
        return Err(unknown());
    }
    // It is rounded down: in doubt the reviewer was less sure.
    Confidence::new(percent as u64).ok_or_else(unknown)
}

#[cfg(test)]
mod tests;
