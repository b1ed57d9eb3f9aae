//! Places a suggestion on a line of the diff, or in the body of the review.

use super::super::super::model::{LineRemark, Remark};
use super::texts::suggestion_text;
use crate::agent::answer::Suggestion;
use crate::forge::inline::{FileDiff, require_line};
use crate::review::Domain;

/// Most inline comments of one review; other findings go into its body.
const MOST_LINES: usize = 50;

/// Splits suggestions into those on a line of the diff and the others.
pub(super) fn by_place(
    suggestions: &[Suggestion],
    diff: &[FileDiff],
) -> (Vec<Suggestion>, Vec<Suggestion>) {
    let (mut on_lines, mut others) = (Vec::new(), Vec::new());
    for suggestion in suggestions {
        let mut suggestion = suggestion.clone();
        let file = suggestion.file.as_deref();
        suggestion.file = file.map(|file| file.trim_start_matches("./").to_owned());
        let stands = match (&suggestion.file, suggestion.line) {
            (Some(file), Some(line)) => require_line(diff, file, line).is_ok(),
            (Some(_) | None, _) => false,
        };
        if stands && on_lines.len() < MOST_LINES {
            on_lines.push(suggestion)
        } else {
            others.push(suggestion)
        }
    }
    (on_lines, others)
}

/// One finding of a reviewer.
pub(super) fn remark(
    suggestion: &Suggestion,
    reviewer: &str,
    domain: Option<Domain>,
    round: u32,
) -> Remark {
    Remark {
        author: reviewer.to_owned(),
        domain,
        round,
        file: suggestion.file.clone(),
        line: suggestion.line,
        body: suggestion_text(suggestion),
    }
}

/// A suggestion that stands on a line, as the forge takes it.
pub(super) fn line_remark(suggestion: &Suggestion) -> LineRemark {
    LineRemark {
        path: suggestion.file.clone().unwrap_or_default(),
        line: suggestion.line.unwrap_or_default(),
        body: suggestion_text(suggestion),
    }
}

/// Findings without a line are fixed together.
pub(super) fn together(remarks: Vec<Remark>) -> Vec<Remark> {
    let Some(first) = remarks.first().cloned() else {
        return Vec::new();
    };
    let body: Vec<String> = remarks
        .iter()
        .map(|remark| match (&remark.file, remark.line) {
            (Some(file), Some(line)) => format!("- `{file}` line {line}: {}", remark.body),
            (Some(file), None) => format!("- `{file}`: {}", remark.body),
            (None, _) => format!("- {}", remark.body),
        })
        .collect();
    vec![Remark {
        file: None,
        line: None,
        body: body.join("\n"),
        ..first
    }]
}
