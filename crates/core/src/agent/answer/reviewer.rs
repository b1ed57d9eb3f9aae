use super::block::last_json;
use super::fields::Fields;
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

/// The verdict of one reviewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ReviewVerdict")]
pub enum Verdict {
    /// It can be merged.
    Approved,
    /// It cannot be merged yet.
    NeedsChanges,
}

/// One finding of a reviewer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Suggestion {
    /// The file, if the finding is about one.
    pub file: Option<String>,
    /// The line in the new version of the file.
    pub line: Option<u64>,
    /// The defect.
    pub issue: String,
    /// The suggested fix.
    pub suggestion: Option<String>,
    /// The severity as the reviewer gave it, in lowercase.
    pub severity: Option<String>,
}

/// A reviewer's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Review {
    /// The verdict on the whole change.
    pub verdict: Verdict,
    /// The findings.
    pub suggestions: Vec<Suggestion>,
}

/// A reviewer's answer. Without a clear verdict, or with a remark that cannot be read, it is
/// inconclusive: neither an approval nor a remark may be made up or lost.
pub fn read_review(text: &str) -> Result<Review, Inconclusive> {
    let answer = last_json(text).map_err(inconclusive)?;
    let fields = Fields::new(&answer);
    let verdict = match fields.word("verdict").as_deref() {
        Some("approved" | "approve") => Verdict::Approved,
        Some("needschanges" | "changesrequested" | "requestchanges") => Verdict::NeedsChanges,
        Some(other) => return Err(inconclusive(format!("unknown verdict `{other}`"))),
        None => return Err(inconclusive("it has no verdict")),
    };
    let suggestions = match fields.get("suggestions") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) if items.len() <= MAX_ITEMS => items
            .iter()
            .map(suggestion)
            .collect::<Option<_>>()
            .ok_or_else(|| inconclusive("a suggestion has neither `issue` nor `suggestion`"))?,
        Some(Value::Array(items)) => {
            return Err(inconclusive(format!("it has {} suggestions", items.len())));
        }
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
            return Err(inconclusive("`suggestions` is not a list"));
        }
    };
    Ok(Review {
        verdict,
        suggestions,
    })
}

fn suggestion(value: &Value) -> Option<Suggestion> {
    if let Some(text) = value.as_str().map(str::trim).filter(|t| !t.is_empty()) {
        return Some(Suggestion {
            file: None,
            line: None,
            issue: text.to_owned(),
            suggestion: None,
            severity: None,
        });
    }
    let fields = Fields::new(value);
    let (issue, suggestion) = match (fields.text("issue"), fields.text("suggestion")) {
        (Some(issue), suggestion) => (issue, suggestion),
        (None, Some(suggestion)) => (suggestion, None),
        (None, None) => return None,
    };
    Some(Suggestion {
        file: fields.text("file"),
        line: fields.number("line").filter(|line| *line > 0),
        issue,
        suggestion,
        severity: fields.text("severity").map(|word| word.to_lowercase()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn review(verdict: Verdict, suggestions: Vec<Suggestion>) -> Review {
        Review {
            verdict,
            suggestions,
        }
    }

    fn remark() -> Suggestion {
        Suggestion {
            file: Some("a.rs".to_owned()),
            line: Some(7),
            issue: "panics".to_owned(),
            suggestion: Some("return an error".to_owned()),
            severity: Some("high".to_owned()),
        }
    }

    #[test]
    fn a_clear_answer_is_read_in_whatever_dress() {
        let full = r#"{"verdict": "needs_changes", "suggestions": [{"file": "a.rs", "line": 7, "issue": "panics", "suggestion": "return an error", "severity": "high"}]}"#;
        let odd = r#"{"Suggestions": [{"File": " a.rs ", "LINE": "7", "Issue": "panics", "suggestion": "return an error", "Severity": "HIGH", "extra": 1}], "VERDICT": "Needs-Changes"}"#;
        let expected = review(Verdict::NeedsChanges, vec![remark()]);
        for text in [
            format!("prose\n```json\n{full}\n```"),
            format!("```json\n{odd}\n```\nMore prose."),
            format!("```\n{full}\n```"),
            full.to_owned(),
        ] {
            assert_eq!(read_review(&text), Ok(expected.clone()), "{text}");
        }
        for text in [
            r#"{"verdict":"approved","suggestions":[]}"#,
            r#"{"verdict":"APPROVED"}"#,
            r#"{"verdict":"Approved","suggestions":null}"#,
        ] {
            assert_eq!(
                read_review(text),
                Ok(review(Verdict::Approved, vec![])),
                "{text}"
            );
        }
    }

    #[test]
    fn an_unclear_answer_is_inconclusive_and_never_an_approval() {
        let table = [
            ("looks good to me, approved!", "it has no JSON block"),
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
                r#"{"verdict": "approved", "suggestions": [{"file": "a.rs"}]}"#,
                "a suggestion has neither `issue` nor `suggestion`",
            ),
            (
                "```json\n{\"verdict\":\"approved\"}\n```\n```json\n{\"verdict\":\n```",
                "its last JSON block is not valid JSON",
            ),
        ];
        for (text, reason) in table {
            assert_eq!(read_review(text), Err(inconclusive(reason)), "{text}");
        }
    }

    #[test]
    fn an_endless_list_is_inconclusive() {
        let items = vec![r#"{"issue":"x"}"#; MAX_ITEMS + 1].join(",");
        let text = format!(r#"{{"verdict":"approved","suggestions":[{items}]}}"#);
        assert_eq!(
            read_review(&text),
            Err(inconclusive("it has 501 suggestions"))
        );
    }
}
