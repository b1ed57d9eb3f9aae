//! Places a finding on a line of the diff, or in the body of the review.

use super::super::super::model::{LineRemark, Part, Remark, ReviewOf};
use super::texts::{MOST_SHOWN, text_on_line, text_with_code};
use super::told::Told;
use crate::agent::answer::Finding;
use crate::forge::inline::{FileDiff, require_line, shows_lines};
use crate::review::Domain;
use std::cmp::Reverse;

/// How many findings each of these reviews shows: the worst of all, and together no more than a person reads.
pub(super) fn quotas(given: &[Told], is_to_fix: impl Fn(&Finding) -> bool) -> Vec<usize> {
    let mut all: Vec<(usize, &Finding)> = Vec::new();
    for (place, told) in given.iter().enumerate() {
        all.extend(told.review.findings.iter().map(|one| (place, one)));
    }
    all.sort_by_key(|(_, one)| (!is_to_fix(one), one.severity, Reverse(one.confidence)));
    let mut quotas = vec![0; given.len()];
    for (place, _) in all.into_iter().take(MOST_SHOWN) {
        quotas[place] += 1;
    }
    quotas
}

/// Splits findings into those on a line of the diff, up to `most`, and the others.
pub(super) fn by_place(
    findings: &[Finding],
    diff: &[FileDiff],
    most: usize,
) -> (Vec<Finding>, Vec<Finding>) {
    let (mut on_lines, mut others) = (Vec::new(), Vec::new());
    for finding in findings {
        let mut finding = finding.clone();
        let file = finding.file.as_deref();
        finding.file = file.map(|file| file.trim_start_matches("./").to_owned());
        let stands = match (&finding.file, finding.line) {
            (Some(file), Some(line)) => require_line(diff, file, line).is_ok(),
            (Some(_) | None, _) => false,
        };
        if stands && on_lines.len() < most {
            on_lines.push(finding)
        } else {
            others.push(finding)
        }
    }
    (on_lines, others)
}

/// One finding of a reviewer.
pub(super) fn remark(
    finding: &Finding,
    reviewer: &str,
    domain: Option<&Domain>,
    round: u32,
) -> Remark {
    Remark {
        author: reviewer.to_owned(),
        review: ReviewOf {
            domain: domain.cloned(),
            round,
        },
        file: finding.file.clone(),
        line: finding.line,
        body: text_with_code(finding),
    }
}

/// A finding on a line, in the forge's form. It spans several lines only if a person can apply its
/// code to them.
pub(super) fn line_remark(finding: &Finding, diff: &[FileDiff]) -> LineRemark {
    let path = finding.file.clone().unwrap_or_default();
    let first = finding.line.unwrap_or_default();
    let last = finding.end_line.unwrap_or(first);
    let (body, suggestion) = text_on_line(finding, shows_lines(diff, &path, first, last));
    let is_range = suggestion.is_some() && last > first;
    LineRemark {
        path,
        line: if is_range { last } else { first },
        start_line: is_range.then_some(first),
        body,
        suggestion,
    }
}

/// Findings without a line as one comment, and its parts if there are several.
pub(super) fn together(remarks: Vec<Remark>) -> Option<(Remark, Vec<Part>)> {
    let first = remarks.first().cloned()?;
    let body: Vec<String> = remarks
        .iter()
        .map(|remark| match (&remark.file, remark.line) {
            (Some(file), Some(line)) => format!("- `{file}` line {line}: {}", remark.body),
            (Some(file), None) => format!("- `{file}`: {}", remark.body),
            (None, _) => format!("- {}", remark.body),
        })
        .collect();
    let part = |one: Remark| Part {
        file: one.file,
        line: one.line,
        body: one.body,
        answer: None,
    };
    let mut parts: Vec<Part> = remarks.into_iter().map(part).collect();
    if parts.len() == 1 {
        parts.clear();
    }
    let all = Remark {
        file: None,
        line: None,
        body: body.join("\n"),
        ..first
    };
    Some((all, parts))
}
