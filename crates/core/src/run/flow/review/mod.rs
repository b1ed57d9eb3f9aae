//! Reviews: every domain that does not approve the head reviews it, at the same time; their
//! findings become comments and work for one fixer.

mod asking;
mod earlier;
mod heard;
mod parts;
mod placing;
mod posting;
mod program_results;
mod refuting;
mod texts;
mod told;
mod verdict;

use super::super::model::{
    AtWork, Effect, EffectResult, Halt, OutcomeStatus, Panel, ReviewRecord, Stage,
};
use super::budget::is_worthwhile;
use super::kit::no_commit;
use super::phase::PhaseFlow;
use crate::agent::Budget;
use crate::agent::answer::Verdict;
use crate::forge::inline::FileDiff;
use crate::ids::{CommitSha, EffectKey};
use crate::problem::{Kind, Problem};
use crate::process::{Layer, LayerName, LayerState};
use crate::review::{Move, ReviewPlan, Seat, merged};
use heard::{ReviewerOutcome, has_succeeded};
use parts::missing;

pub(super) use texts::{MOST_SHOWN, OLDER, review_body, without_severity};

/// How often reading the diff for reviewers is tried.
const MOST_READS: u32 = 5;

impl PhaseFlow<'_> {
    /// Reads the diff for the next reviewers. Reviewers that saw the same commit last work at the same time.
    pub(super) fn read_diff(&mut self) {
        let Some(head) = self.head() else {
            return self.fail(no_commit());
        };
        self.seat_again(&head);
        self.drop_parts(&head, None);
        let Move::Review { seats } = &self.state.next else {
            return self.proceed();
        };
        let since = seats.first().and_then(|seat| self.seen_by(seat, &head));
        self.state.stage = Stage::ReadingDiff;
        self.run.decide(Effect::ReadDiff {
            sandbox: self.run.sandbox_id(),
            base: self.base_sha(),
            since,
            head,
        });
    }

    /// Schedules reviews again that are of another commit than the head.
    fn seat_again(&mut self, head: &CommitSha) {
        let plan = self.terms.review_plan();
        let Move::Review { seats } = &mut self.state.next else {
            return;
        };
        let reviews = &self.state.record.reviews;
        self.state.given.retain(|place| {
            let review = reviews.get(*place);
            let is_kept = review.is_some_and(|one| one.head.as_ref() == Some(head));
            if let (Some(review), false) = (review, is_kept) {
                seats.push(Seat {
                    domain: review.domain.clone(),
                    round: review.round,
                    again: None,
                    given: Vec::new(),
                });
            }
            is_kept
        });
        seats.sort_by_key(|seat| plan.domains.iter().position(|one| *one == seat.domain));
        // A journal of an older version contains no seats.
        if seats.is_empty() && self.state.given.is_empty() {
            self.state.next = self.after_fix();
        }
    }

    /// The commit that a reviewer saw last, if it is not the head.
    fn seen_by(&self, seat: &Seat, head: &CommitSha) -> Option<CommitSha> {
        let seen = self.earlier_review(seat.domain.as_ref());
        let since = seen.and_then(|review| review.head.clone());
        since.filter(|since| since != head)
    }

    /// Starts the reviewers. If the diff cannot be read, reading is retried; after too many tries
    /// the reviews have no verdict.
    pub(super) fn diff_read(&mut self, key: &EffectKey, effect: Effect, result: EffectResult) {
        let mut panel = Panel::default();
        if let (Move::Review { seats }, Some(head)) = (&self.state.next, self.head()) {
            panel.seen = seats.first().and_then(|seat| self.seen_by(seat, &head));
        }
        if let EffectResult::Failed { problem } = result {
            if self.is_enough(&problem) || self.state.tries >= MOST_READS {
                return self.change_unread(&problem);
            }
            return self.try_again(key, effect, &problem);
        }
        if let EffectResult::DiffRead {
            diff,
            parts,
            lines,
            is_cut,
            since,
            changed,
            quotes,
        } = result
        {
            if let Some(lines) = &changed {
                self.measure_since(lines);
            }
            panel.diff = diff;
            panel.parts = parts;
            panel.lines = lines;
            panel.is_cut = is_cut;
            panel.quotes = quotes;
            panel.since = since.map_or(String::new(), |diff| self.with_overreach(diff));
        }
        if let Some(head) = self.head() {
            self.drop_parts(&head, Some(panel.count()));
        }
        self.seat_reviewers(panel);
    }

    /// Records reviews without a verdict, because the diff could not be read.
    fn change_unread(&mut self, problem: &Problem) {
        self.state.tries = 0;
        self.warn(format!("the change could not be read: {problem}"));
        if let Move::Review { seats } = &mut self.state.next {
            for seat in std::mem::take(seats) {
                self.state.given.push(self.state.record.reviews.len());
                self.state.record.reviews.push(ReviewRecord {
                    domain: seat.domain,
                    round: seat.round,
                    verdict: None,
                    failure: Some("the change could not be read".to_owned()),
                    findings: Vec::new(),
                    head: self.run.work.head_sha.clone(),
                    resolution: None,
                });
            }
        }
        self.conclude_reviews(&[]);
    }

    /// Starts as many reviewers as may work at the same time. No reviewer is left once all reviews are given.
    fn seat_reviewers(&mut self, mut panel: Panel) {
        if self.overrun().is_some() || self.run.stop_asked {
            panel.halt = panel.halt.or(Some(Halt::Held));
        }
        let waiting = self.waiting(&panel);
        let most = self.most_at_once();
        let room = most.saturating_sub(panel.at_work.len()).min(waiting.len());
        let Some((starting, share)) = self.share(room, panel.at_work.is_empty()) else {
            return self.panel_goes_on(panel);
        };
        for at in waiting.into_iter().take(starting) {
            let mut job = self.reviewer(&at, &panel);
            job.budget = share;
            let sandbox = Some(self.run.sandbox_id());
            let key = self.start_agent(sandbox, job);
            panel.at_work.insert(key, at);
        }
        self.panel_goes_on(panel);
    }

    /// How many reviewers may work at the same time. A reviewer that the kernel does not keep from
    /// writing works alone: another one would take its files for the change.
    fn most_at_once(&self) -> usize {
        let is_open = |layer: &Layer| {
            layer.name == LayerName::WriteScope && matches!(layer.state, LayerState::Missing(_))
        };
        if self.run.layers.iter().any(is_open) {
            return 1;
        }
        self.terms.review.max_parallel.get() as usize
    }

    /// The reviewers of this panel that are not started yet: one for each part of the change.
    fn waiting(&self, panel: &Panel) -> Vec<AtWork> {
        let (Move::Review { seats }, Some(head), None) =
            (&self.state.next, self.head(), panel.halt)
        else {
            return Vec::new();
        };
        // A reviewer that saw another commit last gets another diff.
        let seats = seats
            .iter()
            .filter(|seat| self.seen_by(seat, &head) == panel.seen);
        let is_free = |at: &AtWork| {
            let mut others = panel.at_work.values();
            !others.any(|one| one.seat.domain == at.seat.domain && one.part == at.part)
        };
        let all = seats.flat_map(|seat| missing(seat, panel.count()));
        all.filter(is_free).collect()
    }

    /// How many of `most` agents to start now, and the budget of each. Agents that work at the same time
    /// cannot use the same rest twice, and none gets too little to be useful while another works.
    fn share(&self, most: usize, is_first: bool) -> Option<(usize, Budget)> {
        let (whole, spent) = (self.run.budget(), self.run.spent);
        let mut left = whole.minus(spent.usage, spent.cost);
        for effect in self.run.pending.values() {
            if let Effect::RunAgent { job, .. } = effect {
                left = left.without(job.budget);
            }
        }
        let mut parts = (1..=most).rev();
        let enough = parts.find(|parts| is_worthwhile(left.split(*parts), whole));
        let parts = enough.or((is_first && most > 0).then_some(1))?;
        Some((parts, left.split(parts)))
    }

    /// Waits for the reviewers at work; once all have ended, continues with their reviews.
    fn panel_goes_on(&mut self, panel: Panel) {
        if !panel.at_work.is_empty() {
            let panel = Box::new(panel);
            self.state.stage = Stage::Reviewing { panel };
            return;
        }
        if self.run.stop_asked {
            let problem = Problem::new(Kind::Interrupted, "stopped on request");
            return self.leave(OutcomeStatus::Cancelled, Some(problem));
        }
        if panel.halt == Some(Halt::Overtaken) {
            return self.take_in();
        }
        let is_missing = matches!(&self.state.next, Move::Review { seats } if !seats.is_empty());
        // A journal of an older version contains no seats: they are computed when the worker continues.
        if is_missing || self.state.given.is_empty() {
            return self.close_batch();
        }
        if let Some(refuter) = self.wanted_refuter() {
            return self.refute(&refuter, panel);
        }
        self.conclude_reviews(&panel.lines);
    }

    /// Handles the end of a reviewer.
    pub(super) fn reviewed(&mut self, mut panel: Panel, key: &EffectKey, result: &EffectResult) {
        let Some(at) = panel.at_work.remove(key) else {
            // An older version did not record who was at work.
            return self.seat_reviewers(panel);
        };
        let is_ended = panel.halt == Some(Halt::Completed) && !has_succeeded(result);
        let mut end = if is_ended {
            ReviewerOutcome::Later(Halt::Completed)
        } else {
            self.hear(&at.seat, &panel, key, result)
        };
        // A reviewer that ends later may have seen other people's commits already.
        if panel.halt == Some(Halt::Overtaken) {
            end = ReviewerOutcome::Later(Halt::Overtaken);
        }
        match end {
            ReviewerOutcome::Given(record) => self.enter_review(&panel, &at, record, None),
            ReviewerOutcome::Again { record, why } => {
                self.enter_review(&panel, &at, record, Some(why))
            }
            ReviewerOutcome::Later(halt) => panel.halt = Some(panel.halt.unwrap_or(halt).max(halt)),
        }
        self.seat_reviewers(panel);
    }

    /// Records the results of this commit's reviews, and posts them.
    fn conclude_reviews(&mut self, lines: &[FileDiff]) {
        self.state.counts.moves = 0;
        // Until here every place was its own finding, so that each could be refuted.
        for place in &self.state.given {
            if let Some(review) = self.state.record.reviews.get_mut(*place) {
                review.findings = merged(&review.findings);
            }
        }
        let plan = self.terms.review_plan();
        let given = self.given_in_order(&plan);
        let objecting = given.iter().filter(|one| {
            let is_objection = one.verdict == Some(Verdict::NeedsChanges);
            is_objection && one.findings.iter().any(|finding| self.is_to_fix(finding))
        });
        let rounds: Vec<u32> = objecting.map(|one| one.round).collect();
        self.state.next = plan.after_reviews(&rounds);
        self.leave_insisted();
        self.post_reviews(&given, lines);
    }

    /// The given reviews, in the order of their domains.
    fn given_in_order(&mut self, plan: &ReviewPlan) -> Vec<ReviewRecord> {
        let places = std::mem::take(&mut self.state.given);
        let reviews = &self.state.record.reviews;
        let given = places.iter();
        let given = given.filter_map(|place| reviews.get(*place).cloned());
        let mut given: Vec<ReviewRecord> = given.collect();
        given.sort_by_key(|one| plan.domains.iter().position(|domain| *domain == one.domain));
        given
    }

    /// The next step after the findings were handled: every domain that does not approve the head reviews it.
    pub(super) fn after_fix(&self) -> Move {
        let plan = self.terms.review_plan();
        let Some(head) = self.head() else {
            return Move::Done;
        };
        let open = self.state.record.not_content(&plan.domains, &head);
        plan.review(open)
    }

    /// Schedules reviews of domains that approved a commit before it changed, by a person or a
    /// merge. They review again, within their limit, unless another domain withholds its approval.
    /// Returns whether any reviews.
    pub(super) fn review_again(&mut self) -> bool {
        let plan = self.terms.review_plan();
        let Some(head) = self.head() else {
            return false;
        };
        let stale = self.state.record.stale(&plan.domains, &head);
        if stale.len() < self.state.record.not_content(&plan.domains, &head).len() {
            return false;
        }
        self.state.next = plan.review(stale);
        self.state.next != Move::Done
    }
}
