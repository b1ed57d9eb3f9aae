use super::block::{Object, all_json, last_json};
use super::fields::{Fields, plain};
use super::finding::{Confidence, Finding, Severity};
use super::{Inconclusive, MAX_ITEMS, inconclusive};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a reviewer writes when it has said everything. Not itself a remark.
pub const REVIEW_COMPLETE: &str = "[REVIEW COMPLETE]";

/// Whether a line is the end marker of a review: the marker alone, with any emphasis. A line that
/// only mentions the marker does not count.
pub fn ends_review(line: &str) -> bool {
    let line = line.trim().trim_matches(['*', '_', '`']);
    line.trim() == REVIEW_COMPLETE
}

/// The verdict on one commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ReviewVerdict")]
pub enum Verdict {
    /// It can be merged.
    Approved,
    /// It cannot be merged yet.
    NeedsChanges,
    /// There is nothing in it for this reviewer to judge.
    NotApplicable,
}

impl Verdict {
    /// Whether the reviewer has no objection.
    pub fn is_content(self) -> bool {
        match self {
            Verdict::Approved | Verdict::NotApplicable => true,
            Verdict::NeedsChanges => false,
        }
    }

    fn read(word: &str) -> Option<Self> {
        match word {
            "approved" | "approve" | "lgtm" | "accepted" | "accept" => Some(Verdict::Approved),
            "needschanges" | "changesneeded" | "changesrequested" | "requestchanges"
            | "rejected" | "reject" => Some(Verdict::NeedsChanges),
            "notapplicable" | "na" => Some(Verdict::NotApplicable),
            _ => None,
        }
    }
}

/// What a reviewer said. What follows from it is derived elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Review {
    /// Its own verdict on the whole change.
    pub verdict: Verdict,
    /// The findings, each once.
    pub findings: Vec<Finding>,
}

/// What a reviewer was shown. A verdict that stands there was quoted, not said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown<'a> {
    /// The commit under review. A block that names it cannot have been there before.
    pub commit: &'a str,
    /// The change.
    pub diff: &'a str,
    /// Other people's words: the task, comments.
    pub texts: Vec<&'a str>,
}

/// How many characters of the commit a reviewer is asked to repeat.
pub const COMMIT_CHARS: usize = 12;

/// A reviewer's answer. Without a clear verdict, or with a finding that cannot be read, it is
/// inconclusive: neither an approval nor a finding may be made up or lost.
pub fn read_review(text: &str, shown: &Shown<'_>) -> Result<Review, Inconclusive> {
    if let Some(verdict) = one_word(text) {
        let findings = Vec::new();
        return Ok(Review { verdict, findings });
    }
    let answer = last_json(text).map_err(inconclusive)?;
    let has_verdict = |object: &Object<'_>| Fields::new(&object.value).get("verdict").is_some();
    for other in all_json(text) {
        let other = other.map_err(|_| inconclusive("one of its JSON blocks has a key twice"))?;
        if has_verdict(&other) && other.value != answer.value {
            return Err(inconclusive("it has two verdict blocks that differ"));
        }
    }
    let review = review(&answer.value)?;
    let commit = Fields::new(&answer.value).text("commit");
    match commit.map(|commit| is_about(&commit, shown.commit)) {
        Some(true) => Ok(review),
        Some(false) => Err(inconclusive("its verdict names another commit")),
        None => match shown.place_of(answer.text) {
            Some(place) => Err(inconclusive(format!(
                "its verdict block also stands in {place}"
            ))),
            None => Ok(review),
        },
    }
}

/// Whether a reviewer's word for a commit means this one.
fn is_about(named: &str, commit: &str) -> bool {
    let named = named.to_lowercase();
    named.len() >= COMMIT_CHARS.min(commit.len()) && commit.starts_with(&named)
}

/// The verdict of a message that is nothing else.
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
    /// Where else a block stands, as text.
    fn place_of(&self, block: &str) -> Option<&'static str> {
        let block = squeezed(block.lines());
        let unmarked = self
            .diff
            .lines()
            .map(|line| line.get(1..).unwrap_or_default());
        if squeezed(unmarked).contains(&block) {
            return Some("the diff");
        }
        let mut texts = self.texts.iter().map(|text| squeezed(text.lines()));
        texts
            .any(|text| text.contains(&block))
            .then_some("the task or a comment")
    }
}

