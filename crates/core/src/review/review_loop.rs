use super::Domain;
use crate::agent::answer::{Finding, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is reviewed, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewPlan {
    /// What is looked at, in order; one `None` for a review of everything at once.
    pub domains: Vec<Option<Domain>>,
    /// How often one domain is reviewed at most.
    pub max_reviews: u32,
    /// Whether the findings of the last review are still fixed, although no review follows.
    pub fix_after_last: bool,
}

impl ReviewPlan {
    /// One review, one round of fixes, done.
    pub fn sequential() -> Self {
        Self {
            domains: vec![None],
            max_reviews: 1,
            fix_after_last: true,
        }
    }

    /// Review and fix until approved, or out of iterations.
    pub fn pingpong(max_iterations: u32) -> Self {
        Self {
            domains: vec![None],
            max_reviews: max_iterations.max(1),
            fix_after_last: false,
        }
    }

    /// One domain after the other, each until approved or out of iterations.
    pub fn by_domain(domains: impl IntoIterator<Item = Domain>, max_iterations: u32) -> Self {
        Self {
            domains: domains.into_iter().map(Some).collect(),
            max_reviews: max_iterations.max(1),
            fix_after_last: false,
        }
    }
}

/// The result of one review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "review")]
pub enum Reviewed {
    /// A usable verdict.
    Judged {
        /// The verdict.
        verdict: Verdict,
        /// What a fixer is asked to change; nothing where it declined all that stands against a merge.
        findings: Vec<Finding>,
    },
    /// The reviewer answered, and no verdict follows.
    Unreadable {
        /// Why, as a lowercase fragment.
        why: String,
    },
    /// The reviewer failed.
    Failed,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "move")]
pub enum Move {
    /// Start a review.
    Review {
        /// The domain; `None` reviews everything.
        domain: Option<Domain>,
        /// For the how-manieth time in this domain, from 1.
        round: u32,
        /// Why the reviewer is asked once more: no verdict followed from its answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        again: Option<String>,
    },
    /// Let the fixer address these findings.
    Fix {
        /// The domain of the findings.
        domain: Option<Domain>,
        /// The findings.
        findings: Vec<Finding>,
    },
    /// The reviews are finished.
    Done,
}

/// What all reviews together came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RunVerdict")]
pub enum LastWord {
    /// Every domain approved this very commit.
    Approved,
    /// At least one domain asks for changes, or approved another commit.
    NeedsChanges,
    /// At least one domain has no usable verdict.
    Inconclusive,
}

/// The loop over reviews and fixes. It moves by [`reviewed`](Self::reviewed) and
/// [`fixed`](Self::fixed), and each says what comes next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewLoop {
    plan: ReviewPlan,
    at: usize,
    round: u32,
    asked_again: bool,
    /// How often each domain was reviewed before this loop; nothing for the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<u32>,
}

impl ReviewLoop {
    /// The loop before its first review, and that review.
    pub fn begin(plan: ReviewPlan) -> (Self, Move) {
        Self::again(plan, Vec::new())
    }

    /// A further loop over domains that were reviewed so often before: what they approved has
    /// changed since. The plan's bound holds for all loops together.
    pub fn again(plan: ReviewPlan, earlier: Vec<u32>) -> (Self, Move) {
        let mut this = Self {
            plan,
            at: 0,
            round: 1,
            asked_again: false,
            earlier,
        };
        this.round = this.first_round();
        let first = this.review_or_done(None);
        (this, first)
    }

    fn first_round(&self) -> u32 {
        self.earlier.get(self.at).copied().unwrap_or_default() + 1
    }

    /// The domain under review.
    pub fn domain(&self) -> Option<Domain> {
        self.plan.domains.get(self.at).cloned().flatten()
    }

    /// Returns the next move after a review.
    pub fn reviewed(&mut self, reviewed: Reviewed) -> Move {
        match reviewed {
            Reviewed::Judged { verdict, findings } if !verdict.is_content() => {
                self.asked_again = false;
                let has_next = !self.is_last() || self.plan.fix_after_last;
                if findings.is_empty() || !has_next {
                    return self.next_domain();
                }
                Move::Fix {
                    domain: self.domain(),
                    findings,
                }
            }
            Reviewed::Unreadable { why } if !self.asked_again => {
                self.asked_again = true;
                self.review_or_done(Some(why))
            }
            Reviewed::Judged { .. } | Reviewed::Unreadable { .. } | Reviewed::Failed => {
                self.next_domain()
            }
        }
    }

    /// What follows once remarks were worked in, or could not be.
    pub fn fixed(&mut self) -> Move {
        if self.is_last() {
            return self.next_domain();
        }
        self.round += 1;
        self.review_or_done(None)
    }

    /// Whether the domain has no review left after this one.
    fn is_last(&self) -> bool {
        self.round >= self.plan.max_reviews
    }

    fn next_domain(&mut self) -> Move {
        self.at += 1;
        self.round = self.first_round();
        self.asked_again = false;
        self.review_or_done(None)
    }

