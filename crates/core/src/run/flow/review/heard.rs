//! Judges the answer of one reviewer.

use super::super::super::model::{EffectResult, Halt, Panel, ReviewRecord};
use super::super::phase::PhaseFlow;
use super::verdict::{Judgement, Reviewed, judged};
use crate::agent::Ending;
use crate::agent::answer::{Finding, Shown};
use crate::ids::EffectKey;
use crate::prompts::PromptName;
use crate::review::Seat;

/// The outcome of one reviewer.
pub(super) enum ReviewerOutcome {
    /// Its review counts, with or without a verdict.
    Given(ReviewRecord),
    /// The reviewer is asked once more.
    Again { record: ReviewRecord, why: String },
    /// The reviewer works later.
    Later(Halt),
}

/// Whether an agent ended by itself and succeeded.
pub(super) fn has_succeeded(result: &EffectResult) -> bool {
    matches!(result, EffectResult::AgentEnded { outcome, .. } if outcome.ending == Ending::Succeeded)
}

impl PhaseFlow<'_> {
    /// Judges the end of a reviewer. A failed reviewer gives no verdict and never approves. If its
    /// model was away or its budget used up, it is asked again later.
    pub(super) fn hear(
        &mut self,
        seat: &Seat,
        panel: &Panel,
        key: &EffectKey,
        result: &EffectResult,
    ) -> ReviewerOutcome {
        let mut judgement = Judgement::failed(None);
        if let EffectResult::AgentEnded { outcome, .. } = result {
            if outcome.ending.is_over_budget() {
                return ReviewerOutcome::Later(Halt::Held);
            }
            let is_held = self.is_held_outage(&outcome.ending) && panel.halt == Some(Halt::Held);
            // Reviewers that work at the same time report the same outage; it counts once.
            if is_held || self.hold_for_outage(&self.terms.reviewer, outcome) {
                return ReviewerOutcome::Later(Halt::Held);
            }
            if panel.halt.is_none() {
                self.state.counts.failures = 0;
            }
            let (reviewer, terms) = (&self.terms.reviewer, &self.terms.review);
            let diff = panel.quotable();
            let (domain, subject) = (seat.domain.as_ref(), self.terms.subject());
            let template = match domain {
                Some(_) => PromptName::ReviewDomain,
                None => PromptName::Review,
            };
            let shown = self.shown(template, &diff);
            let lines = (panel.lines.as_slice(), panel.is_cut);
            judgement = judged(outcome, reviewer, domain, subject, terms, &shown, lines);
        } else if let EffectResult::Failed { problem } = result {
            self.state.record.job_failed(key, problem, self.now);
            let is_told = panel.halt == Some(Halt::Overtaken);
            if self.is_overtaken(problem, is_told) {
                return ReviewerOutcome::Later(Halt::Overtaken);
            }
            judgement.failure = Some(problem.to_string());
        }
        if let (Reviewed::Failed, Some(why)) = (&judgement.reviewed, &judgement.failure) {
            let name = seat.domain.as_ref();
            let name = name.map_or("review".to_owned(), |domain| format!("{domain} review"));
            self.warn(format!("{name} inconclusive: {why}"));
        }
        let record = ReviewRecord {
            domain: seat.domain.clone(),
            round: seat.round,
            verdict: judgement.verdict(),
            failure: judgement.failure,
            findings: judgement.findings,
            head: self.run.work.head_sha.clone(),
            resolution: None,
        };
        match (judgement.reviewed, &seat.again) {
            (Reviewed::Unreadable { why }, None) => ReviewerOutcome::Again { record, why },
            (Reviewed::Judged(_) | Reviewed::Unreadable { .. } | Reviewed::Failed, _) => {
                ReviewerOutcome::Given(record)
            }
        }
    }

    /// The foreign texts that an agent with this prompt template has seen.
    pub(super) fn shown<'a>(&'a self, template: PromptName, diff: &'a str) -> Shown<'a> {
        let comments = self.state.ledger.entries();
        let mut texts: Vec<&str> = comments.map(|entry| entry.body.as_str()).collect();
        texts.push(&self.request.task);
        for remark in &self.state.record.remarks {
            texts.push(&remark.note);
            texts.extend(remark.text.as_deref());
        }
        let reviews = self.state.record.reviews.iter();
        for finding in reviews.flat_map(|review| &review.findings) {
            texts.push(&finding.issue);
            let Finding {
                evidence,
                suggestion,
                replacement,
                refuted,
                ..
            } = finding;
            let more = [evidence, suggestion, replacement, refuted];
            texts.extend(more.into_iter().filter_map(|text| text.as_deref()));
        }
        Shown {
            commit: self.run.work.head_sha.as_deref(),
            prompt: self.terms.prompts.template(template),
            diff,
            texts,
        }
    }
}
