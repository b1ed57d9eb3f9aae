//! What several findings say once.

use crate::agent::answer::Finding;
use crate::markdown::code;
use std::cmp::Reverse;

/// How many further places of a finding are named.
const MOST_PLACES: usize = 20;
/// Longest name of a file among them.
const PATH_CHARS: usize = 200;

/// The findings, the worst and surest first. What is said of several places in the same words is one
/// finding at the first of them that names the others.
pub fn merged(findings: &[Finding]) -> Vec<Finding> {
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    for finding in findings {
        let words = words(&finding.issue);
        let is_same = |group: &&mut Vec<&Finding>| {
            let first = group[0];
            first.pre_existing == finding.pre_existing && words == self::words(&first.issue)
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    let mut merged: Vec<Finding> = groups.iter().map(|group| one_of(group)).collect();
    merged.sort_by_key(|one| (one.severity, Reverse(one.confidence)));
    merged
}

/// The first of them, as bad and as sure as the worst, with the places of the others.
fn one_of(group: &[&Finding]) -> Finding {
    let mut one = group[0].clone();
    for other in &group[1..] {
        one.severity = one.severity.min(other.severity);
        one.confidence = one.confidence.max(other.confidence);
    }
    let places: Vec<String> = group[1..].iter().filter_map(|other| place(other)).collect();
    if !places.is_empty() {
        let named = places[..places.len().min(MOST_PLACES)].join(", ");
        let more = match places.len().saturating_sub(MOST_PLACES) {
            0 => String::new(),
            1 => " and 1 more place".to_owned(),
            more => format!(" and {more} more places"),
        };
        let also = format!("The same in {named}{more}.");
        one.evidence = Some(match one.evidence {
            Some(evidence) => format!("{evidence}\n\n{also}"),
            None => also,
        });
    }
    one
}

fn place(finding: &Finding) -> Option<String> {
    let file = code(finding.file.as_deref()?, PATH_CHARS);
    Some(match finding.line {
        Some(line) => format!("{file} line {line}"),
        None => file,
    })
}

/// The words of a text, without case and punctuation.
fn words(text: &str) -> String {
    let is_word = |c: &char| c.is_alphanumeric();
    let words: String = text.chars().filter(is_word).collect();
    if words.is_empty() {
        return text.to_owned();
    }
    words.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::answer::{Confidence, Severity};

    fn finding(issue: &str, line: u64, severity: Severity) -> Finding {
        Finding {
            file: Some("a.rs".to_owned()),
            line: Some(line),
            issue: issue.to_owned(),
            evidence: None,
            suggestion: None,
            severity,
            confidence: Confidence::CERTAIN,
            refuted: None,
            pre_existing: false,
            end_line: None,
            replacement: None,
        }
    }

    #[test]
    fn what_is_said_of_sixty_places_is_one_finding_as_bad_as_the_worst() {
        let mut all: Vec<Finding> = (1..=60)
            .map(|line| finding("It  panics.", line, Severity::Minor))
            .collect();
        all[40].severity = Severity::Blocker;
        all[50].issue = "it panics".to_owned();
        let merged = merged(&all);
        let [one] = merged.as_slice() else {
            panic!("{merged:?}");
        };
        assert_eq!((one.line, one.severity), (Some(1), Severity::Blocker));
        let evidence = one.evidence.as_deref().unwrap();
        assert!(evidence.starts_with("The same in `a.rs` line 2, `a.rs` line 3, "));
        assert!(evidence.ends_with("`a.rs` line 21 and 39 more places."));
    }

    #[test]
    fn different_findings_stay_apart_and_the_worst_comes_first() {
        let all = [
            finding("b", 1, Severity::Minor),
            finding("a", 1, Severity::Blocker),
            finding("c", 1, Severity::Minor),
        ];
        let merged = merged(&all);
        let issues: Vec<&str> = merged.iter().map(|one| one.issue.as_str()).collect();
        assert_eq!(issues, ["a", "b", "c"]);
        assert!(merged.iter().all(|one| one.evidence.is_none()));
    }
}
