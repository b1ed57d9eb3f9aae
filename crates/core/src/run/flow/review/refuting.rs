//! A second agent tries to refute what stands against a merge, before anybody has to fix it.

use super::super::super::model::{AgentJob, EffectResult, OutcomeStatus, ReviewRecord, Stage};
use super::super::phase::PhaseFlow;
use super::texts::finding_text;
use crate::agent::Role;
use crate::agent::answer::{Finding, Refutation, Verdict, read_refutations};
use crate::forge::inline::FileDiff;
use crate::prompts::{Claimed, Prompt};
use crate::review::{Domain, Reviewed, is_blocking};

/// How a warning begins after which all findings hold.
const UNCHECKED: &str = "no second agent checked the findings";

/// The name of the finding at this place among those that are to be refuted.
fn claim_id(place: usize) -> String {
    format!("finding-{}", place + 1)
}

impl PhaseFlow<'_> {
    /// Whether an agent is to refute something of a review. On a spent budget nobody is.
    pub(super) fn is_refutable(&self, record: &ReviewRecord) -> bool {
        let is_objection = record.verdict == Some(Verdict::NeedsChanges);
        self.terms.review.refute && is_objection && self.overrun().is_none()
    }

    /// Starts that agent.
    pub(super) fn refute(&mut self, record: ReviewRecord, lines: Vec<FileDiff>) {
        let job = self.refuter(&record);
        self.state.stage = Stage::Refuting {
            record: Box::new(record),
            lines,
        };
        let sandbox = Some(self.run.sandbox_id());
        self.start_agent(sandbox, job);
    }

    fn refuter(&self, record: &ReviewRecord) -> AgentJob {
        let min = self.terms.review.min_confidence;
        let claims = record.findings.iter().filter(|one| is_blocking(one, min));
        let claims: Vec<(String, &Finding, String)> = claims
            .enumerate()
            .map(|(place, one)| (claim_id(place), one, finding_text(one)))
            .collect();
        let claims: Vec<Claimed<'_>> = claims
            .iter()
            .map(|(id, one, text)| Claimed {
                id,
                file: one.file.as_deref(),
                line: one.line,
                text,
            })
            .collect();
        let prompt = self.terms.prompts.render(&Prompt::Refute {
            task: &self.request.task,
            base: &self.base_sha(),
            findings: &claims,
        });
        let mut job = self.phase_job(&self.terms.reviewer, Role::Reviewer, prompt);
        job.input.ask_to_refute(&claims);
        job.round = record.round;
        job.domain = record
            .domain
            .as_ref()
            .map(|domain| domain.name().to_owned());
        job
    }

    /// What was refuted with a reason does not stand against a merge. An agent that fails or answers
    /// in another form has refuted nothing.
    pub(in crate::run) fn refuted(
        &mut self,
        mut record: ReviewRecord,
        lines: &[FileDiff],
        result: &EffectResult,
    ) {
        let min = self.terms.review.min_confidence;
        let mut refutations = Vec::new();
        if let EffectResult::AgentEnded { outcome, .. } = result {
            let is_done = OutcomeStatus::of_agent(&outcome.ending) == OutcomeStatus::Succeeded;
            match read_refutations(&**outcome) {
                Ok(read) if is_done => refutations = read,
                Ok(_) => self.warn(format!("{UNCHECKED}: the second agent failed")),
                Err(why) => self.warn(format!("{UNCHECKED}: {}", why.reason)),
            }
        } else if let EffectResult::Failed { problem } = result {
            self.state.record.job_failed(problem, self.now);
            if self.review_overtaken(problem) {
                return;
            }
            self.warn(format!("{UNCHECKED}: {problem}"));
        }
        apply(&mut record.findings, &refutations, |one| {
            is_blocking(one, min)
        });
        let mut blocking = record.findings.clone();
        blocking.retain(|one| is_blocking(one, min));
        let verdict = if blocking.is_empty() {
            Verdict::Approved
        } else {
            Verdict::NeedsChanges
        };
        record.verdict = Some(verdict);
        let domain: Option<Domain> = record.domain.clone();
        blocking.retain(|one| !self.is_declined(domain.as_ref(), one));
        let reviewed = Reviewed::Judged {
            verdict,
            findings: blocking,
        };
        self.conclude_review(reviewed, record, lines);
    }
}

/// Writes the reasons to the findings that they refute.
fn apply(findings: &mut [Finding], refuted: &[Refutation], is_claim: impl Fn(&Finding) -> bool) {
    let claims = findings.iter_mut().filter(|one| is_claim(one));
    for (place, claim) in claims.enumerate() {
        let id = claim_id(place);
        let found = refuted.iter().find(|one| one.id == id);
        claim.refuted = found.map(|one| one.why.clone());
    }
}