    fn review_or_done(&self, again: Option<String>) -> Move {
        match self.plan.domains.get(self.at) {
            Some(domain) => Move::Review {
                domain: domain.clone(),
                round: self.round,
                again,
            },
            None => Move::Done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::answer::{Confidence, Severity};
    use proptest::prelude::*;

    fn finding() -> Finding {
        Finding {
            file: Some("src/login.rs".into()),
            line: Some(7),
            issue: "the name is not checked".into(),
            evidence: None,
            suggestion: None,
            severity: Severity::Major,
            confidence: Confidence::CERTAIN,
            refuted: None,
            pre_existing: false,
            end_line: None,
            replacement: None,
        }
    }

    fn by_domain(max_iterations: u32) -> ReviewPlan {
        ReviewPlan::by_domain(Domain::SHIPPED.into_iter().skip(1), max_iterations)
    }

    fn unreadable() -> Reviewed {
        Reviewed::Unreadable {
            why: "it has no verdict".to_owned(),
        }
    }

    fn approves() -> Reviewed {
        Reviewed::Judged {
            verdict: Verdict::Approved,
            findings: vec![],
        }
    }

    fn objects() -> Reviewed {
        Reviewed::Judged {
            verdict: Verdict::NeedsChanges,
            findings: vec![finding()],
        }
    }

    /// Plays the answers in turn (the last one for ever) and lists the moves.
    fn play(plan: ReviewPlan, answers: &[Reviewed]) -> Vec<String> {
        let (mut review_loop, mut next) = ReviewLoop::begin(plan);
        let mut answers = answers.iter().cycle();
        let mut moves = Vec::new();
        for _ in 0..100 {
            next = match next {
                Move::Review {
                    domain,
                    round,
                    again,
                } => {
                    let what = domain.as_ref().map_or("all", Domain::name);
                    let again = again.map_or(String::new(), |why| format!(": {why}"));
                    moves.push(format!("review {what} {round}{again}"));
                    review_loop.reviewed(answers.next().cloned().unwrap())
                }
                Move::Fix { findings, .. } => {
                    moves.push(format!("fix {}", findings.len()));
                    review_loop.fixed()
                }
                Move::Done => return moves,
            };
        }
        panic!("no end: {moves:?}");
    }

    #[test]
    fn a_further_loop_goes_on_counting_where_the_first_ended() {
        let plan = ReviewPlan {
            domains: vec![Some(Domain::Security), Some(Domain::GeneralPolish)],
            ..by_domain(3)
        };
        let (mut review_loop, next) = ReviewLoop::again(plan, vec![2, 1]);
        let review = |domain, round| Move::Review {
            domain: Some(domain),
            round,
            again: None,
        };
        assert_eq!(next, review(Domain::Security, 3));
        assert_eq!(
            review_loop.reviewed(approves()),
            review(Domain::GeneralPolish, 2)
        );
        assert_eq!(review_loop.reviewed(approves()), Move::Done);
    }

    #[test]
    fn sequential_reviews_once_fixes_once_and_is_done() {
        let plan = ReviewPlan::sequential;
        assert_eq!(play(plan(), &[approves()]), ["review all 1"]);
        assert_eq!(play(plan(), &[objects()]), ["review all 1", "fix 1"]);
    }

    #[test]
    fn pingpong_goes_on_until_approved_or_out_of_iterations() {
        let plan = || ReviewPlan::pingpong(3);
        assert_eq!(
            play(plan(), &[objects(), approves()]),
            ["review all 1", "fix 1", "review all 2"]
        );
        assert_eq!(
            play(plan(), &[objects()]),
            [
                "review all 1",
                "fix 1",
                "review all 2",
                "fix 1",
                "review all 3",
            ]
        );
    }

    #[test]
    fn domains_are_reviewed_in_order_and_one_that_is_never_content_does_not_stop_the_others() {
        let approved = play(by_domain(2), &[approves()]);
        assert_eq!(
            approved,
            [
                "review Security 1",
                "review TechnicalFeasibility 1",
                "review TaskGranularity 1",
                "review DependencyCompleteness 1",
                "review GeneralPolish 1",
            ]
        );
        let answers = [
            objects(),
            objects(),
            approves(),
            approves(),
            approves(),
            approves(),
        ];
        assert_eq!(
            play(by_domain(2), &answers),
            [
                "review Security 1",
                "fix 1",
                "review Security 2",
                "review TechnicalFeasibility 1",
                "review TaskGranularity 1",
                "review DependencyCompleteness 1",
                "review GeneralPolish 1",
            ]
        );
    }

    #[test]
    fn a_reviewer_without_a_verdict_is_asked_once_more_with_the_reason() {
        let twice = ["review all 1", "review all 1: it has no verdict"];
        let plan = || ReviewPlan::pingpong(3);
        assert_eq!(play(plan(), &[unreadable(), approves()]), twice);
        assert_eq!(play(plan(), &[unreadable()]), twice);
    }

    #[test]
    fn a_reviewer_that_crashes_does_not_keep_the_others_from_reviewing() {
        let answers = [
            Reviewed::Failed,
            approves(),
            approves(),
            approves(),
            approves(),
        ];
        assert_eq!(play(by_domain(1), &answers).len(), 5);
    }

    fn answer() -> impl Strategy<Value = Reviewed> {
        prop_oneof![
            Just(approves()),
            Just(objects()),
            Just(unreadable()),
            Just(Reviewed::Failed)
        ]
    }

    proptest! {
        #[test]
        fn every_loop_ends_within_its_rounds_and_asks_every_domain(
            answers in prop::collection::vec(answer(), 1..40),
            most in 0u32..5,
        ) {
            let moves = play(by_domain(most), &answers);
            let reviews = moves.iter().filter(|m| m.starts_with("review")).count();
            // Each round of a domain may be asked for once more.
            prop_assert!(reviews <= 5 * 2 * most.max(1) as usize);
            for domain in by_domain(most).domains.iter().flatten() {
                let first = format!("review {domain} 1");
                prop_assert!(moves.contains(&first));
            }
        }
    }
}
