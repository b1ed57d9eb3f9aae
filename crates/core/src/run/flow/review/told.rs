//! Combines several reviews of one commit without repeats.

use super::super::super::model::ReviewRecord;
use crate::agent::answer::Finding;
use crate::review::{Domain, Meaning};
use std::collections::BTreeMap;

/// A review as it is posted beside others of the same commit.
pub(super) struct Told {
    /// The review, without findings that another review contains.
    pub(super) review: ReviewRecord,
    /// The domains that contain the other findings, each with their number.
    pub(super) repeats: BTreeMap<String, usize>,
    /// The meaning of each of its findings.
    meanings: Vec<Meaning>,
}

/// The reviews, with each finding only in the first review that has it. A finding that must be
/// fixed stays in a review that asks for the fix.
pub(super) fn without_repeats(
    given: &[ReviewRecord],
    is_to_fix: impl Fn(&Finding) -> bool,
) -> Vec<Told> {
    let mut told: Vec<Told> = Vec::new();
    for review in given {
        let (mut review, mut repeats) = (review.clone(), BTreeMap::new());
        let mut meanings = Vec::new();
        review.findings.retain(|finding| {
            let meaning = Meaning::of(finding);
            let earlier = told.iter_mut().filter(|one| one.review.verdict.is_some());
            for teller in earlier {
                let mut known = teller.review.findings.iter_mut().zip(&teller.meanings);
                let is_it = |(known, said): &(&mut Finding, &Meaning)| {
                    (is_to_fix(known) || !is_to_fix(finding)) && meaning.is_same(said)
                };
                let Some((known, _)) = known.find(is_it) else {
                    continue;
                };
                known.severity = known.severity.min(finding.severity);
                known.confidence = known.confidence.max(finding.confidence);
                let domain = teller.review.domain.as_ref().map_or("", Domain::name);
                *repeats.entry(domain.to_owned()).or_default() += 1;
                return false;
            }
            meanings.push(meaning);
            true
        });
        told.push(Told {
            review,
            repeats,
            meanings,
        });
    }
    told
}
