//! The result of one review.

use super::super::super::model::{OutcomeStatus, ReviewTerms};
use super::texts::finding_text;
use crate::agent::AgentOutcome;
use crate::agent::answer::{COMMIT_CHARS, Finding, Shown, Verdict, read_review, require_unopposed};
use crate::forge::inline::FileDiff;
use crate::prompts;
use crate::review::{Domain, Subject, derive, levelled, merged, require_older};

/// The result of one review.
pub(super) enum Reviewed {
    /// A usable verdict.
    Judged(Verdict),
    /// The reviewer answered, but no verdict follows from the answer.
    Unreadable {
        /// The reason, as a lowercase fragment.
        why: String,
    },
    /// The reviewer failed.
    Failed,
}

/// The judgement of a reviewer's answer: the verdict, all findings, and why there is no verdict.
pub(super) struct Judgement {
    pub(super) reviewed: Reviewed,
    pub(super) findings: Vec<Finding>,
    pub(super) failure: Option<String>,
}

impl Judgement {
    /// The judgement of a failed reviewer.
    pub(super) fn failed(failure: Option<String>) -> Self {
        Self {
            reviewed: Reviewed::Failed,
            findings: Vec::new(),
            failure,
        }
    }

    pub(super) fn verdict(&self) -> Option<Verdict> {
        match &self.reviewed {
            Reviewed::Judged(verdict) => Some(*verdict),
            Reviewed::Unreadable { .. } | Reviewed::Failed => None,
        }
    }
}

/// Judges a reviewer's answer.
pub(super) fn judged(
    outcome: &AgentOutcome,
    reviewer: &str,
    domain: Option<&Domain>,
    subject: Subject,
    terms: &ReviewTerms,
    shown: &Shown<'_>,
    (lines, is_cut): (&[FileDiff], bool),
) -> Judgement {
    if OutcomeStatus::of_agent(&outcome.ending) != OutcomeStatus::Succeeded {
        let why = outcome.problem(reviewer).map(|problem| problem.to_string());
        return Judgement::failed(why);
    }
    let min = terms.min_confidence;
    // A contradictory answer still contains findings.
    let (review, found) = match read_review(outcome, shown) {
        Ok(mut review) => {
            require_older(&mut review.findings, lines, is_cut);
            review.findings = levelled(review.findings);
            let derived = derive(&review, domain, subject, min).and_then(|verdict| {
                if verdict.is_content() {
                    require_unopposed(outcome)?;
                }
                Ok(verdict)
            });
            (derived, review.findings)
        }
        Err(inconclusive) => (Err(inconclusive), Vec::new()),
    };
    match review {
        Ok(verdict) => Judgement {
            reviewed: Reviewed::Judged(verdict),
            findings: found,
            failure: None,
        },
        Err(inconclusive) => Judgement {
            failure: Some(inconclusive.reason.clone()),
            findings: merged(&found),
            reviewed: Reviewed::Unreadable {
                why: inconclusive.reason,
            },
        },
    }
}

/// The prompt of a reviewer that is asked once more.
pub(super) fn asked_again(why: &str, commit: &str, found: &[Finding]) -> String {
    let commit = commit.get(..COMMIT_CHARS).unwrap_or(commit);
    let found: Vec<String> = found.iter().map(finding_text).collect();
    prompts::asked_again(why, commit, &found)
}
