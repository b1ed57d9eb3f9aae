//! Derives a verdict from a reviewer's answer.

use super::super::super::model::OutcomeStatus;
use crate::agent::AgentOutcome;
use crate::agent::answer::{REVIEW_COMPLETE, Review, Suggestion, read_review};
use crate::review::Reviewed;

/// Derives a verdict from a reviewer's answer, or the reason why there is none.
pub(super) fn judged(outcome: &AgentOutcome, reviewer: &str) -> (Reviewed, Option<String>) {
    if OutcomeStatus::of_agent(&outcome.ending) != OutcomeStatus::Succeeded {
        let why = outcome.problem(reviewer).map(|problem| problem.to_string());
        return (Reviewed::Failed, why);
    }
    match read_review(&outcome.text) {
        Ok(Review {
            verdict,
            suggestions,
        }) => (
            Reviewed::Judged {
                verdict,
                suggestions,
            },
            None,
        ),
        Err(inconclusive) => (Reviewed::Unreadable, Some(inconclusive.reason)),
    }
}

/// A reviewer that asks for changes and lists none has said in prose what it wants.
pub(super) fn in_its_own_words(outcome: &AgentOutcome) -> Suggestion {
    Suggestion {
        file: None,
        line: None,
        issue: outcome
            .summary
            .replace(REVIEW_COMPLETE, "")
            .trim()
            .to_owned(),
        suggestion: None,
        severity: None,
    }
}
