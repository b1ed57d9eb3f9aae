//! A review of a change in parts: each part has its own reviewer, and their reviews are combined into one.

use super::super::super::model::{AtWork, Panel, ReviewRecord};
use super::super::phase::PhaseFlow;
use crate::agent::answer::Verdict;
use crate::ids::CommitSha;
use crate::review::{Move, PartReview, Seat};

impl PhaseFlow<'_> {
    /// Drops reviews of parts of another change.
    pub(super) fn drop_parts(&mut self, head: &CommitSha, count: Option<usize>) {
        let base = self.base_sha();
        let Move::Review { seats } = &mut self.state.next else {
            return;
        };
        let is_kept = |one: &PartReview| {
            let is_same = one.head.as_ref() == Some(head) && one.base == base;
            is_same && count.is_none_or(|count| count == one.of)
        };
        for seat in seats {
            seat.given.retain(is_kept);
        }
    }

    /// Records a reviewer's review, and why it is asked once more. A review in several parts is
    /// complete once all parts are.
    pub(super) fn enter_review(
        &mut self,
        panel: &Panel,
        at: &AtWork,
        record: ReviewRecord,
        again: Option<String>,
    ) {
        let (base, count) = (self.base_sha(), panel.count());
        let Move::Review { seats } = &mut self.state.next else {
            return;
        };
        let mut seats_of = seats.iter_mut();
        let Some(seat) = seats_of.find(|one| one.domain == at.seat.domain) else {
            return;
        };
        let reviews = &mut self.state.record.reviews;
        let review = if count > 1 {
            seat.given.retain(|one| one.part != at.part);
            seat.given.push(PartReview {
                part: at.part,
                of: count,
                head: record.head,
                base,
                verdict: record.verdict,
                failure: record.failure,
                findings: record.findings,
                again,
            });
            if !(0..count).all(|part| is_given(seat, part)) {
                return;
            }
            folded(seat)
        } else if again.is_some() {
            seat.again = again;
            return reviews.push(record);
        } else {
            record
        };
        seats.retain(|one| one.domain != at.seat.domain);
        self.state.given.push(reviews.len());
        reviews.push(review);
    }
}

/// The reviewers that this domain still needs.
pub(super) fn missing(seat: &Seat, count: usize) -> Vec<AtWork> {
    if count == 1 {
        let (seat, part) = (seat.clone(), 0);
        return vec![AtWork { seat, part }];
    }
    let parts = (0..count).filter(|part| !is_given(seat, *part));
    let reviewer = |part| {
        let earlier = seat.part(part).cloned();
        let seat = Seat {
            domain: seat.domain.clone(),
            round: seat.round,
            again: earlier.as_ref().and_then(|one| one.again.clone()),
            given: earlier.into_iter().collect(),
        };
        AtWork { seat, part }
    };
    parts.map(reviewer).collect()
}

/// Whether the review of a part counts.
fn is_given(seat: &Seat, part: usize) -> bool {
    seat.part(part).is_some_and(|one| one.again.is_none())
}

/// The combined review of a domain: an objection to one part is an objection to the change, and the
/// change is approved only if all its parts are.
fn folded(seat: &Seat) -> ReviewRecord {
    let mut given: Vec<&PartReview> = seat.given.iter().collect();
    given.sort_by_key(|one| one.part);
    let missing = given.iter().find(|one| one.verdict.is_none());
    let failure = missing.map(|one| {
        let why = one.failure.as_deref().unwrap_or("it has no verdict");
        format!("part {} of {}: {why}", one.part + 1, one.of)
    });
    let has = |verdict| given.iter().any(|one| one.verdict == Some(verdict));
    let verdict = if has(Verdict::NeedsChanges) {
        Some(Verdict::NeedsChanges)
    } else if missing.is_some() {
        None
    } else if has(Verdict::Approved) {
        Some(Verdict::Approved)
    } else {
        Some(Verdict::NotApplicable)
    };
    ReviewRecord {
        domain: seat.domain.clone(),
        round: seat.round,
        verdict,
        failure,
        findings: given.iter().flat_map(|one| one.findings.clone()).collect(),
        head: given.first().and_then(|one| one.head.clone()),
        resolution: None,
    }
}
