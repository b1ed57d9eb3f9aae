//! The review plan: the order of the domains, their rounds, and the next step after each verdict.

use super::Domain;
use crate::agent::answer::{Finding, Verdict};
use crate::ids::CommitSha;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The domains of a review, and how often each reviews.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewPlan {
    /// The domains, in order; a single `None` for one review of everything.
    pub domains: Vec<Option<Domain>>,
    /// The maximum number of reviews of one domain.
    pub max_reviews: u32,
    /// Whether the findings of the last review are fixed although no review follows.
    pub fix_after_last: bool,
}

/// A review of one domain that is due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Seat {
    /// The domain; `None` reviews everything.
    pub domain: Option<Domain>,
    /// Review number within the domain, from 1.
    pub round: u32,
    /// Why the reviewer is asked once more: its answer gave no verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
    /// The reviews of the change's parts, if it has more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<PartReview>,
}

impl Seat {
    /// The review of a part, if there is one.
    pub fn part(&self, part: usize) -> Option<&PartReview> {
        self.given.iter().find(|one| one.part == part)
    }
}

/// The review of one part of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartReview {
    /// The part, from 0.
    pub part: usize,
    /// How many parts the change has.
    pub of: usize,
    /// The commit of the part.
    pub head: Option<CommitSha>,
    /// The commit that it is compared with.
    pub base: CommitSha,
    /// The verdict; `None` if there is none.
    pub verdict: Option<Verdict>,
    /// Why there is no verdict.
    pub failure: Option<String>,
    /// What it found.
    pub findings: Vec<Finding>,
    /// Why its reviewer must be asked once more; `None` if the review counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
}

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "move")]
pub enum Move {
    /// Reviewers review the head, all at the same commit.
    Review {
        /// The reviews that are due, in the order of their domains.
        #[serde(default)]
        seats: Vec<Seat>,
    },
    /// The fixer fixes the findings.
    Fix,
    /// The reviews are finished.
    Done,
}

/// The result of all reviews together.
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

impl ReviewPlan {
    /// A plan of one review and one round of fixes.
    pub fn sequential() -> Self {
        Self {
            domains: vec![None],
            max_reviews: 1,
            fix_after_last: true,
        }
    }

    /// A plan of reviews and fixes until an approval or the maximum number of reviews.
    pub fn pingpong(max_iterations: u32) -> Self {
        Self {
            domains: vec![None],
            max_reviews: max_iterations.max(1),
            fix_after_last: false,
        }
    }

    /// A plan of reviews by all domains at once, each followed by one round of fixes, until all
    /// approve or reach the maximum.
    pub fn by_domain(domains: impl IntoIterator<Item = Domain>, max_iterations: u32) -> Self {
        Self {
            domains: domains.into_iter().map(Some).collect(),
            max_reviews: max_iterations.max(1),
            fix_after_last: false,
        }
    }

    /// The first step: every domain reviews.
    pub fn first(&self) -> Move {
        let all = self.domains.iter().map(|domain| (domain.clone(), 0));
        self.review(all.collect())
    }

    /// The step after all reviews of a commit. `rounds` contains, for each domain with findings to
    /// fix, its number of reviews so far.
    pub fn after_reviews(&self, rounds: &[u32]) -> Move {
        let has_next = |reviews: &u32| *reviews < self.max_reviews || self.fix_after_last;
        if rounds.is_empty() || !rounds.iter().all(has_next) {
            return Move::Done;
        }
        Move::Fix
    }

    /// The reviews by the domains that do not approve the head yet, given with their numbers of reviews so
    /// far. If one of them may not review any more, no approval is possible, and no domain reviews.
    pub fn review(&self, open: Vec<(Option<Domain>, u32)>) -> Move {
        let is_out = |(_, reviews): &(_, u32)| *reviews >= self.max_reviews;
        if open.is_empty() || open.iter().any(is_out) {
            return Move::Done;
        }
        let seats = open.into_iter().map(|(domain, reviews)| Seat {
            domain,
            round: reviews + 1,
            again: None,
            given: Vec::new(),
        });
        Move::Review {
            seats: seats.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by_domain(max_iterations: u32) -> ReviewPlan {
        ReviewPlan::by_domain(Domain::SHIPPED, max_iterations)
    }

    /// Simulates a plan: in each round, the domains whose bit is set object. Lists the moves.
    fn play(plan: &ReviewPlan, objecting: &[u8]) -> Vec<String> {
        let mut moves = Vec::new();
        let mut next = plan.first();
        let mut objecting = objecting.iter().cycle();
        let mut reviews = vec![0; plan.domains.len()];
        let mut against = 0;
        for _ in 0..100 {
            next = match next {
                Move::Review { seats } => {
                    moves.push(format!("review {}", seats.len()));
                    against = *objecting.next().unwrap();
                    let mut rounds = Vec::new();
                    for seat in seats {
                        let place = plan.domains.iter().position(|one| *one == seat.domain);
                        let place = place.unwrap();
                        reviews[place] = seat.round;
                        if against & (1 << place) != 0 {
                            rounds.push(seat.round);
                        }
                    }
                    plan.after_reviews(&rounds)
                }
                Move::Fix => {
                    moves.push(format!("fix {against:b}"));
                    // The new commit makes every approval stale.
                    let open = plan.domains.iter().cloned().zip(reviews.clone());
                    plan.review(open.collect())
                }
                Move::Done => return moves,
            };
        }
        panic!("no end: {moves:?}");
    }

    #[test]
    fn sequential_reviews_once_fixes_once_and_is_done() {
        let plan = ReviewPlan::sequential();
        assert_eq!(play(&plan, &[0]), ["review 1"]);
        assert_eq!(play(&plan, &[1]), ["review 1", "fix 1"]);
    }

    #[test]
    fn pingpong_goes_on_until_approved_or_out_of_iterations() {
        let plan = ReviewPlan::pingpong(3);
        let twice = ["review 1", "fix 1", "review 1"];
        assert_eq!(play(&plan, &[1, 0]), twice);
        let thrice = ["review 1", "fix 1", "review 1", "fix 1", "review 1"];
        assert_eq!(play(&plan, &[1]), thrice);
    }

    #[test]
    fn all_domains_review_one_commit_before_anything_is_fixed() {
        assert_eq!(play(&by_domain(3), &[0]), ["review 6"]);
        assert_eq!(
            play(&by_domain(3), &[0b101, 0]),
            ["review 6", "fix 101", "review 6"]
        );
    }

    #[test]
    fn a_domain_without_a_review_left_ends_the_reviews_of_the_others() {
        let plan = by_domain(2);
        let open = |reviews| {
            let security = (Some(Domain::Security), reviews);
            plan.review(vec![security, (Some(Domain::GeneralPolish), 1)])
        };
        assert!(matches!(open(1), Move::Review { seats } if seats.len() == 2));
        assert_eq!(open(2), Move::Done);
        assert_eq!(plan.review(Vec::new()), Move::Done);
    }

    proptest! {
        #[test]
        fn no_domain_reviews_more_often_than_the_plan_says(
            objecting in prop::collection::vec(0u8..64, 1..10),
            most in 0u32..5,
        ) {
            let moves = play(&by_domain(most), &objecting);
            let reviews = moves.iter().filter(|one| one.starts_with("review")).count();
            prop_assert!(reviews <= most.max(1) as usize);
            prop_assert_eq!(moves.first().map(String::as_str), Some("review 6"));
        }
    }
}
