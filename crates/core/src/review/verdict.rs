//! Derives a verdict from a reviewer's findings.

use super::{Domain, Subject};
use crate::agent::answer::{Confidence, Finding, Inconclusive, Review, Severity, Verdict};

/// Whether a finding blocks a merge.
pub fn is_blocking(finding: &Finding, min_confidence: Confidence) -> bool {
    let is_claim = finding.severity <= Severity::Major && finding.confidence >= min_confidence;
    is_claim && finding.refuted.is_none() && !finding.pre_existing
}

/// The verdict that follows from the findings. The reviewer's own verdict can only prevent it: if
/// the two contradict each other, there is no verdict.
pub fn derive(
    review: &Review,
    domain: Option<&Domain>,
    subject: Subject,
    min_confidence: Confidence,
) -> Result<Verdict, Inconclusive> {
    let findings = &review.findings;
    let blocks = |one: &&Finding| is_blocking(one, min_confidence);
    let against = findings.iter().find(blocks);
    let mut own = findings.iter().filter(|one| !one.pre_existing);
    let has_own = own.clone().next().is_some();
    let blocker = own.find(|one| one.severity == Severity::Blocker);
    let contradicts = |reason: String| Err(Inconclusive { reason });
    match review.verdict {
        Verdict::Approved => match against.or(blocker) {
            Some(one) => contradicts(format!("it approves beside a {}", one.severity.name())),
            None => Ok(Verdict::Approved),
        },
        Verdict::NeedsChanges if against.is_some() => Ok(Verdict::NeedsChanges),
        Verdict::NeedsChanges if findings.is_empty() => {
            contradicts("it requests changes and lists none".to_owned())
        }
        Verdict::NeedsChanges if blocker.is_some() => {
            contradicts("it requests changes for a blocker that it is not sure of".to_owned())
        }
        Verdict::NeedsChanges => Ok(Verdict::Approved),
        Verdict::NotApplicable if has_own => {
            contradicts("it says that the domain does not apply, and lists findings".to_owned())
        }
        Verdict::NotApplicable => match domain {
            Some(domain) if domain.may_not_apply(subject) => Ok(Verdict::NotApplicable),
            Some(domain) => contradicts(format!("{domain} always applies")),
            None => contradicts("a review of the whole change always applies".to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN: Confidence = Confidence::CERTAIN;

    fn finding(severity: Severity, is_sure: bool) -> Finding {
        let percent = if is_sure { 100 } else { 99 };
        Finding {
            file: None,
            line: None,
            issue: "it panics".to_owned(),
            evidence: None,
            suggestion: None,
            severity,
            confidence: Confidence::new(percent).unwrap(),
            refuted: None,
            pre_existing: false,
            end_line: None,
            replacement: None,
        }
    }

    fn derived(verdict: Verdict, findings: &[Finding]) -> Result<Verdict, String> {
        let review = Review {
            verdict,
            findings: findings.to_vec(),
        };
        derive(&review, Some(&Domain::Security), Subject::Code, MIN).map_err(|why| why.reason)
    }

    #[test]
    fn a_sure_blocker_or_major_means_changes_and_nothing_else_does() {
        let (said, minor) = (Verdict::NeedsChanges, finding(Severity::Minor, true));
        for severity in [Severity::Blocker, Severity::Major] {
            let sure = [minor.clone(), finding(severity, true)];
            assert_eq!(derived(said, &sure), Ok(Verdict::NeedsChanges));
        }
        assert_eq!(
            derived(said, &[finding(Severity::Major, false)]),
            Ok(Verdict::Approved)
        );
        assert_eq!(
            derived(said, std::slice::from_ref(&minor)),
            Ok(Verdict::Approved)
        );
        assert_eq!(derived(Verdict::Approved, &[minor]), Ok(Verdict::Approved));
    }

    #[test]
    fn a_verdict_against_its_own_findings_is_inconclusive() {
        let why = |verdict, findings: &[Finding]| derived(verdict, findings).unwrap_err();
        let (approved, not_applicable) = (Verdict::Approved, Verdict::NotApplicable);
        assert_eq!(
            why(approved, &[finding(Severity::Major, true)]),
            "it approves beside a major"
        );
        for is_sure in [true, false] {
            assert_eq!(
                why(approved, &[finding(Severity::Blocker, is_sure)]),
                "it approves beside a blocker"
            );
        }
        assert_eq!(
            why(Verdict::NeedsChanges, &[]),
            "it requests changes and lists none"
        );
        assert_eq!(
            why(Verdict::NeedsChanges, &[finding(Severity::Blocker, false)]),
            "it requests changes for a blocker that it is not sure of"
        );
        assert_eq!(
            why(not_applicable, &[finding(Severity::Minor, true)]),
            "it says that the domain does not apply, and lists findings"
        );
    }

    #[test]
    fn what_existed_before_the_change_blocks_nothing_and_contradicts_nothing() {
        for is_sure in [true, false] {
            let older = [Finding {
                pre_existing: true,
                ..finding(Severity::Blocker, is_sure)
            }];
            assert!(!is_blocking(&older[0], MIN));
            assert_eq!(derived(Verdict::Approved, &older), Ok(Verdict::Approved));
            assert_eq!(
                derived(Verdict::NeedsChanges, &older),
                Ok(Verdict::Approved)
            );
            let idle = Verdict::NotApplicable;
            assert_eq!(derived(idle, &older), Ok(idle));
            let both = [older[0].clone(), finding(Severity::Major, true)];
            let said = Verdict::NeedsChanges;
            assert_eq!(derived(said, &both), Ok(said));
        }
    }

    #[test]
    fn not_applicable_is_an_answer_for_one_domain_only() {
        let review = Review {
            verdict: Verdict::NotApplicable,
            findings: vec![],
        };
        let of = |domain| derive(&review, domain, Subject::Code, MIN).map_err(|why| why.reason);
        assert_eq!(of(Some(&Domain::Security)), Ok(Verdict::NotApplicable));
        let feasible = Some(&Domain::TechnicalFeasibility);
        assert_eq!(of(feasible), Ok(Verdict::NotApplicable));
        assert!(derive(&review, feasible, Subject::Plan, MIN).is_err());
        assert_eq!(
            of(Some(&Domain::Correctness)),
            Err("Correctness always applies".to_owned())
        );
        assert_eq!(
            of(None),
            Err("a review of the whole change always applies".to_owned())
        );
    }
}
