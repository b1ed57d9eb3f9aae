//! The reviewer looks, and what it says is told on the pull request.

use super::super::effect::{AgentJob, Effect, EffectResult};
use super::super::forge_act::{ForgeAct, ForgeAnswer};
use super::super::reviewing::{
    Remark, ReviewRecord, by_place, in_its_own_words, judged, line_remark, review_body, together,
};
use super::texts::pull_request_body;
use super::{Flight, TeamStage};
use crate::agent::Role;
use crate::agent::answer::{Suggestion, Verdict};
use crate::forge::inline::parse_diff;
use crate::prompts::Prompt;
use crate::review::{Move, Reviewed};
use crate::settings::TeamMode;

impl Flight<'_> {
    pub(super) fn read_diff(&mut self) {
        self.team.stage = TeamStage::ReadingDiff;
        self.run.decide(Effect::ReadDiff {
            sandbox: self.run.sandbox_id(),
            base: self.run.base_sha(),
            head: self.run.work.head_sha.clone().unwrap_or_default(),
        });
    }

    /// A diff that cannot be read is left out: the reviewer has the files.
    pub(super) fn diff_read(&mut self, result: EffectResult) {
        let mut shown = String::new();
        if let EffectResult::DiffRead { diff, cut } = result {
            let note = if cut {
                "\n(cut: the rest is in the files)"
            } else {
                ""
            };
            shown = diff + note;
        } else if let EffectResult::Failed { problem } = result {
            self.run
                .warnings
                .push(format!("the reviewer saw no diff: {problem}"));
        }
        let diff = shown;
        let (domain, round) = self.under_review();
        let (task, sha) = (&self.request.task, self.run.base_sha());
        let base = self.request.base_branch.as_deref().unwrap_or(&sha);
        let pr = self.run.work.pull_request.as_ref();
        let prompt = match domain {
            None => Prompt::Review {
                task,
                base,
                diff: &diff,
            },
            Some(domain) => Prompt::ReviewDomain {
                task,
                base,
                diff: &diff,
                domain,
                pull_request: pr.map_or("", |pr| pr.url.as_str()),
            },
        };
        let job = AgentJob {
            round,
            domain: domain.map(|domain| domain.name().to_owned()),
            ..self.job(
                self.terms.reviewer.clone(),
                Role::Reviewer,
                self.terms.prompts.render(&prompt),
            )
        };
        self.team.stage = TeamStage::Reviewing { diff };
        let sandbox = Some(self.run.sandbox_id());
        self.start(sandbox, job);
    }

    /// A reviewer that fails does not stop the work, and does not approve it either.
    pub(super) fn reviewed(&mut self, diff: &str, result: &EffectResult) {
        let (domain, round) = self.under_review();
        let (mut review, mut failure) = (Reviewed::Failed, None);
        if let EffectResult::AgentEnded { outcome, .. } = result {
            (review, failure) = judged(outcome, &self.terms.reviewer);
        } else if let EffectResult::Failed { problem } = result {
            self.team.record.job_failed(problem, self.now);
            failure = Some(problem.to_string());
        }
        let (verdict, mut suggestions) = match &review {
            Reviewed::Judged {
                verdict,
                suggestions,
            } => (Some(*verdict), suggestions.clone()),
            Reviewed::Unreadable | Reviewed::Failed => (None, Vec::new()),
        };
        if let (Some(Verdict::NeedsChanges), true, EffectResult::AgentEnded { outcome, .. }) =
            (verdict, suggestions.is_empty(), result)
        {
            suggestions.push(in_its_own_words(outcome));
        }
        self.team.record.reviews.push(ReviewRecord {
            domain,
            round,
            verdict,
            failure,
            suggestions: suggestions.clone(),
            head: self.run.work.head_sha.clone(),
        });
        self.team.next = self.team.review.reviewed(review);
        self.team.listened = false;
        let asks_again = matches!(self.team.next, Move::Review { again: true, .. });
        if asks_again {
            return self.proceed();
        }
        self.tell(diff, &suggestions);
    }

    /// Tells the newest review on the pull request, where the mode says so.
    fn tell(&mut self, diff: &str, suggestions: &[Suggestion]) {
        let Some(record) = self.team.record.reviews.last().cloned() else {
            return self.proceed();
        };
        let remark = |suggestion: &Suggestion| {
            Remark::of_suggestion(
                suggestion,
                &self.terms.reviewer,
                record.domain,
                record.round,
            )
        };
        let (on_lines, others) = by_place(suggestions, &parse_diff(diff));
        let told = match self.terms.mode {
            TeamMode::Sequential => false,
            TeamMode::Pingpong => {
                let body = pull_request_body(self.run, &self.team, self.request);
                self.on_forge(ForgeAct::UpdateBody { body })
            }
            TeamMode::Github => {
                let body = review_body(&record, on_lines.len(), &others);
                self.on_forge(match record.verdict {
                    Some(_) => ForgeAct::PostReview {
                        head: self.run.work.head_sha.clone().unwrap_or_default(),
                        body,
                        lines: on_lines.iter().map(line_remark).collect(),
                    },
                    None => ForgeAct::PostComment { body },
                })
            }
        };
        let remarks = match (&self.team.next, self.terms.mode) {
            (Move::Fix { .. }, TeamMode::Github) if told => {
                let mut remarks: Vec<Remark> = on_lines.iter().map(remark).collect();
                remarks.extend(together(others.iter().map(remark).collect()));
                remarks
            }
            (Move::Fix { .. }, _) => together(suggestions.iter().map(remark).collect()),
            (Move::Review { .. } | Move::Done(_), _) => Vec::new(),
        };
        self.team.stage = TeamStage::Telling { remarks };
        if !told {
            self.told_nowhere();
        }
    }

    fn told_nowhere(&mut self) {
        if let TeamStage::Telling { remarks } = self.team.stage.clone() {
            self.team.queue.extend(remarks);
        }
        self.proceed();
    }

    /// The review stands on the pull request: now its remarks have comments to answer.
    pub(super) fn told(&mut self, mut remarks: Vec<Remark>, result: EffectResult) {
        if let EffectResult::OnForge {
            answer: ForgeAnswer::ReviewPosted { review, lines },
        } = result
        {
            let on_lines = remarks
                .iter()
                .filter(|one| one.line.is_some() && one.file.is_some());
            // A forge that could not put every remark on its line has them in the body.
            let is_complete = on_lines.count() == lines.len();
            let mut lines = lines.into_iter();
            for remark in &mut remarks {
                let own = match (is_complete, &remark.file, remark.line) {
                    (true, Some(_), Some(_)) => lines.next(),
                    _ => None,
                };
                remark.comment = Some(own.unwrap_or(review));
                if let Some(thread) = remark.thread_id() {
                    self.team.threads.said(thread, &remark.author, &remark.body);
                }
            }
        } else if let EffectResult::Failed { problem } = result {
            self.run
                .warnings
                .push(format!("a review could not be posted: {problem}"));
            remarks = together(remarks);
        }
        self.team.queue.extend(remarks);
        self.proceed();
    }
}
