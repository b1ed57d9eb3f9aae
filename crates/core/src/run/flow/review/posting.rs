//! Posts the reviews of one commit, and queues their findings.

use super::super::super::model::{
    Effect, EffectResult, Entry, ForgeAct, ForgeAnswer, Life, Part, PostKey, Posting, Remark,
    ReviewRecord, Stage, thread_of,
};
use super::super::kit::no_commit;
use super::super::phase::PhaseFlow;
use super::placing::{by_place, line_remark, quotas, remark, together};
use super::texts::review_body;
use super::told::{Told, without_repeats};
use crate::agent::answer::{Finding, Verdict};
use crate::forge::inline::FileDiff;
use crate::forge::{CommentRef, CommentVersion};
use crate::ids::{CommitSha, EffectKey};
use crate::review::{Domain, Move, is_blocking};
use crate::settings::TeamMode;
use std::collections::BTreeMap;

impl PhaseFlow<'_> {
    /// Whether a fixer is asked to fix this. A finding that a fixer declined with a reason is left
    /// to a person.
    pub(super) fn is_to_fix(&self, finding: &Finding) -> bool {
        is_blocking(finding, self.terms.review.min_confidence) && !self.is_declined(finding)
    }

    /// Posts the reviews if the mode does so, and queues their findings. A finding of two reviews
    /// is posted and fixed once.
    pub(super) fn post_reviews(&mut self, given: &[ReviewRecord], lines: &[FileDiff]) {
        let given = without_repeats(given, |one| self.is_to_fix(one));
        let has_pr = self.run.work.pull_request.is_some();
        if self.terms.mode == TeamMode::Github && has_pr {
            let Some(head) = self.head() else {
                return self.fail(no_commit());
            };
            let quotas = quotas(&given, |one| self.is_to_fix(one));
            let all = given.iter().zip(quotas);
            let all = all.filter_map(|(told, quota)| self.posting(told, quota, lines, &head));
            let all = all.collect();
            return self.next_review_post(all);
        }
        if self.state.next == Move::Fix {
            for told in &given {
                let found = told.review.findings.iter();
                let found = found.filter(|one| self.is_to_fix(one));
                let found: Vec<Remark> = found.map(|one| self.remark(told, one)).collect();
                self.state.findings.extend(found);
            }
        }
        if has_pr {
            self.describe();
            return self.summarize();
        }
        self.close_batch();
    }

    fn remark(&self, told: &Told, finding: &Finding) -> Remark {
        let (author, review) = (self.terms.reviewer.as_str(), &told.review);
        remark(finding, author, review.domain.as_ref(), review.round)
    }

    /// The post of one review; `None` if it has nothing to say and is only a row of the summary.
    fn posting(
        &self,
        told: &Told,
        quota: usize,
        lines: &[FileDiff],
        head: &CommitSha,
    ) -> Option<Posting> {
        let review = &told.review;
        // It found nothing, or another review of the commit contains all its findings.
        if review.verdict.is_some() && review.findings.is_empty() {
            return None;
        }
        let to_fix = |one: &&Finding| self.is_to_fix(one);
        // Findings that do not block a merge go into the body: nobody has to answer them.
        let blocking: Vec<Finding> = review.findings.iter().filter(to_fix).cloned().collect();
        // Only a review with a verdict posts comments on lines.
        let (on_lines, mut others) = match review.verdict {
            Some(_) => by_place(&blocking, lines, quota),
            None => (Vec::new(), blocking),
        };
        let rest = review.findings.iter().filter(|one| !to_fix(one));
        others.extend(rest.cloned());
        let shown = quota.saturating_sub(on_lines.len());
        let (on, others_shown) = (on_lines.len(), (others.as_slice(), shown));
        let body = review_body(self.run, review, on, others_shown, &told.repeats);
        let mut remarks = Vec::new();
        // The last objection stays open although no fixer follows.
        if review.verdict == Some(Verdict::NeedsChanges) {
            remarks.extend(on_lines.iter().map(|one| self.remark(told, one)));
            let others = others.iter().filter(to_fix);
            remarks.extend(others.map(|one| self.remark(told, one)));
        }
        let act = match review.verdict {
            Some(_) => ForgeAct::PostReview {
                head: head.clone(),
                body,
                lines: on_lines.iter().map(|one| line_remark(one, lines)).collect(),
            },
            None => ForgeAct::PostComment { body },
        };
        // A phase that lost its journal counts its effects from the start again. The time keeps it
        // from mistaking an earlier review for this one.
        let domain = review.domain.as_ref().map_or("", Domain::name);
        let now = self.now.as_millisecond();
        let key = PostKey::Step(format!("review/{domain}/{}/{now}", review.round));
        Some(Posting { act, key, remarks })
    }

    /// Posts the first of these reviews; after the last one, updates the summary.
    pub(in crate::run) fn next_review_post(&mut self, mut all: Vec<Posting>) {
        if all.is_empty() {
            return self.summarize();
        }
        let Posting { act, key, remarks } = all.remove(0);
        self.state.stage = Stage::PostingReview {
            remarks,
            rest: all,
            stopped: None,
        };
        self.on_forge(act, Some(key));
    }

    /// Handles the result of posting a review. Once it is posted, its findings have comments to answer.
    pub(in crate::run) fn review_posted(
        &mut self,
        (remarks, rest): (Vec<Remark>, Vec<Posting>),
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
            if self.state.next == Move::Fix {
                self.state.findings.extend(remarks);
            }
        } else if let EffectResult::OnForge {
            answer: ForgeAnswer::ReviewPosted { review, lines },
        } = result
        {
            let sent = if let Effect::OnForge {
                act: ForgeAct::PostReview { lines, .. },
                ..
            } = &effect
            {
                lines.len()
            } else {
                0
            };
            self.enter_findings(remarks, review, &lines, sent);
        }
        self.next_review_post(rest);
    }

    /// Enters the findings of a posted review. The first ones were posted on their lines; the
    /// others share the review's comment. If the forge could not place every finding on its line,
    /// all of them share that comment.
    fn enter_findings(
        &mut self,
        mut remarks: Vec<Remark>,
        review: CommentRef,
        lines: &[CommentRef],
        sent: usize,
    ) {
        let on_lines = if lines.len() == sent { sent } else { 0 };
        let shared = remarks.split_off(on_lines.min(remarks.len()));
        let mut by_comment: BTreeMap<CommentRef, (Remark, Vec<Part>)> = BTreeMap::new();
        for (remark, comment) in remarks.into_iter().zip(lines) {
            by_comment.entry(*comment).or_insert((remark, Vec::new()));
        }
        if let Some(shared) = together(shared) {
            by_comment.entry(review).or_insert(shared);
        }
        let life = match self.state.next {
            Move::Fix => Life::Seen,
            Move::Review { .. } | Move::Done => Life::Left,
        };
        for (comment, (remark, parts)) in by_comment {
            let entry = Entry {
                key: CommentVersion::new(comment, &remark.body),
                author: remark.author,
                path: remark.file,
                line: remark.line,
                origin: None,
                thread: thread_of(comment, None),
                commit: self.run.work.head_sha.clone(),
                url: None,
                body: remark.body,
                seen_at: self.now,
                edited_at: None,
                told: false,
                tries: 0,
                review: Some(remark.review),
                parts,
                answers: Vec::new(),
                life: life.clone(),
            };
            self.enter(entry, false);
        }
    }
}
