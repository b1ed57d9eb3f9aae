//! The score of one review: whether the defect was found, and what was reported besides.

use super::case::Defect;

/// The maximum distance of a finding from the defect, in lines.
const NEAR: u64 = 3;

/// A finding of a reviewer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// The domain; none for a review of the whole change.
    pub domain: Option<String>,
    /// The file it names.
    pub file: Option<String>,
    /// The line it names.
    pub line: Option<u64>,
    /// Issue, evidence and suggestion.
    pub text: String,
}

/// The result of reviewing one case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reviewed {
    /// The findings that stand against a merge.
    pub blocking: Vec<Finding>,
    /// The others: minor ones, and those that their reviewer is not sure of.
    pub other: Vec<Finding>,
    /// Why a reviewer gave no verdict.
    pub unjudged: Option<String>,
}

/// How a case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A blocking finding names the defect.
    Found,
    /// No blocking finding names the defect.
    Missed,
    /// A clean change was approved.
    Quiet,
    /// A clean change was not approved.
    FalseAlarm,
    /// A verdict is missing, and without it nothing blocks the change for the right reason.
    NoVerdict,
}

impl Outcome {
    /// The name in the report's JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Missed => "missed",
            Self::Quiet => "quiet",
            Self::FalseAlarm => "falseAlarm",
            Self::NoVerdict => "noVerdict",
        }
    }
}

/// The score of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Score {
    /// How it ended.
    pub outcome: Outcome,
    /// Blocking findings on a clean change.
    pub false_alarms: usize,
    /// Blocking findings elsewhere than the defect.
    pub elsewhere: usize,
    /// Whether a finding that does not block names a defect that was missed.
    pub noted: bool,
    /// The domains that found the defect, each once.
    pub found_by: Vec<String>,
}

/// Compares the findings of a review with the defect; `None` for a clean change.
pub fn score(defect: Option<&Defect>, reviewed: &Reviewed) -> Score {
    let blocking = reviewed.blocking.len();
    let Some(defect) = defect else {
        return Score {
            outcome: match (blocking, &reviewed.unjudged) {
                (0, None) => Outcome::Quiet,
                (0, Some(_)) => Outcome::NoVerdict,
                (_, _) => Outcome::FalseAlarm,
            },
            false_alarms: blocking,
            elsewhere: 0,
            noted: false,
            found_by: Vec::new(),
        };
    };
    let hits: Vec<&Finding> = matching(&reviewed.blocking, defect).collect();
    let outcome = match (hits.len(), &reviewed.unjudged) {
        (0, None) => Outcome::Missed,
        (0, Some(_)) => Outcome::NoVerdict,
        (_, _) => Outcome::Found,
    };
    let mut found_by: Vec<String> = hits.iter().filter_map(|hit| hit.domain.clone()).collect();
    found_by.dedup();
    Score {
        outcome,
        false_alarms: 0,
        elsewhere: blocking - hits.len(),
        noted: outcome == Outcome::Missed && matching(&reviewed.other, defect).next().is_some(),
        found_by,
    }
}

fn matching<'a>(
    findings: &'a [Finding],
    defect: &'a Defect,
) -> impl Iterator<Item = &'a Finding> + 'a {
    findings.iter().filter(|finding| names(finding, defect))
}

