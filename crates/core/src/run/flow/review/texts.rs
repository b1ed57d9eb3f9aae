//! The text of a review.

use super::super::super::model::{ReviewRecord, Run};
use super::super::public_text::public;
use crate::agent::answer::{Confidence, Finding, Severity};
use crate::forge::inert::{Said, with_suggestion};
use crate::forge::text::BODY_CHARS;
use crate::markdown::code;
use crate::prompts::fenced;
use crate::review::verdict_title;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How many findings of all reviews of one commit are shown; the others are folded.
pub(in crate::run) const MOST_SHOWN: usize = 10;

/// The heading of findings that do not come from the change.
pub(in crate::run) const OLDER: &str = "Existed before this change, and does not block it";

/// The longest list of findings; the whole comment must fit.
const LIST_CHARS: usize = BODY_CHARS - 4_096;

/// The longest text posted before a suggestion; in a longer one the suggestion could be cut off.
const PLAIN_BYTES: usize = 10_000;

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

/// The text of one finding with the code that it suggests, for a fixer.
pub(super) fn text_with_code(finding: &Finding) -> String {
    let text = finding_text(finding);
    match code_block(finding, Form::Plain) {
        Some(block) => format!("{text}\n\n{block}"),
        None => text,
    }
}

/// The text of a finding on its lines, and the block in it that people may apply. A block can be
/// applied if its code replaces exactly these lines and the diff shows all of them. It must reach
/// the forge unchanged and as code.
pub(super) fn text_on_line(finding: &Finding, is_shown: bool) -> (String, Option<String>) {
    let text = finding_text(finding);
    let own = code_block(finding, Form::Suggestion).filter(|_| is_shown);
    let Some(block) = own else {
        return (text_with_code(finding), None);
    };
    // A forge without multi-line comments does not show which lines are meant.
    let lead = match (finding.line, finding.end_line) {
        (Some(line), Some(end)) => format!("Lines {line} to {end} become:\n\n"),
        (_, _) => String::new(),
    };
    // The reviewer's text may open a block that does not end before this one.
    let is_plain = !["```", "~~~", "<"].iter().any(|mark| text.contains(mark));
    let posted = if is_plain && text.len() <= PLAIN_BYTES {
        format!("{text}\n\n{lead}{block}")
    } else {
        format!("{lead}{block}\n\n{text}")
    };
    if with_suggestion(&posted, Some(&block), &Said::default()).contains(&block) {
        (posted, Some(block))
    } else {
        (text_with_code(finding), None)
    }
}

/// How suggested code is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    Suggestion,
}

/// The code that a finding suggests, as a block; `None` if it suggests none or the code does not
/// fit this form.
fn code_block(finding: &Finding, form: Form) -> Option<String> {
    let code = finding.replacement.as_deref()?;
    let line = finding.line?;
    let info = match form {
        Form::Suggestion if code.contains('\r') => return None,
        Form::Suggestion => "suggestion",
        Form::Plain => "",
    };
    let block = match code {
        // An empty line between the fences would become an empty line in the file.
        "" => format!("```{info}\n```"),
        code => fenced(code, info),
    };
    Some(match (form, finding.end_line) {
        (Form::Suggestion, _) => block,
        (Form::Plain, _) if code.is_empty() => "Suggested: delete it.".to_owned(),
        (Form::Plain, Some(end)) => format!("Lines {line} to {end} become:\n\n{block}"),
        (Form::Plain, None) => format!("Line {line} becomes:\n\n{block}"),
    })
}

/// The text of a finding without its severity.
pub(in crate::run) fn without_severity(text: &str) -> &str {
    let severity = |one: Severity| text.strip_prefix(&format!("**{}** ", one.name()));
    let rest = Severity::ALL.into_iter().find_map(severity).unwrap_or(text);
    let sure = rest.split_once(" % sure) ");
    sure.filter(|(percent, _)| percent.starts_with('(') && percent.len() <= 4)
        .map_or(rest, |(_, words)| words)
}

/// The text of a review: its heading, and its findings without a line, of which the first ones are
/// not folded.
pub(in crate::run) fn review_body(
    run: &Run,
    review: &ReviewRecord,
    on_lines: usize,
    (others, shown): (&[Finding], usize),
    repeats: &BTreeMap<String, usize>,
) -> String {
    let mut text = heading(review);
    if let Some(failure) = &review.failure {
        let failure = public(failure, run);
        let _ = match review.verdict {
            None => write!(text, "\n\nNo verdict: {failure}. The run continues."),
            Some(_) => write!(text, "\n\nNo verdict on {failure}."),
        };
    }
    if on_lines > 0 {
        let plural = if on_lines == 1 { "" } else { "s" };
        let _ = write!(text, "\n\n{on_lines} inline comment{plural}");
    }
    let (older, others): (Vec<&Finding>, Vec<&Finding>) =
        others.iter().partition(|one| one.pre_existing);
    let room = if older.is_empty() || others.is_empty() {
        LIST_CHARS
    } else {
        LIST_CHARS / 2
    };
    if !others.is_empty() {
        let _ = write!(text, "\n\n{}", listed(&others, shown, room));
    }
    if !older.is_empty() {
        // Blocking findings come first.
        let list = listed(&older, shown.saturating_sub(others.len()), room);
        let _ = write!(text, "\n\n{OLDER}:\n\n{list}");
    }
    for (domain, count) in repeats {
        let findings = if *count == 1 { "finding" } else { "findings" };
        let _ = write!(text, "\n\n{count} {findings} as in the review of {domain}.");
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
fn listed(findings: &[&Finding], shown: usize, room: usize) -> String {
    let mut items: Vec<String> = findings.iter().map(|one| item(one)).collect();
    let length = |items: &[String]| {
        items
            .iter()
            .map(|item| item.chars().count() + 1)
            .sum::<usize>()
    };
    if length(&items) > room {
        let share = room / items.len() - 1;
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
    let words = text_with_code(finding).replace('\n', "\n  ");
    format!("- {place}{words}")
}

fn fit_item(item: &str, room: usize) -> String {
    if item.chars().count() <= room {
        return item.to_owned();
    }
    let kept: String = item.chars().take(room.saturating_sub(2)).collect();
    format!("{} …", kept.trim_end())
}
