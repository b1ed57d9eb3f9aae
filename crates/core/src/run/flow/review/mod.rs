//! Reviews: the reviewer gets the diff, its verdict is recorded for the reviewed commit, and its
//! findings become comments and work for a fixer.

mod earlier;
mod placing;
mod refuting;
mod texts;
mod verdict;

use super::super::model::{
    AgentJob, Effect, EffectResult, Entry, ForgeAct, ForgeAnswer, Life, Remark, ReviewRecord,
    Stage, thread_of,
};
use super::kit::no_commit;
use super::phase::PhaseFlow;
use crate::agent::Role;
use crate::agent::answer::{AnswerForm, Finding, Shown, Verdict};
use crate::forge::inline::FileDiff;
use crate::forge::{CommentKey, CommentRef};
use crate::ids::{CommitSha, EffectKey};
use crate::prompts::{Earlier, Prompt, PromptName};
use crate::review::{Domain, Move, ReviewLoop, ReviewPlan, Reviewed, is_blocking};
use crate::settings::TeamMode;
use placing::{by_place, line_remark, together};
use std::collections::BTreeMap;
use verdict::{Judgement, asked_again, judged};

pub(super) use texts::{OLDER, review_body, without_severity};

impl PhaseFlow<'_> {
    pub(super) fn read_diff(&mut self) {
        let Some(head) = self.head() else {
            return self.fail(no_commit());
        };
        let (domain, _) = self.under_review();
        let seen = self.earlier_review(domain.as_ref());
        let since = seen.and_then(|review| review.head.clone());
        self.state.stage = Stage::ReadingDiff;
        self.run.decide(Effect::ReadDiff {
            sandbox: self.run.sandbox_id(),
            base: self.base_sha(),
            since: since.filter(|since| *since != head),
            head,
        });
    }

    /// Starts the reviewer. A diff that cannot be read is left out: the reviewer has the files.
    pub(super) fn diff_read(&mut self, result: EffectResult) {
        let (mut diff, mut lines, mut since) = (String::new(), Vec::new(), String::new());
        if let EffectResult::DiffRead {
            diff: shown,
            lines: places,
            since: changed,
        } = result
        {
            (diff, lines) = (shown, places);
            since = changed.map_or(String::new(), |diff| self.with_overreach(diff));
        } else if let EffectResult::Failed { problem } = result {
            diff = format!(
                "The diff could not be read: {problem}. Compare the files with the base yourself.\n"
            );
            self.warn(format!("the reviewer got no diff: {problem}"));
        }
        let (domain, round) = self.under_review();
        let mut job = self.reviewer(domain.as_ref(), round, &diff, &since);
        if let (
            Move::Review {
                again: Some(why), ..
            },
            Some(head),
        ) = (&self.state.next, self.head())
        {
            let last = self.state.record.reviews.last();
            let found = last.map_or(&[][..], |review| review.findings.as_slice());
            job.prompt.push_str(&asked_again(why, &head, found));
        }
        // Whatever it was shown can be quoted.
        diff.push_str(&since);
        self.state.stage = Stage::Reviewing { diff, lines };
        let sandbox = Some(self.run.sandbox_id());
        self.start_agent(sandbox, job);
    }

    fn reviewer(&self, domain: Option<&Domain>, round: u32, diff: &str, since: &str) -> AgentJob {
        let review = self.earlier_review(domain);
        let answers = review.map_or(Vec::new(), |review| self.answers_to(review));
        let earlier = Earlier {
            commit: review.map(|one| one.head.as_ref().map_or("an older one", CommitSha::short)),
            findings: &answers,
            since,
        };
        let (task, sha) = (self.request.task.as_str(), self.base_sha());
        let base = self.request.base_branch.as_deref().unwrap_or(sha.as_str());
        let pr = self.run.work.pull_request.as_ref();
        let prompt = match domain {
            None => Prompt::Review {
                task,
                base,
                earlier: &earlier,
                diff,
            },
            Some(domain) => Prompt::ReviewDomain {
                task,
                base,
                earlier: &earlier,
                diff,
                domain,
                subject: self.terms.subject(),
                pull_request: pr.map_or("", |pr| pr.url.as_str()),
            },
        };
        let prompt = self.terms.prompts.render(&prompt);
        let mut job = self.phase_job(&self.terms.reviewer, Role::Reviewer, prompt);
        job.round = round;
        job.input.answer = AnswerForm::Review;
        job.domain = domain.map(|domain| domain.name().to_owned());
        job
    }

    /// Domain and number of the review that is next or under way.
    fn under_review(&self) -> (Option<Domain>, u32) {
        match &self.state.next {
            Move::Review { domain, round, .. } => (domain.clone(), *round),
            Move::Fix { domain, .. } => (domain.clone(), 0),
            Move::Done => (None, 0),
        }
    }

    /// A reviewer that failed gives no verdict, and never approves. One whose model is away, or whose
    /// budget was spent, is asked again later.
    pub(super) fn reviewed(&mut self, diff: &str, lines: &[FileDiff], result: &EffectResult) {
        let (domain, round) = self.under_review();
        let mut judgement = Judgement::failed(None);
        if let EffectResult::AgentEnded { outcome, .. } = result {
            if outcome.ending.is_over_budget()
                || self.hold_for_outage(&self.terms.reviewer, outcome)
            {
                return self.close_batch();
            }
            self.state.counts.failures = 0;
            self.state.counts.moves = 0;
            let (reviewer, terms) = (&self.terms.reviewer, &self.terms.review);
            let shown = self.shown(diff);
            let subject = self.terms.subject();
            judgement = judged(
                outcome,
                reviewer,
                domain.as_ref(),
                subject,
                terms,
                &shown,
                lines,
            );
            // What a fixer declined with a reason it is not asked again: a person decides.
            if let Reviewed::Judged { findings, .. } = &mut judgement.reviewed {
                findings.retain(|one| !self.is_declined(domain.as_ref(), one));
            }
        } else if let EffectResult::Failed { problem } = result {
            self.state.record.job_failed(problem, self.now);
            if self.review_overtaken(problem) {
                return;
            }
            judgement.failure = Some(problem.to_string());
        }
        if let (Reviewed::Failed, Some(why)) = (&judgement.reviewed, &judgement.failure) {
            let name = domain.as_ref();
            let name = name.map_or("review".to_owned(), |domain| format!("{domain} review"));
            self.warn(format!("{name} inconclusive: {why}"));
        }
        let record = ReviewRecord {
            domain,
            round,
            verdict: judgement.verdict(),
            failure: judgement.failure,
            findings: judgement.findings,
            head: self.run.work.head_sha.clone(),
            resolution: None,
        };
        if self.is_refutable(&record) {
            return self.refute(record, lines.to_vec());
        }
        self.conclude_review(judgement.reviewed, record, lines);
    }

    /// Enters what a review came to, and posts it.
    fn conclude_review(&mut self, reviewed: Reviewed, record: ReviewRecord, lines: &[FileDiff]) {
        self.state.next = self.state.review.reviewed(reviewed);
        self.state.record.reviews.push(record.clone());
        match self.state.next {
            Move::Review { again: Some(_), .. } => self.close_batch(),
            Move::Review { again: None, .. } | Move::Fix { .. } | Move::Done => {
                self.post_review(lines, &record);
            }
        }
    }

    /// What the reviewer has seen of other people's words.
    fn shown<'a>(&'a self, diff: &'a str) -> Shown<'a> {
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
        let (domain, _) = self.under_review();
        let template = match domain {
            Some(_) => PromptName::ReviewDomain,
            None => PromptName::Review,
        };
        Shown {
            commit: self.run.work.head_sha.as_deref().unwrap_or_default(),
            prompt: self.terms.prompts.template(template),
            diff,
            texts,
        }
    }

    /// Posts the review if the mode does so, and queues its findings.
    fn post_review(&mut self, lines: &[FileDiff], record: &ReviewRecord) {
        let finding = |one: &Finding| {
            let author = self.terms.reviewer.as_str();
            placing::remark(one, author, record.domain.as_ref(), record.round)
        };
        let min = self.terms.review.min_confidence;
        let domain = record.domain.as_ref();
        let to_fix = |one: &&Finding| is_blocking(one, min) && !self.is_declined(domain, one);
        let is_fix = matches!(self.state.next, Move::Fix { .. });
        // The last objection stays open although no fixer follows.
        let is_objection = record.verdict == Some(Verdict::NeedsChanges);
        let has_pr = self.run.work.pull_request.is_some();
        if self.terms.mode != TeamMode::Github || !has_pr {
            if is_fix {
                let all: Vec<Remark> = record.findings.iter().filter(to_fix).map(finding).collect();
                self.state.findings.extend(all);
            }
            if has_pr {
                self.describe();
            }
            return self.close_batch();
        }
        // What can be merged as it is stands in the body: nobody has to answer it.
        let blocking: Vec<Finding> = record.findings.iter().filter(to_fix).cloned().collect();
        // Only a review with a verdict has lines.
        let (on_lines, mut others) = match record.verdict {
            Some(_) => by_place(&blocking, lines),
            None => (Vec::new(), blocking),
        };
        let rest = record.findings.iter().filter(|one| !to_fix(one));
        others.extend(rest.cloned());
        let body = review_body(record, on_lines.len(), &others);
        let mut remarks = Vec::new();
        if is_objection {
            remarks.extend(on_lines.iter().map(finding));
            let others = others.iter().filter(to_fix).map(finding);
            remarks.extend(together(others.collect()));
        }
        let Some(head) = self.head() else {
            return self.fail(no_commit());
        };
        // An approval with nothing to say is a row of the summary.
        let is_content = record.verdict.is_some_and(Verdict::is_content);
        if is_content && record.findings.is_empty() {
            return self.summarize();
        }
        let act = match record.verdict {
            Some(_) => ForgeAct::PostReview {
                head,
                body,
                lines: on_lines.iter().map(line_remark).collect(),
            },
            None => ForgeAct::PostComment { body },
        };
        self.state.stage = Stage::PostingReview {
            remarks,
            stopped: None,
        };
        // Without its journal a phase counts its effects anew, and must not take a review that was
        // posted before for this one.
        let (domain, round) = (
            record.domain.as_ref().map_or("", Domain::name),
            record.round,
        );
        let key = format!("review/{domain}/{round}/{}", self.now.as_millisecond());
        self.on_forge(act, Some(key));
    }

    /// The review is posted: now its findings have comments to answer.
    pub(super) fn review_posted(
        &mut self,
        remarks: Vec<Remark>,
        key: &EffectKey,
        effect: Effect,
        result: EffectResult,
    ) {
        if let EffectResult::Failed { problem } = result {
            if !self.is_enough(&problem) {
                return self.try_again(key, effect, &problem);
            }
            self.warn(format!("could not post a review: {problem}"));
            self.state.tries = 0;
            if let Move::Fix { .. } = self.state.next {
                self.state.findings.extend(remarks);
            }
        } else if let EffectResult::OnForge {
            answer: ForgeAnswer::ReviewPosted { review, lines },
        } = result
        {
            self.enter_findings(remarks, review, &lines);
        }
        self.summarize();
    }

    /// A forge that could not put every finding on its line has them in the body: then they are one.
    fn enter_findings(&mut self, remarks: Vec<Remark>, review: CommentRef, lines: &[CommentRef]) {
        let is_on_line = |one: &Remark| one.file.is_some() && one.line.is_some();
        let on_lines = remarks.iter().filter(|one| is_on_line(one)).count();
        let remarks = if on_lines == lines.len() {
            remarks
        } else {
            together(remarks)
        };
        let mut lines = lines.iter();
        let mut by_comment: BTreeMap<CommentRef, Remark> = BTreeMap::new();
        for remark in remarks {
            let own = if is_on_line(&remark) {
                lines.next().copied()
            } else {
                None
            };
            by_comment.entry(own.unwrap_or(review)).or_insert(remark);
        }
        let life = match self.state.next {
            Move::Fix { .. } => Life::Seen,
            Move::Review { .. } | Move::Done => Life::Left,
        };
        for (comment, remark) in by_comment {
            let entry = Entry {
                key: CommentKey {
                    surface: comment.surface,
                    id: comment.id,
                    updated_at: self.now,
                },
                author: remark.author,
                path: remark.file,
                line: remark.line,
                origin: None,
                thread: thread_of(comment, None),
                commit: self.run.work.head_sha.clone(),
                url: None,
                body: remark.body,
                seen_at: self.now,
                tries: 0,
                review: Some(remark.review),
                life: life.clone(),
            };
            self.enter(entry);
        }
    }

    /// A domain may have approved a commit that has changed since: because of a later domain, of a
    /// person, or of a merge. It reviews again, within the limit on its reviews, unless another domain
    /// has no approval to give. Returns whether one does.
    pub(super) fn review_again(&mut self) -> bool {
        let plan = self.terms.review_plan();
        let Some(head) = self.head() else {
            return false;
        };
        let mut stale = self.state.record.stale(&plan.domains, &head);
        if stale.len() < self.state.record.not_content(&plan.domains, &head).len() {
            return false;
        }
        stale.retain(|(_, reviews)| *reviews < plan.max_reviews);
        if stale.is_empty() {
            return false;
        }
        let (domains, earlier) = stale.into_iter().unzip();
        let plan = ReviewPlan { domains, ..plan };
        (self.state.review, self.state.next) = ReviewLoop::again(plan, earlier);
        true
    }
}
