//! Reviews: every domain that does not approve the head looks at it, side by side; their findings become
//! comments, and work for one fixer.

mod earlier;
mod placing;
mod posting;
mod program_results;
mod refuting;
mod texts;
mod told;
mod verdict;

use super::super::model::{
    AgentJob, Effect, EffectResult, Halt, OutcomeStatus, Panel, ReviewRecord, Stage,
};
use super::budget::is_worthwhile;
use super::kit::no_commit;
use super::phase::PhaseFlow;
use crate::agent::answer::{AnswerForm, Finding, Shown, Verdict};
use crate::agent::{Budget, Ending, Role};
use crate::forge::inline::FileDiff;
use crate::ids::{CommitSha, EffectKey};
use crate::problem::{Kind, Problem};
use crate::process::{Layer, LayerName, LayerState};
use crate::prompts::{Earlier, Prompt, PromptName};
use crate::review::{Move, ReviewPlan, Seat, merged};
use verdict::{Judgement, Reviewed, asked_again, judged};

pub(super) use texts::{MOST_SHOWN, OLDER, review_body, without_severity};

/// How often a change that reviewers are to see is read.
const MOST_READS: u32 = 5;

/// What became of one reviewer.
enum Heard {
    /// Its review counts, with a verdict or without.
    Given(ReviewRecord),
    /// It is asked once more.
    Again { record: ReviewRecord, why: String },
    /// It reviews later.
    Later(Halt),
}

/// Whether an agent ended by itself, and well.
fn has_succeeded(result: &EffectResult) -> bool {
    matches!(result, EffectResult::AgentEnded { outcome, .. } if outcome.ending == Ending::Succeeded)
}

