//! The result of one review.

use super::super::super::model::{OutcomeStatus, ReviewTerms};
use crate::agent::AgentOutcome;
use crate::agent::answer::{COMMIT_CHARS, Finding, Shown, Verdict, read_review};
use crate::review::{Domain, Reviewed, derive, is_blocking};

/// What follows from a reviewer's answer, all its findings, and why no verdict does.
pub(super) struct Judgement {
    pub(super) reviewed: Reviewed,
    pub(super) findings: Vec<Finding>,
    pub(super) failure: Option<String>,
}

impl Judgement {
    /// The reviewer failed.
    pub(super) fn failed(failure: Option<String>) -> Self {
        Self {
            reviewed: Reviewed::Failed,
            findings: Vec::new(),
            failure,
        }
    }

    pub(super) fn verdict(&self) -> Option<Verdict> {
        match &self.reviewed {
            Reviewed::Judged { verdict, .. } => Some(*verdict),
            Reviewed::Unreadable { .. } | Reviewed::Failed => None,
        }
    }
}

/// Judges a reviewer's answer.
pub(super) fn judged(
    outcome: &AgentOutcome,
    reviewer: &str,
    domain: Option<&Domain>,
    terms: &ReviewTerms,
    shown: &Shown<'_>,
) -> Judgement {
    if OutcomeStatus::of_agent(&outcome.ending) != OutcomeStatus::Succeeded {
        let why = outcome.problem(reviewer).map(|problem| problem.to_string());
        return Judgement::failed(why);
    }
    let min = terms.min_confidence;
    let review = read_review(&outcome.text, shown);
    let derived = review.and_then(|review| Ok((derive(&review, domain, min)?, review)));
    match derived {
        Ok((verdict, review)) => {
            let mut blocking = review.findings.clone();
            blocking.retain(|one| is_blocking(one, min));
            Judgement {
                reviewed: Reviewed::Judged {
                    verdict,
                    findings: blocking,
                },
                findings: review.findings,
                failure: None,
            }
        }
        Err(inconclusive) => Judgement {
            failure: Some(inconclusive.reason.clone()),
            findings: Vec::new(),
            reviewed: Reviewed::Unreadable {
                why: inconclusive.reason,
            },
        },
    }
}

/// What a reviewer is told that is asked once more.
pub(super) fn asked_again(why: &str, commit: &str) -> String {
    let commit = commit.get(..COMMIT_CHARS).unwrap_or(commit);
    format!(
        "\n\nYou reviewed this before, and no verdict followed from your answer: {why}. Answer \
         again with exactly one JSON block, in which the verdict and the findings agree. Add \
         `\"commit\": \"{commit}\"` to it, so that it cannot be taken for a quotation.\n"
    )
}
