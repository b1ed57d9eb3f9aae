//! The text of a review.

use super::super::super::model::ReviewRecord;
use crate::agent::answer::{Confidence, Finding, Severity};
use crate::forge::text::BODY_CHARS;
use crate::markdown::code;
use crate::review::verdict_title;
use std::fmt::Write;

/// How many findings of one review are shown; the rest is folded.
pub(super) const MOST_SHOWN: usize = 10;

/// Longest list of findings, so that the whole comment fits.
const LIST_CHARS: usize = BODY_CHARS - 4_096;

/// Longest name of a file.
const PATH_CHARS: usize = 300;

/// The text of one finding.
pub(super) fn finding_text(finding: &Finding) -> String {
    let severity = finding.severity.name();
    let mut text = match finding.confidence {
        Confidence::CERTAIN => format!("**{severity}** {}", finding.issue),
        less => format!("**{severity}** ({} % sure) {}", less.get(), finding.issue),
    };
    for part in [&finding.evidence, &finding.suggestion]
        .into_iter()
        .flatten()
    {
        let _ = write!(text, "\n\n{part}");
    }
    if let Some(why) = &finding.refuted {
        let _ = write!(text, "\n\nRefuted by a second agent: {why}");
    }
    text
}

/// What a finding says, without how bad it is.
pub(in crate::run) fn without_severity(text: &str) -> &str {
    let severity = |one: Severity| text.strip_prefix(&format!("**{}** ", one.name()));
    let rest = Severity::ALL.into_iter().find_map(severity).unwrap_or(text);
    let sure = rest.split_once(" % sure) ");
    sure.filter(|(percent, _)| percent.starts_with('(') && percent.len() <= 4)
        .map_or(rest, |(_, words)| words)
}

/// The text of a review: its heading, and what stands on no line.
pub(in crate::run) fn review_body(
    review: &ReviewRecord,
    on_lines: usize,
    others: &[Finding],
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
        text.push_str(&listed(others, MOST_SHOWN.saturating_sub(on_lines)));
    }
    text
}

fn heading(review: &ReviewRecord) -> String {
    match &review.domain {
        Some(domain) => domain.heading(review.verdict),
        None => format!("[REVIEW - {}]", verdict_title(review.verdict)),
    }
}

/// Lists every finding, those after the first few folded. If the list is too long, each finding is cut
/// to an equal share, so that the last ones are not lost.
fn listed(findings: &[Finding], shown: usize) -> String {
    let mut items: Vec<String> = findings.iter().map(item).collect();
    let length = |items: &[String]| {
        items
            .iter()
            .map(|item| item.chars().count() + 1)
            .sum::<usize>()
    };
    if length(&items) > LIST_CHARS {
        let share = LIST_CHARS / items.len() - 1;
        items = items.iter().map(|item| fit_item(item, share)).collect();
    }
    let (shown, folded) = items.split_at(shown.min(items.len()));
    let mut text = shown.join("\n");
    if !folded.is_empty() {
        if !shown.is_empty() {
            text.push_str("\n\n");
        }
        let (count, plural) = (folded.len(), if folded.len() == 1 { "" } else { "s" });
        let more = if shown.is_empty() { "" } else { "more " };
        let rest = folded.join("\n");
        let _ = write!(
            text,
            "<details><summary>{count} {more}finding{plural}</summary>\n\n{rest}\n\n</details>"
        );
    }
    text
}

fn item(finding: &Finding) -> String {
    let place = match (&finding.file, finding.line) {
        (Some(file), Some(line)) => format!("{} line {line}: ", code(file, PATH_CHARS)),
        (Some(file), None) => format!("{}: ", code(file, PATH_CHARS)),
        (None, _) => String::new(),
    };
    let words = finding_text(finding).replace('\n', "\n  ");
    format!("- {place}{words}")
}

fn fit_item(item: &str, room: usize) -> String {
    if item.chars().count() <= room {
        return item.to_owned();
    }
    let kept: String = item.chars().take(room.saturating_sub(2)).collect();
    format!("{} …", kept.trim_end())
}