impl PhaseFlow<'_> {
    /// Reads what the next reviewers see. Those that saw the same commit last work side by side.
    pub(super) fn read_diff(&mut self) {
        let Some(head) = self.head() else {
            return self.fail(no_commit());
        };
        self.seat_again(&head);
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

    /// Reviews of another commit than the head are to be given once more.
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
                });
            }
            is_kept
        });
        seats.sort_by_key(|seat| plan.domains.iter().position(|one| *one == seat.domain));
        // An older version left no seats.
        if seats.is_empty() && self.state.given.is_empty() {
            self.state.next = self.after_fix();
        }
    }

    /// The commit that a reviewer saw last, where it is not the head.
    fn seen_by(&self, seat: &Seat, head: &CommitSha) -> Option<CommitSha> {
        let seen = self.earlier_review(seat.domain.as_ref());
        let since = seen.and_then(|review| review.head.clone());
        since.filter(|since| since != head)
    }

    /// Starts the reviewers. Who cannot be shown the change has nothing to approve: reading it is tried
    /// again, then there is no verdict.
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
            lines,
            is_cut,
            since,
            changed,
        } = result
        {
            if let Some(lines) = &changed {
                self.measure_since(lines);
            }
            panel.diff = diff;
            panel.lines = lines;
            panel.is_cut = is_cut;
            panel.since = since.map_or(String::new(), |diff| self.with_overreach(diff));
        }
        self.seat_reviewers(panel);
    }

    /// The change could not be read: no review of it comes to a verdict.
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

    /// Starts as many reviewers as may work side by side. Nobody is left to start once all reviews are
    /// given.
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
        for seat in waiting.into_iter().take(starting) {
            let mut job = self.reviewer(&seat, &panel);
            job.budget = share;
            let sandbox = Some(self.run.sandbox_id());
            let key = self.start_agent(sandbox, job);
            panel.at_work.insert(key, seat);
        }
        self.panel_goes_on(panel);
    }

    /// How many reviewers may work at the same time. One that the kernel does not keep from writing works
    /// alone: another one would take what it leaves in the files for the change.
    fn most_at_once(&self) -> usize {
        let is_open = |layer: &Layer| {
            layer.name == LayerName::WriteScope && matches!(layer.state, LayerState::Missing(_))
        };
        if self.run.layers.iter().any(is_open) {
            return 1;
        }
        self.terms.review.max_parallel.get() as usize
    }

    /// The reviews of this panel that nobody has begun.
    fn waiting(&self, panel: &Panel) -> Vec<Seat> {
        let (Move::Review { seats }, Some(head), None) =
            (&self.state.next, self.head(), panel.halt)
        else {
            return Vec::new();
        };
        let seen = |seat: &Seat| self.seen_by(seat, &head);
        let at_work: Vec<_> = panel.at_work.values().map(|seat| &seat.domain).collect();
        // Whoever saw another commit last is shown another diff.
        let is_free = |seat: &&Seat| !at_work.contains(&&seat.domain) && seen(seat) == panel.seen;
        seats.iter().filter(is_free).cloned().collect()
    }

    /// How many of so many agents to start now, and what each may use: agents that work side by side
    /// cannot use the same rest twice, and none gets too little to be of use while another works.
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

    /// Waits for the reviewers at work; once there are none, goes on with what they said.
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
        // An older version left no seats: they are found when the worker goes on.
        if is_missing || self.state.given.is_empty() {
            return self.close_batch();
        }
        if self.is_refutable() {
            return self.refute(panel);
        }
        self.conclude_reviews(&panel.lines);
    }

    fn reviewer(&self, seat: &Seat, panel: &Panel) -> AgentJob {
        let domain = seat.domain.as_ref();
        let review = self.earlier_review(domain);
        let answers = review.map_or(Vec::new(), |review| self.answers_to(review));
        let earlier = Earlier {
            commit: review.map(|one| one.head.as_ref().map_or("an older one", CommitSha::short)),
            findings: &answers,
            since: &panel.since,
        };
        let (task, sha) = (self.request.task.as_str(), self.base_sha());
        let base = self.request.base_branch.as_deref().unwrap_or(sha.as_str());
        let pr = self.run.work.pull_request.as_ref();
        let diff = panel.diff.as_str();
        let verified = self.program_results();
        let verified = verified.as_str();
        let prompt = match domain {
            None => Prompt::Review {
                task,
                base,
                earlier: &earlier,
                diff,
                verified,
            },
            Some(domain) => Prompt::ReviewDomain {
                task,
                base,
                earlier: &earlier,
                diff,
                verified,
                domain,
                subject: self.terms.subject(),
                pull_request: pr.map_or("", |pr| pr.url.as_str()),
            },
        };
        let mut prompt = self.terms.prompts.render(&prompt);
        if let (Some(why), Some(head)) = (&seat.again, self.head()) {
            let mut latest = self.state.record.reviews.iter().rev();
            let last = latest.find(|one| one.domain == seat.domain);
            let found = last.map_or(&[][..], |review| review.findings.as_slice());
            prompt.push_str(&asked_again(why, &head, found));
        }
        let mut job = self.phase_job(&self.terms.reviewer, Role::Reviewer, prompt);
        job.round = seat.round;
        job.input.answer = AnswerForm::Review;
        job.domain = domain.map(|domain| domain.name().to_owned());
        job
    }

    /// A reviewer has ended.
    pub(super) fn reviewed(&mut self, mut panel: Panel, key: &EffectKey, result: &EffectResult) {
        let Some(seat) = panel.at_work.remove(key) else {
            // An older version did not write who was at work.
            return self.seat_reviewers(panel);
        };
        let is_ended = panel.halt == Some(Halt::Completed) && !has_succeeded(result);
        let mut heard = if is_ended {
            Heard::Later(Halt::Completed)
        } else {
            self.hear(&seat, &panel, key, result)
        };
        // Whoever ends later may have seen the commits of others already.
        if panel.halt == Some(Halt::Overtaken) {
            heard = Heard::Later(Halt::Overtaken);
        }
        if let Move::Review { seats } = &mut self.state.next {
            match heard {
                Heard::Given(record) => {
                    seats.retain(|one| one.domain != seat.domain);
                    self.state.given.push(self.state.record.reviews.len());
                    self.state.record.reviews.push(record);
                }
                Heard::Again { record, why } => {
                    for one in seats.iter_mut().filter(|one| one.domain == seat.domain) {
                        one.again = Some(why.clone());
                    }
                    self.state.record.reviews.push(record);
                }
                Heard::Later(halt) => panel.halt = Some(panel.halt.unwrap_or(halt).max(halt)),
            }
        }
        self.seat_reviewers(panel);
    }

    /// A reviewer that failed gives no verdict, and never approves. One whose model is away, or whose
    /// budget was spent, is asked again later.
    fn hear(
        &mut self,
        seat: &Seat,
        panel: &Panel,
        key: &EffectKey,
        result: &EffectResult,
    ) -> Heard {
        let mut judgement = Judgement::failed(None);
        if let EffectResult::AgentEnded { outcome, .. } = result {
            if outcome.ending.is_over_budget() {
                return Heard::Later(Halt::Held);
            }
            let is_held = self.is_held_outage(&outcome.ending) && panel.halt == Some(Halt::Held);
            // Reviewers side by side meet the same outage: it is one.
            if is_held || self.hold_for_outage(&self.terms.reviewer, outcome) {
                return Heard::Later(Halt::Held);
            }
            if panel.halt.is_none() {
                self.state.counts.failures = 0;
            }
            let (reviewer, terms) = (&self.terms.reviewer, &self.terms.review);
            // Whatever it was shown can be quoted.
            let diff = format!("{}{}", panel.diff, panel.since);
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
                return Heard::Later(Halt::Overtaken);
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
            (Reviewed::Unreadable { why }, None) => Heard::Again { record, why },
            (Reviewed::Judged(_) | Reviewed::Unreadable { .. } | Reviewed::Failed, _) => {
                Heard::Given(record)
            }
        }
    }

    /// Enters what the reviews of this commit came to, and posts them.
    fn conclude_reviews(&mut self, lines: &[FileDiff]) {
        self.state.counts.moves = 0;
        // Until here each place stood for itself, so that each could be refuted.
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

    /// The reviews that were given, in the order of their domains and not of their ends.
    fn given_in_order(&mut self, plan: &ReviewPlan) -> Vec<ReviewRecord> {
        let places = std::mem::take(&mut self.state.given);
        let reviews = &self.state.record.reviews;
        let given = places.iter();
        let given = given.filter_map(|place| reviews.get(*place).cloned());
        let mut given: Vec<ReviewRecord> = given.collect();
        given.sort_by_key(|one| plan.domains.iter().position(|domain| *domain == one.domain));
        given
    }

    /// What an agent with this template has seen of other people's words.
    fn shown<'a>(&'a self, template: PromptName, diff: &'a str) -> Shown<'a> {
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

    /// What follows once the findings were worked in, or could not be: whoever does not approve the head
    /// reviews it.
    pub(super) fn after_fix(&self) -> Move {
        let plan = self.terms.review_plan();
        let Some(head) = self.head() else {
            return Move::Done;
        };
        let open = self.state.record.not_content(&plan.domains, &head);
        plan.review(open)
    }

    /// A domain may have approved a commit that has changed since: because of a person, or of a merge. It
    /// reviews again, within the limit on its reviews, unless another domain has no approval to give.
    /// Returns whether one does.
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
