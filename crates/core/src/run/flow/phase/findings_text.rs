//! Findings as lists for people.

use super::super::super::model::{Phase, Request, ReviewRecord};
use crate::agent::answer::Finding;
use crate::forge::text::{LINE_CHARS, first_line, plain_line};
use crate::review::{distinct, is_blocking, merged};
use std::fmt::Write;

/// How many items of a list are shown; the rest is folded.
const MOST_SHOWN: usize = 10;

/// The findings that block a merge, each once, with the first review that reported it.
pub(super) fn blocking_findings<'a>(
    phase: &'a Phase,
    request: &Request,
) -> Vec<(&'a ReviewRecord, &'a Finding)> {
    let terms = request.kind.phase_terms();
    let min = terms.map(|terms| terms.review.min_confidence);
    let against = |one: &&Finding| min.is_some_and(|min| is_blocking(one, min));
    let reviews = phase.record.objections();
    let all = reviews.flat_map(|review| {
        let findings = review.findings.iter().filter(against);
        findings.map(move |finding| (review, finding))
    });
    distinct(all.collect(), |(_, finding)| finding)
}

/// The findings that block a merge, as a list.
pub(super) fn open_findings(phase: &Phase, request: &Request) -> String {
    let all = blocking_findings(phase, request);
    let items = all.into_iter().map(|(review, finding)| {
        let of = review.domain.as_ref();
        let of = of.map_or(String::new(), |domain| format!("{domain}, "));
        let severity = finding.severity.name();
        let (place, issue) = (place(finding), first_line(&finding.issue));
        format!("- {of}{severity}: {place}{issue}")
    });
    folded_list(&items.collect::<Vec<_>>(), "finding")
}

/// The findings in each domain's last review that existed before the change, as a list. Those that
/// block a merge come first, and both lists together show no more than one.
pub(super) fn older_findings(phase: &Phase, request: &Request) -> String {
    let room = MOST_SHOWN.saturating_sub(blocking_findings(phase, request).len());
    let reviews = &phase.record.reviews;
    let is_last = |(number, one): &(usize, &ReviewRecord)| {
        let mut later = reviews[number + 1..].iter();
        one.verdict.is_some()
            && later.all(|later| later.domain != one.domain || later.verdict.is_none())
    };
    let last = reviews.iter().enumerate().filter(is_last);
    let all: Vec<Finding> = last
        .flat_map(|(_, review)| &review.findings)
        .filter(|one| one.pre_existing && one.refuted.is_none())
        .cloned()
        .collect();
    let items = merged(&all).into_iter().map(|finding| {
        let (place, issue) = (place(&finding), first_line(&finding.issue));
        format!("- {}: {place}{issue}", finding.severity.name())
    });
    folded_after(&items.collect::<Vec<_>>(), "finding", room)
}

/// The place of a finding, as the beginning of a line.
fn place(finding: &Finding) -> String {
    match (&finding.file, finding.line) {
        (Some(file), Some(line)) => format!("{}:{line}: ", plain(file)),
        (Some(file), None) => format!("{}: ", plain(file)),
        (None, _) => String::new(),
    }
}

/// A list whose end is folded if the list is long.
pub(super) fn folded_list(items: &[String], noun: &str) -> String {
    folded_after(items, noun, MOST_SHOWN)
}

fn folded_after(items: &[String], noun: &str, most: usize) -> String {
    let (shown, folded) = items.split_at(items.len().min(most));
    let mut text: String = shown.iter().map(|item| format!("{item}\n")).collect();
    if !folded.is_empty() {
        let more = if shown.is_empty() { "" } else { "more " };
        let more = counted(folded.len(), &format!("{more}{noun}"));
        let rest = folded.join("\n");
        let _ = write!(
            text,
            "\n<details><summary>{more}</summary>\n\n{rest}\n\n</details>\n"
        );
    }
    text
}

/// Other people's text as part of one line.
pub(super) fn plain(text: &str) -> String {
    plain_line(text, LINE_CHARS)
}

/// A number with its noun.
pub(super) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