/// Whether a finding names the defect: its file and a line near it, or, without a line, one of its words.
fn names(finding: &Finding, defect: &Defect) -> bool {
    let text = finding.text.to_lowercase();
    let says_so = || {
        let mut words = defect.words.iter();
        words.any(|word| text.contains(&word.to_lowercase()))
    };
    match (&finding.file, finding.line) {
        (Some(file), _) if file.trim_start_matches("./") != defect.file => false,
        (Some(_), Some(line)) => {
            let (from, to) = defect.lines;
            (from.saturating_sub(NEAR)..=to.saturating_add(NEAR)).contains(&line)
        }
        (Some(_) | None, None) | (None, Some(_)) => says_so(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defect() -> Defect {
        Defect {
            file: "src/login.rs".to_owned(),
            lines: (10, 12),
            words: vec!["Empty password".to_owned(), "length".to_owned()],
            what: "An empty password is accepted.".to_owned(),
        }
    }

    fn at(file: &str, line: u64) -> Finding {
        Finding {
            file: Some(file.to_owned()),
            line: Some(line),
            text: "the length is not compared".to_owned(),
            ..Finding::default()
        }
    }

    fn says(file: Option<&str>, text: &str) -> Finding {
        Finding {
            file: file.map(str::to_owned),
            text: text.to_owned(),
            ..Finding::default()
        }
    }

    fn blocking(findings: &[Finding]) -> Reviewed {
        Reviewed {
            blocking: findings.to_vec(),
            ..Reviewed::default()
        }
    }

    #[test]
    fn a_finding_near_the_defect_finds_it() {
        for (finding, is_found) in [
            (at("src/login.rs", 6), false),
            (at("src/login.rs", 7), true),
            (at("src/login.rs", 11), true),
            (at("src/login.rs", 15), true),
            (at("src/login.rs", 16), false),
            (at("./src/login.rs", 11), true),
            (at("login.rs", 11), false),
            (at("src/main.rs", 11), false),
            (says(Some("src/login.rs"), "an EMPTY PASSWORD passes"), true),
            (says(Some("src/login.rs"), "the name is wrong"), false),
            (says(Some("src/main.rs"), "an empty password passes"), false),
            (says(None, "the lengths differ"), true),
            (says(None, "the name is wrong"), false),
        ] {
            let expected = Score {
                outcome: if is_found {
                    Outcome::Found
                } else {
                    Outcome::Missed
                },
                false_alarms: 0,
                elsewhere: usize::from(!is_found),
                noted: false,
                found_by: Vec::new(),
            };
            let scored = score(Some(&defect()), &blocking(std::slice::from_ref(&finding)));
            assert_eq!(scored, expected, "{finding:?}");
        }
    }

    #[test]
    fn a_defect_on_the_first_lines_can_be_found() {
        let defect = Defect {
            lines: (1, 1),
            ..defect()
        };
        let scored = score(Some(&defect), &blocking(&[at("src/login.rs", 1)]));
        assert_eq!(scored.outcome, Outcome::Found);
    }

    #[test]
    fn the_same_defect_in_two_domains_is_found_once_and_other_findings_are_elsewhere() {
        let by = |domain: &str, finding: Finding| Finding {
            domain: Some(domain.to_owned()),
            ..finding
        };
        let scored = score(
            Some(&defect()),
            &blocking(&[
                by("Correctness", at("src/login.rs", 10)),
                by("Correctness", at("src/login.rs", 12)),
                by("Security", at("src/login.rs", 11)),
                by("Security", at("src/main.rs", 1)),
            ]),
        );
        assert_eq!(
            scored,
            Score {
                outcome: Outcome::Found,
                false_alarms: 0,
                elsewhere: 1,
                noted: false,
                found_by: vec!["Correctness".to_owned(), "Security".to_owned()],
            }
        );
    }

    #[test]
    fn a_defect_that_only_a_minor_finding_names_is_missed_and_noted() {
        let reviewed = Reviewed {
            other: vec![at("src/login.rs", 10)],
            ..Reviewed::default()
        };
        let scored = score(Some(&defect()), &reviewed);
        assert_eq!((scored.outcome, scored.noted), (Outcome::Missed, true));
        let found = Reviewed {
            blocking: reviewed.other.clone(),
            ..reviewed
        };
        let scored = score(Some(&defect()), &found);
        assert_eq!((scored.outcome, scored.noted), (Outcome::Found, false));
    }

    #[test]
    fn every_blocking_finding_on_a_clean_change_is_a_false_alarm() {
        let quiet = score(None, &Reviewed::default());
        assert_eq!((quiet.outcome, quiet.false_alarms), (Outcome::Quiet, 0));
        let minor = Reviewed {
            other: vec![at("src/login.rs", 10)],
            ..Reviewed::default()
        };
        assert_eq!(score(None, &minor).outcome, Outcome::Quiet);
        let alarmed = score(None, &blocking(&[at("a", 1), at("b", 2)]));
        let figures = (alarmed.outcome, alarmed.false_alarms, alarmed.elsewhere);
        assert_eq!(figures, (Outcome::FalseAlarm, 2, 0));
    }

    #[test]
    fn a_missing_verdict_counts_unless_another_domain_blocks_the_change() {
        let without = |findings: &[Finding]| Reviewed {
            unjudged: Some("the reviewer failed".to_owned()),
            ..blocking(findings)
        };
        let outcome = |defect: Option<&Defect>, findings: &[Finding]| {
            score(defect, &without(findings)).outcome
        };
        let defect = defect();
        assert_eq!(outcome(Some(&defect), &[]), Outcome::NoVerdict);
        assert_eq!(outcome(None, &[]), Outcome::NoVerdict);
        assert_eq!(outcome(Some(&defect), &[at("a", 1)]), Outcome::NoVerdict);
        let hit = at("src/login.rs", 10);
        assert_eq!(outcome(Some(&defect), &[hit]), Outcome::Found);
        assert_eq!(outcome(None, &[at("a", 1)]), Outcome::FalseAlarm);
    }
}
