//! Merges findings that several reviewers reported.

use crate::agent::answer::Finding;
use crate::markdown::code;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// How many lines two findings about the same place may be apart.
const SAME_LINES: u64 = 3;
/// The percentage of the longer finding's words that the shorter one must contain.
const SAME_WORDS: usize = 60;
/// Words that negate a statement.
const NEGATIONS: [&str; 10] = [
    "not", "no", "never", "cannot", "without", "none", "nothing", "nobody", "neither", "nor",
];
/// How many further places of a finding are listed.
const MOST_PLACES: usize = 20;
/// How many characters of a file name are listed.
const PATH_CHARS: usize = 200;

/// The merged findings, the worst and most certain first. Findings with the same words at several places
/// become one, at the first place, which lists the others; refuted ones are merged separately.
pub fn merged(findings: &[Finding]) -> Vec<Finding> {
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    let mut known: BTreeMap<(String, bool, bool), usize> = BTreeMap::new();
    for finding in findings {
        let is_refuted = finding.refuted.is_some();
        let same = (words(&finding.issue), finding.pre_existing, is_refuted);
        let at = *known.entry(same).or_insert(groups.len());
        match groups.get_mut(at) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    let mut merged: Vec<Finding> = groups.iter().map(|group| one_of(group)).collect();
    merged.sort_by_key(|one| (one.severity, Reverse(one.confidence)));
    merged
}

/// The findings, where those with the same words get the worst severity and the highest confidence
/// of them. They stay separate, so that each place can be refuted.
pub fn levelled(mut findings: Vec<Finding>) -> Vec<Finding> {
    let all = findings.iter();
    let said: Vec<(String, bool)> = all
        .map(|finding| (words(&finding.issue), finding.pre_existing))
        .collect();
    for one in merged(&findings) {
        let same = (words(&one.issue), one.pre_existing);
        for (finding, said) in findings.iter_mut().zip(&said) {
            if *said == same {
                (finding.severity, finding.confidence) = (one.severity, one.confidence);
            }
        }
    }
    findings.sort_by_key(|one| (one.severity, Reverse(one.confidence)));
    findings
}

/// The findings of several reviewers without those that repeat an earlier one.
pub fn distinct<T>(findings: Vec<T>, finding: impl Fn(&T) -> &Finding) -> Vec<T> {
    let mut known: Vec<Meaning> = Vec::new();
    let is_new = |one: &T| {
        let meaning = Meaning::of(finding(one));
        let is_new = !known.iter().any(|known| meaning.is_same(known));
        if is_new {
            known.push(meaning);
        }
        is_new
    };
    findings.into_iter().filter(is_new).collect()
}

/// The meaning and place of a finding, computed once and compared with many.
pub struct Meaning {
    file: Option<String>,
    line: Option<u64>,
    words: String,
    vocabulary: BTreeSet<String>,
    negations: usize,
}

impl Meaning {
    /// The meaning of a finding.
    pub fn of(finding: &Finding) -> Self {
        Self {
            file: finding.file.clone(),
            line: finding.line,
            words: words(&finding.issue),
            vocabulary: vocabulary(&finding.issue),
            negations: negations(&finding.issue),
        }
    }

    /// Whether both mean the same in possibly other words: they are about nearby lines, and one
    /// contains all words of the other and few more.
    pub fn is_same(&self, other: &Meaning) -> bool {
        let is_here = self.file == other.file
            && match (self.line, other.line) {
                (Some(one), Some(other)) => one.abs_diff(other) <= SAME_LINES,
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
        is_here && (self.words == other.words || self.is_alike(other))
    }

    fn is_alike(&self, other: &Meaning) -> bool {
        if self.negations != other.negations {
            return false;
        }
        let (one, other) = (&self.vocabulary, &other.vocabulary);
        let both = one.intersection(other).count();
        let (fewer, more) = (one.len().min(other.len()), one.len().max(other.len()));
        more > 0 && both == fewer && both * 100 >= more * SAME_WORDS
    }
}

/// The number of negations in a text. A single one reverses its meaning.
fn negations(text: &str) -> usize {
    let text = text.to_lowercase().replace('’', "'");
    let short = text.matches("n't").count();
    let words = text.split(|c: char| !c.is_alphanumeric());
    short + words.filter(|word| NEGATIONS.contains(word)).count()
}

fn vocabulary(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// The first finding of a group, with the worst severity, the highest confidence, and the places of
/// the others.
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
    fn two_reviewers_mean_the_same_where_place_and_most_words_agree() {
        let one = finding("The name is not checked for NUL", 7, Severity::Major);
        let is_same =
            |one: &Finding, other: &Finding| Meaning::of(one).is_same(&Meaning::of(other));
        let same = |issue: &str, line| is_same(&finding(issue, line, Severity::Minor), &one);
        assert!(same("The name is not checked for NUL.", 7));
        assert!(same("The name of a file is not checked for NUL", 9));
        assert!(!same("The name is not checked for NUL", 20));
        assert!(!same("A panic in the parser", 7));
        assert!(!same("The path is not checked for NUL", 7));
        assert!(!same("The name is checked for NUL", 7));
        assert!(!same("The name isn't not checked for NUL", 7));
        let elsewhere = Finding {
            file: Some("b.rs".to_owned()),
            ..one.clone()
        };
        assert!(!is_same(&elsewhere, &one));
        let all = distinct(vec![one.clone(), elsewhere, one], |one| one);
        assert_eq!(all.len(), 2);
    }

    #[test]
    fn what_was_refuted_of_one_place_stands_at_the_others() {
        let mut all = levelled(vec![
            finding("it panics", 1, Severity::Minor),
            finding("It panics.", 2, Severity::Blocker),
            finding("another", 3, Severity::Minor),
        ]);
        let severities: Vec<Severity> = all.iter().map(|one| one.severity).collect();
        let (blocker, minor) = (Severity::Blocker, Severity::Minor);
        assert_eq!(severities, [blocker, blocker, minor]);
        all[0].refuted = Some("line 1 returns".to_owned());
        let merged = merged(&all);
        let lines: Vec<_> = merged
            .iter()
            .map(|one| (one.line, one.refuted.is_some()))
            .collect();
        assert_eq!(lines, [(Some(1), true), (Some(2), false), (Some(3), false)]);
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
