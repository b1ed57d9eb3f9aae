//! The reviewer is active: it looks at one domain, and what it says is told on the pull request and
//! entered in the ledger.

use super::super::effect::{AgentJob, Effect, EffectResult};
use super::super::forge_act::{ForgeAct, ForgeAnswer};
use super::super::reviewing::{
    Remark, ReviewRecord, by_place, in_its_own_words, judged, line_remark, review_body, together,
};
use super::ledger::{Entry, Life};
use super::{Flight, Stage};
use crate::agent::Role;
use crate::agent::answer::{Suggestion, Verdict};
use crate::forge::inline::parse_diff;
use crate::forge::{CommentKey, CommentRef};
use crate::ids::EffectKey;
use crate::prompts::Prompt;
use crate::review::{Domain, Move, Reviewed};
use std::collections::BTreeMap;

impl Flight<'_> {
    pub(super) fn read_diff(&mut self) {
        self.cruise.stage = Stage::ReadingDiff;
        self.run.decide(Effect::ReadDiff {
            sandbox: self.run.sandbox_id(),
            base: self.run.base_sha(),
            head: self.run.work.head_sha.clone().unwrap_or_default(),
        });
    }

    /// A diff that cannot be read is left out: the reviewer has the files.
    pub(super) fn diff_read(&mut self, result: EffectResult) {
        let mut diff = String::new();
        if let EffectResult::DiffRead { diff: text, cut } = result {
            diff = text;
            if cut {
                diff.push_str("\n(cut: the rest is in the files)");
            }
        } else if let EffectResult::Failed { problem } = result {
            self.warn(format!("the reviewer saw no diff: {problem}"));
        }
        let (domain, round) = self.under_review();
        let base = self.request.base_sha.as_str();
        let prompt = self.terms.prompts.render(&Prompt::ReviewDomain {
            task: &self.request.task,
            base: self.request.base_branch.as_deref().unwrap_or(base),
            diff: &diff,
            domain,
            pull_request: match &self.run.work.pull_request {
                Some(pr) => pr.url.as_str(),
                None => "",
            },
        });
        let job = AgentJob {
            round,
            domain: Some(domain.name().to_owned()),
            ..self.job(self.terms.reviewer.clone(), Role::Reviewer, prompt)
        };
        self.cruise.stage = Stage::Reviewing { diff };
        let sandbox = Some(self.run.sandbox_id());
        self.start(sandbox, job);
    }

    fn under_review(&self) -> (Domain, u32) {
        match &self.cruise.next {
            Move::Review {
                domain: Some(domain),
                round,
                ..
            } => (*domain, *round),
            Move::Review { .. } | Move::Fix { .. } | Move::Done(_) => (Domain::GeneralPolish, 1),
        }
    }

    /// A reviewer that crashed or took too long counts as complete, with a warning.
    pub(super) fn reviewed(&mut self, diff: &str, result: &EffectResult) {
        let (domain, round) = self.under_review();
        let (mut review, mut failure) = (Reviewed::Failed, None);
        let mut suggestions = Vec::new();
        if let EffectResult::AgentEnded { outcome, .. } = result {
            (review, failure) = judged(outcome, &self.terms.reviewer);
            if let Reviewed::Judged {
                verdict,
                suggestions: listed,
            } = &review
            {
                suggestions.clone_from(listed);
                if *verdict == Verdict::NeedsChanges && listed.is_empty() {
                    suggestions.push(in_its_own_words(outcome));
                }
            }
        } else if let EffectResult::Failed { problem } = result {
            self.cruise.record.job_failed(problem, self.now);
            failure = Some(problem.to_string());
        }
        if let (Reviewed::Failed, Some(why)) = (&review, &failure) {
            self.warn(format!("the {domain} review counts as complete: {why}"));
        }
        let verdict = match &review {
            Reviewed::Judged { verdict, .. } => Some(*verdict),
            Reviewed::Unreadable | Reviewed::Failed => None,
        };
        let record = ReviewRecord {
            domain: Some(domain),
            round,
            verdict,
            failure,
            suggestions,
            head: self.run.work.head_sha.clone(),
        };
        self.cruise.next = self.cruise.review.reviewed(review);
        self.cruise.record.reviews.push(record.clone());
        match self.cruise.next {
            Move::Review { again: true, .. } => self.close_batch(),
            Move::Review { .. } | Move::Fix { .. } | Move::Done(_) => self.tell(diff, &record),
        }
    }

    fn tell(&mut self, diff: &str, record: &ReviewRecord) {
        let (on_lines, others) = by_place(&record.suggestions, &parse_diff(diff));
        let body = review_body(record, on_lines.len(), &others);
        let act = match record.verdict {
            Some(_) => ForgeAct::PostReview {
                head: self.run.work.head_sha.clone().unwrap_or_default(),
                body,
                lines: on_lines.iter().map(line_remark).collect(),
            },
            None => ForgeAct::PostComment { body },
        };
        let remark = |one: &Suggestion| {
            Remark::of_suggestion(one, &self.terms.reviewer, record.domain, record.round)
        };
        let mut remarks = Vec::new();
        if let Move::Fix { .. } = self.cruise.next {
            remarks.extend(on_lines.iter().map(remark));
            remarks.extend(together(others.iter().map(remark).collect()));
        }
        self.cruise.stage = Stage::Telling { remarks };
        // Without its journal a cruise counts its effects anew, and must not take a review that
        // stands there already for this one.
        let (domain, round) = (record.domain.map_or("", Domain::name), record.round);
        let proof = format!("review/{domain}/{round}/{}", self.now.as_millisecond());
        if !self.on_forge(act, Some(proof)) {
            self.close_batch();
        }
    }

    /// The review stands on the pull request: now its remarks have comments to answer.
    pub(super) fn told(
        &mut self,
        remarks: Vec<Remark>,
        key: &EffectKey,
        effect: Effect,
        result: EffectResult,
    ) {
        if let EffectResult::Failed { problem } = result {
            return self.try_again(key, effect, &problem);
        }
        if let EffectResult::OnForge {
            answer: ForgeAnswer::ReviewPosted { review, lines },
        } = result
        {
            self.enter_remarks(remarks, review, &lines);
        }
        self.close_batch();
    }

    /// A forge that could not put every remark on its line has them in the body: then they are one.
    fn enter_remarks(&mut self, remarks: Vec<Remark>, review: CommentRef, lines: &[CommentRef]) {
        let stands_on_line = |one: &Remark| one.file.is_some() && one.line.is_some();
        let on_lines = remarks.iter().filter(|one| stands_on_line(one)).count();
        let remarks = match on_lines == lines.len() {
            true => remarks,
            false => together(remarks),
        };
        let mut lines = lines.iter();
        let mut by_comment: BTreeMap<CommentRef, Remark> = BTreeMap::new();
        for remark in remarks {
            let own = match stands_on_line(&remark) {
                true => lines.next().copied(),
                false => None,
            };
            by_comment.entry(own.unwrap_or(review)).or_insert(remark);
        }
        for (comment, remark) in by_comment {
            self.cruise.ledger.insert(Entry {
                key: CommentKey {
                    surface: comment.surface,
                    id: comment.id,
                    updated_at: self.now,
                },
                author: remark.author,
                path: remark.file,
                line: remark.line,
                commit: self.run.work.head_sha.clone(),
                url: None,
                body: remark.body,
                seen_at: self.now,
                tries: 0,
                life: Life::Seen,
            });
        }
    }
}
