use super::*;
use proptest::prelude::*;

const DOMAINS: [Option<Domain>; 2] = [Some(Domain::Security), Some(Domain::GeneralPolish)];

fn sha(digit: char) -> CommitSha {
    CommitSha::new(digit.to_string().repeat(40))
}

fn review(domain: Domain, verdict: Option<Verdict>, head: char) -> ReviewRecord {
    ReviewRecord {
        domain: Some(domain),
        round: 1,
        verdict,
        failure: None,
        findings: vec![],
        head: Some(sha(head)),
        resolution: None,
    }
}

fn word(reviews: &[ReviewRecord]) -> LastWord {
    let record = Record {
        reviews: reviews.to_vec(),
        ..Record::default()
    };
    record.last_word(&DOMAINS, &sha('b'))
}

#[test]
fn approved_means_every_domain_on_this_very_commit() {
    use Domain::{GeneralPolish, Security};
    let (yes, no) = (Some(Verdict::Approved), Some(Verdict::NeedsChanges));
    let not_applicable = Some(Verdict::NotApplicable);
    let polish = review(GeneralPolish, yes, 'b');
    let with = |verdict, head| word(&[review(Security, verdict, head), polish.clone()]);
    assert_eq!(with(yes, 'b'), LastWord::Approved);
    assert_eq!(with(yes, 'a'), LastWord::NeedsChanges);
    assert_eq!(with(no, 'b'), LastWord::NeedsChanges);
    assert_eq!(with(no, 'a'), LastWord::NeedsChanges);
    assert_eq!(with(None, 'b'), LastWord::Inconclusive);
    assert_eq!(with(not_applicable, 'b'), LastWord::Approved);
    assert_eq!(with(not_applicable, 'a'), LastWord::NeedsChanges);
    assert_eq!(word(&[polish]), LastWord::Inconclusive);
    assert_eq!(word(&[]), LastWord::Inconclusive);
}

#[test]
fn a_security_finding_that_is_raised_twice_counts_once() {
    let finding = |issue: &str, severity| Finding {
        file: None,
        line: None,
        issue: issue.to_owned(),
        evidence: None,
        suggestion: None,
        severity,
        confidence: crate::agent::answer::Confidence::CERTAIN,
        refuted: None,
        pre_existing: false,
        end_line: None,
        replacement: None,
    };
    let with = |domain, findings| ReviewRecord {
        findings,
        ..review(domain, Some(Verdict::NeedsChanges), 'a')
    };
    let blocker = finding("a secret is logged", Severity::Blocker);
    let minor = finding("no rate limit", Severity::Minor);
    let record = Record {
        reviews: vec![
            with(Domain::Security, vec![blocker.clone(), minor]),
            with(Domain::Security, vec![blocker.clone()]),
            with(Domain::GeneralPolish, vec![blocker]),
        ],
        ..Record::default()
    };
    let totals = SeverityTotals {
        blocker: 1,
        major: 0,
        minor: 1,
    };
    assert_eq!(record.security_findings(), totals);
}

#[test]
fn a_change_to_which_no_domain_applies_was_judged_by_nobody() {
    let none = Some(Verdict::NotApplicable);
    let all = [
        review(Domain::Security, none, 'b'),
        review(Domain::GeneralPolish, none, 'b'),
    ];
    assert_eq!(word(&all), LastWord::Inconclusive);
}

#[test]
fn only_the_last_review_of_a_domain_counts() {
    let security = |verdict| review(Domain::Security, Some(verdict), 'b');
    let polish = review(Domain::GeneralPolish, Some(Verdict::Approved), 'b');
    let (yes, no) = (security(Verdict::Approved), security(Verdict::NeedsChanges));
    assert_eq!(
        word(&[no.clone(), polish.clone(), yes.clone()]),
        LastWord::Approved
    );
    assert_eq!(word(&[yes, polish, no]), LastWord::NeedsChanges);
}

fn any_review() -> impl Strategy<Value = ReviewRecord> {
    let verdict = prop_oneof![
        Just(None),
        Just(Some(Verdict::Approved)),
        Just(Some(Verdict::NeedsChanges)),
        Just(Some(Verdict::NotApplicable)),
    ];
    let domain = prop_oneof![Just(Domain::Security), Just(Domain::GeneralPolish)];
    let head = prop_oneof![Just('a'), Just('b')];
    (domain, verdict, head).prop_map(|(domain, verdict, head)| review(domain, verdict, head))
}

proptest! {
    #[test]
    fn no_history_is_approved_without_each_domain_seeing_the_commit(
        reviews in prop::collection::vec(any_review(), 0..8),
    ) {
        if word(&reviews) == LastWord::Approved {
            for domain in DOMAINS {
                let last = reviews.iter().rfind(|one| one.domain == domain).unwrap();
                prop_assert_eq!(last.head.clone(), Some(sha('b')));
                prop_assert!(last.verdict.is_some_and(Verdict::is_content));
            }
        }
    }
}
