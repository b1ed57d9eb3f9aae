//! The prompts and jobs of reviewers.

use super::super::super::model::{AgentJob, AtWork, Panel};
use super::super::phase::PhaseFlow;
use super::verdict::asked_again;
use crate::agent::Role;
use crate::agent::answer::AnswerForm;
use crate::ids::CommitSha;
use crate::prompts::{Earlier, PartOf, Prompt};

impl PhaseFlow<'_> {
    pub(super) fn reviewer(&self, at: &AtWork, panel: &Panel) -> AgentJob {
        let AtWork { seat, part } = at;
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
        let diff = panel.part(*part);
        let part = PartOf {
            number: part + 1,
            count: panel.count(),
        };
        let verified = self.program_results();
        let verified = verified.as_str();
        let prompt = match domain {
            None => Prompt::Review {
                task,
                base,
                earlier: &earlier,
                diff,
                part,
                verified,
            },
            Some(domain) => Prompt::ReviewDomain {
                task,
                base,
                earlier: &earlier,
                diff,
                part,
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
            let found = match seat.part(at.part) {
                Some(part) => part.findings.as_slice(),
                None => last.map_or(&[][..], |review| review.findings.as_slice()),
            };
            prompt.push_str(&asked_again(why, &head, found));
        }
        let mut job = self.phase_job(&self.terms.reviewer, Role::Reviewer, prompt);
        job.round = seat.round;
        job.input.answer = AnswerForm::Review;
        job.domain = domain.map(|domain| domain.name().to_owned());
        job
    }
}