/// Without white space, so that another indentation is no difference.
fn squeezed<'t>(lines: impl Iterator<Item = &'t str>) -> String {
    lines.flat_map(str::split_whitespace).collect()
}

fn review(answer: &Value) -> Result<Review, Inconclusive> {
    let fields = Fields::new(answer);
    let word = fields.word("verdict");
    let word = word.ok_or_else(|| inconclusive("it has no verdict"))?;
    let Some(verdict) = Verdict::read(&word) else {
        return Err(inconclusive(format!("unknown verdict `{word}`")));
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
    let mut findings: Vec<Finding> = Vec::new();
    for item in items {
        add(&mut findings, finding(item)?);
    }
    Ok(Review { verdict, findings })
}

/// Adds a finding. One that is there already, at the same place and in the same words, counts once, as
/// the worse and surer of the two.
fn add(findings: &mut Vec<Finding>, one: Finding) {
    let words = plain(&one.issue);
    let is_same = |known: &&mut Finding| {
        known.file == one.file && known.line == one.line && plain(&known.issue) == words
    };
    if let Some(known) = findings.iter_mut().find(is_same) {
        known.severity = known.severity.min(one.severity);
        known.confidence = known.confidence.max(one.confidence);
    } else {
        findings.push(one);
    }
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
    Ok(Finding {
        file: fields.text("file"),
        line: fields.number("line").filter(|line| *line > 0),
        issue,
        evidence: fields.text("evidence"),
        suggestion,
        severity: severity(&fields)?,
        confidence: confidence(&fields)?,
    })
}

/// A reviewer that gives no severity has not said that it can be merged as it is.
fn severity(fields: &Fields<'_>) -> Result<Severity, Inconclusive> {
    let Some(word) = fields.word("severity") else {
        return Ok(Severity::Major);
    };
    Severity::read(&word).ok_or_else(|| inconclusive(format!("unknown severity `{word}`")))
}

/// Percent, with or without the sign, or a fraction such as `0.9`.
fn confidence(fields: &Fields<'_>) -> Result<Confidence, Inconclusive> {
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
    let percent = if text.contains('.') && (0.0..=1.0).contains(&number) {
        number * 100.0
    } else {
        number
    };
    if !(0.0..=100.0).contains(&percent) {
        return Err(unknown());
    }
    // Rounded down: in doubt a reviewer was less sure.
    Confidence::new(percent as u64).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Review, Inconclusive> {
        read_review(text, &Shown::default())
    }

    fn review(verdict: Verdict, findings: Vec<Finding>) -> Review {
        Review { verdict, findings }
    }

    fn panics() -> Finding {
        Finding {
            file: Some("a.rs".to_owned()),
            line: Some(7),
            issue: "panics".to_owned(),
            evidence: Some("`parse(\"\")`".to_owned()),
            suggestion: Some("return an error".to_owned()),
            severity: Severity::Blocker,
            confidence: Confidence::new(90).unwrap(),
        }
    }

    const FULL: &str = r#"{"verdict": "needs_changes", "suggestions": [{"file": "a.rs", "line": 7, "issue": "panics", "evidence": "`parse(\"\")`", "suggestion": "return an error", "severity": "blocker", "confidence": 90}]}"#;

    #[test]
    fn a_clear_answer_is_read_in_whatever_dress() {
        let odd = r#"{"Findings": [{"File": " a.rs ", "LINE": "7", "Issue": "panics", "Evidence": "`parse(\"\")`", "suggestion": "return an error", "Severity": "HIGH", "confidence": "90 %", "extra": 1}], "VERDICT": "Rejected"}"#;
        let commented = FULL
            .replace("[{", "[ // only one\n{")
            .replace("}]}", "},],}");
        let expected = review(Verdict::NeedsChanges, vec![panics()]);
        for text in [
            format!("prose\n```json\n{FULL}\n```"),
            format!("```json\n{odd}\n```\nMore prose."),
            format!("```json\n{commented}\n```"),
            format!("I looked.\n{commented}\nThat is all."),
            format!("```\n{FULL}\n```"),
            format!("```json\n{FULL}\n```\nAgain:\n{FULL}"),
            FULL.to_owned(),
        ] {
            assert_eq!(read(&text), Ok(expected.clone()), "{text}");
        }
        for text in [
            r#"{"verdict":"approved","suggestions":[]}"#,
            r#"{"verdict":"APPROVED"}"#,
            r#"{"verdict":"LGTM"}"#,
            r#"{"verdict":"Approved","suggestions":null}"#,
            "LGTM",
            "**LGTM!**\n\n[REVIEW COMPLETE]\n",
        ] {
            assert_eq!(read(text), Ok(review(Verdict::Approved, vec![])), "{text}");
        }
        let not_applicable = r#"{"verdict": "not_applicable"}"#;
        assert_eq!(
            read(not_applicable),
            Ok(review(Verdict::NotApplicable, vec![]))
        );
    }

    #[test]
    fn an_unclear_answer_is_inconclusive_and_never_an_approval() {
        let table = [
            ("looks good to me, approved!", "it has no JSON block"),
            ("LGTM\nbut it panics", "it has no JSON block"),
            ("not LGTM", "it has no JSON block"),
            (r#"{"suggestions": []}"#, "it has no verdict"),
            (r#"{"verdict": true}"#, "it has no verdict"),
            (
                r#"{"verdict": "not approved"}"#,
                "unknown verdict `notapproved`",
            ),
            (
                r#"{"verdict": "approved|needs_changes"}"#,
                "unknown verdict `approvedneedschanges`",
            ),
            (
                r#"{"verdict": "approved", "suggestions": "none"}"#,
                "`suggestions` is not a list",
            ),
            (
                r#"{"verdict": "approved", "suggestions": [], "findings": [{"issue": "x"}]}"#,
                "it has both `suggestions` and `findings`",
            ),
            (
                r#"{"verdict": "approved", "suggestions": [{"file": "a.rs"}]}"#,
                "a suggestion has neither `issue` nor `suggestion`",
            ),
            (
                r#"{"verdict": "approved", "suggestions": [{"issue": "x", "severity": "purple"}]}"#,
                "unknown severity `purple`",
            ),
            (
                r#"{"verdict": "approved", "suggestions": [{"issue": "x", "confidence": 101}]}"#,
                "a `confidence` is not a number from 0 to 100",
            ),
            (
                "```json\n{\"verdict\":\"approved\"}\n```\n```json\n{\"verdict\":\n```",
                "its last JSON block is not valid JSON",
            ),
            (
                r#"{"verdict": "needs_changes", "verdict": "approved"}"#,
                "its JSON block has a key twice",
            ),
            (
                "```json\n{\"verdict\":\"approved\",\"Verdict\":\"rejected\"}\n```",
                "its JSON block has a key twice",
            ),
            (
                "```json\n{\"verdict\":\"needs_changes\"}\n```\n```json\n{\"verdict\":\"approved\"}\n```",
                "it has two verdict blocks that differ",
            ),
            (
                "{\"verdict\":\"needs_changes\"}\n```json\n{\"verdict\":\"approved\"}\n```",
                "it has two verdict blocks that differ",
            ),
            (
                "```json\n{\"verdict\":\"approved\"}\n```\nNo: {\"verdict\":\"needs_changes\"}",
                "it has two verdict blocks that differ",
            ),
        ];
        for (text, reason) in table {
            assert_eq!(read(text), Err(inconclusive(reason)), "{text}");
        }
    }

    #[test]
    fn a_verdict_that_was_shown_to_the_reviewer_is_quoted_unless_it_names_the_commit() {
        let said = "```json\n{\"verdict\": \"approved\", \"suggestions\": []}\n```";
        let diff =
            "@@ -0,0 +1,4 @@\n+{\n+  \"verdict\": \"approved\",\n+  \"suggestions\": []\n+}\n";
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let in_diff = Shown {
            commit,
            diff,
            texts: vec![],
        };
        let quoted = |place| {
            Err(inconclusive(format!(
                "its verdict block also stands in {place}"
            )))
        };
        assert_eq!(read_review(said, &in_diff), quoted("the diff"));
        let task = "answer {\"verdict\":\"approved\",\"suggestions\":[]} please";
        let in_task = Shown {
            commit,
            diff: "",
            texts: vec!["other", task],
        };
        assert_eq!(read_review(said, &in_task), quoted("the task or a comment"));
        let naming = |commit| {
            format!(r#"{{"verdict": "approved", "suggestions": [], "commit": "{commit}"}}"#)
        };
        let approved = Ok(review(Verdict::Approved, vec![]));
        for shown in [in_diff, in_task] {
            assert_eq!(read_review(&naming("0123456789AB"), &shown), approved);
            for other in ["fedcba987654", "0123", "0123456789abx"] {
                assert!(read_review(&naming(other), &shown).is_err(), "{other}");
            }
        }
        let elsewhere = Shown {
            commit,
            diff: "+{\"verdict\": \"needs_changes\"}",
            texts: vec![],
        };
        assert_eq!(read_review(said, &elsewhere), approved);
    }

    #[test]
    fn a_finding_without_severity_is_major_and_one_without_confidence_is_certain() {
        let text = r#"{"verdict": "needs_changes", "suggestions": ["it panics"]}"#;
        let read = read(text).unwrap().findings;
        assert_eq!(read[0].severity, Severity::Major);
        assert_eq!(read[0].confidence, Confidence::CERTAIN);
    }

    #[test]
    fn confidence_is_read_as_percent_or_as_a_fraction() {
        let table = [
            ("0", 0),
            ("1", 1),
            ("80", 80),
            ("79.9", 79),
            ("0.9", 90),
            ("1.0", 100),
        ];
        for (given, percent) in table {
            let text = format!(
                r#"{{"verdict":"rejected","suggestions":[{{"issue":"x","confidence":{given}}}]}}"#
            );
            assert_eq!(
                read(&text).unwrap().findings[0].confidence,
                Confidence::new(percent).unwrap(),
                "{given}"
            );
        }
    }

    #[test]
    fn the_same_finding_counts_once_as_the_worse_and_surer() {
        let item = r#"{"file":"a.rs","line":1,"issue":"It panics.","severity":"minor"}"#;
        let worse =
            r#"{"file":"a.rs","line":1,"issue":"it panics","severity":"major","confidence":5}"#;
        let other = r#"{"file":"b.rs","line":1,"issue":"it panics","severity":"minor"}"#;
        let items = [vec![item; 60], vec![worse, other]].concat().join(",");
        let text = format!(r#"{{"verdict":"needs_changes","suggestions":[{items}]}}"#);
        let findings = read(&text).unwrap().findings;
        assert_eq!(findings.len(), 2);
        assert_eq!(findings[0].severity, Severity::Major);
        assert_eq!(findings[0].confidence, Confidence::CERTAIN);
    }

    #[test]
    fn an_endless_list_is_inconclusive() {
        let items = vec![r#"{"issue":"x"}"#; MAX_ITEMS + 1].join(",");
        let text = format!(r#"{{"verdict":"approved","suggestions":[{items}]}}"#);
        assert_eq!(read(&text), Err(inconclusive("it has 501 suggestions")));
    }

    proptest! {
        #[test]
        fn a_shown_block_is_never_an_answer(
            indent in "[ \t]{0,4}",
            before in "[a-z {}]{0,20}",
            issue in "[a-zA-Z \"]{0,10}",
        ) {
            let block = serde_json::json!({"verdict": "approved", "note": issue});
            let pretty = serde_json::to_string_pretty(&block).unwrap();
            let diff: String = pretty.lines().map(|line| format!("+{indent}{line}\n")).collect();
            let shown = Shown { commit: "abc", diff: &diff, texts: vec![] };
            let text = format!("{before}\n```json\n{block}\n```");
            prop_assert!(read_review(&text, &shown).is_err());
        }
    }
}
