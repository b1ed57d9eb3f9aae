//! The text of a review.

use super::super::super::model::ReviewRecord;
use crate::agent::answer::{Suggestion, Verdict};
use crate::forge::text::BODY_CHARS;
use std::fmt::Write;

/// Longest list of findings, so that the whole comment fits.
const LIST_CHARS: usize = BODY_CHARS - 4_096;

/// The text of one suggestion.
pub(super) fn suggestion_text(suggestion: &Suggestion) -> String {
    let mut text = match &suggestion.severity {
        Some(severity) => format!("**{severity}** {}", suggestion.issue),
        None => suggestion.issue.clone(),
    };
    if let Some(what) = &suggestion.suggestion {
        let _ = write!(text, "\n\n{what}");
    }
    text
}

/// The text of a review: its heading, and what stands on no line.
pub(in crate::run) fn review_body(
    review: &ReviewRecord,
    on_lines: usize,
    others: &[Suggestion],
) -> String {
    let mut text = heading(review);
    if let Some(failure) = &review.failure {
        let _ = write!(text, "\n\nNo verdict: {failure}. The run continues.");
    }
    if on_lines > 0 {
        let plural = if on_lines == 1 { "" } else { "s" };
        let _ = write!(text, "\n\n{on_lines} inline comment{plural}");
    }
    if !others.is_empty() {
        text.push_str("\n\n");
        text.push_str(&listed(others));
    }
    text
}

fn heading(review: &ReviewRecord) -> String {
    match (review.domain, review.verdict) {
        (Some(domain), Some(verdict)) => domain.heading(verdict),
        (Some(domain), None) => format!("[{} REVIEW - INCONCLUSIVE]", domain.title()),
        (None, Some(Verdict::Approved)) => "[REVIEW - APPROVED]".to_owned(),
        (None, Some(Verdict::NeedsChanges)) => "[REVIEW - NEEDS CHANGES]".to_owned(),
        (None, None) => "[REVIEW - INCONCLUSIVE]".to_owned(),
    }
}

/// Lists every finding. If the list is too long, each finding is cut to an equal share, so that
/// the last ones are not lost.
fn listed(suggestions: &[Suggestion]) -> String {
    let items: Vec<String> = suggestions.iter().map(item).collect();
    let all = items.join("\n");
    if all.chars().count() <= LIST_CHARS {
        return all;
    }
    let share = LIST_CHARS / items.len() - 1;
    let cut: Vec<String> = items.iter().map(|item| fit_item(item, share)).collect();
    cut.join("\n")
}

fn item(suggestion: &Suggestion) -> String {
    let place = match (&suggestion.file, suggestion.line) {
        (Some(file), Some(line)) => format!("`{file}` line {line}: "),
        (Some(file), None) => format!("`{file}`: "),
        (None, _) => String::new(),
    };
    let words = suggestion_text(suggestion).replace('\n', "\n  ");
    format!("- {place}{words}")
}

fn fit_item(item: &str, room: usize) -> String {
    if item.chars().count() <= room {
        return item.to_owned();
    }
    let kept: String = item.chars().take(room.saturating_sub(2)).collect();
    format!("{} …", kept.trim_end())
}
