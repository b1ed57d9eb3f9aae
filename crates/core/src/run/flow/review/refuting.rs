//! A second agent tries to refute the blocking findings before anybody has to fix them.

use super::super::super::model::{
    AgentJob, EffectResult, OutcomeStatus, Panel, ReviewRecord, Stage,
};
use super::super::phase::PhaseFlow;
use super::texts::finding_text;
use crate::agent::Role;
use crate::agent::answer::{Finding, Severity, Verdict, read_refutations};
use crate::forge::inline::FileDiff;
use crate::ids::EffectKey;
use crate::prompts::{Claimed, Prompt, PromptName};
use crate::review::is_blocking;

/// The beginning of the warning that all findings stand unchecked.
const UNCHECKED: &str = "no second agent checked the findings";

/// The name of the finding at this index of the list to refute.
fn claim_id(place: usize) -> String {
    format!("finding-{}", place + 1)
}

impl PhaseFlow<'_> {
    /// The agent that must refute a finding of the current reviews. None if the budget is used up.
    pub(super) fn wanted_refuter(&self) -> Option<String> {
        let refuter = self.terms.review.refuter.clone()?;
        let min = self.terms.review.min_confidence;
        let is_blocked = self.claims().into_iter().any(|one| is_blocking(one, min));
        let is_wanted = is_blocked && self.overrun().is_none();
        is_wanted.then_some(refuter)
    }

    fn given_reviews(&self) -> impl Iterator<Item = &ReviewRecord> {
        let reviews = &self.state.record.reviews;
        let given = self.state.given.iter();
        given.filter_map(|place| reviews.get(*place))
    }

    /// Every blocker and major finding of the objecting reviews, however sure its reviewer is. If two reviews
    /// share a finding, it occurs twice: only a finding that the second agent saw can be refuted.
    fn claims(&self) -> Vec<&Finding> {
        let objections = self.given_reviews();
        let objections = objections.filter(|one| one.verdict == Some(Verdict::NeedsChanges));
        let claims = objections.flat_map(|one| &one.findings);
        claims.filter(|one| is_claim(one)).collect()
    }

    /// Starts the refuting agent.
    pub(super) fn refute(&mut self, refuter: &str, panel: Panel) {
        let job = self.refuter_job(refuter);
        let (diff, lines) = (panel.quotable(), panel.lines);
        self.state.stage = Stage::Refuting { diff, lines };
        let sandbox = Some(self.run.sandbox_id());
        self.start_agent(sandbox, job);
    }

    fn refuter_job(&self, refuter: &str) -> AgentJob {
        let claims: Vec<(String, &Finding, String)> = self
            .claims()
            .into_iter()
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
        let mut job = self.phase_job(refuter, Role::Reviewer, prompt);
        job.input.ask_to_refute(&claims);
        job.round = self.given_reviews().map(|one| one.round).max().unwrap_or(1);
        job
    }

    /// Handles the refutations. A finding that was refuted with a reason no longer blocks. An agent
    /// that fails or answers in another form refutes nothing.
    pub(in crate::run) fn refuted(
        &mut self,
        (diff, lines): (&str, &[FileDiff]),
        key: &EffectKey,
        result: &EffectResult,
    ) {
        let min = self.terms.review.min_confidence;
        let mut refutations = Vec::new();
        if let EffectResult::AgentEnded { outcome, .. } = result {
            let is_done = OutcomeStatus::of_agent(&outcome.ending) == OutcomeStatus::Succeeded;
            let shown = self.shown(PromptName::Refute, diff);
            match read_refutations(&**outcome, &shown) {
                Ok(read) if is_done => refutations = read,
                Ok(_) => self.warn(format!("{UNCHECKED}: the second agent failed")),
                Err(why) => self.warn(format!("{UNCHECKED}: {}", why.reason)),
            }
        } else if let EffectResult::Failed { problem } = result {
            self.state.record.job_failed(key, problem, self.now);
            if self.is_overtaken(problem, false) {
                return self.take_in();
            }
            self.warn(format!("{UNCHECKED}: {problem}"));
        }
        let mut ids = (0..).map(claim_id);
        for place in std::mem::take(&mut self.state.given) {
            self.state.given.push(place);
            let Some(review) = self.state.record.reviews.get_mut(place) else {
                continue;
            };
            if review.verdict != Some(Verdict::NeedsChanges) {
                continue;
            }
            let claims = review.findings.iter_mut();
            for (finding, id) in claims.filter(|one| is_claim(one)).zip(&mut ids) {
                let found = refutations.iter().find(|one| one.id == id);
                finding.refuted = found.map(|one| one.why.clone());
            }
            let mut left = review.findings.iter().filter(|one| one.refuted.is_none());
            if left.clone().any(|one| is_blocking(one, min)) {
                continue;
            }
            // An uncertain blocker is no reason to approve.
            let is_unsure = left.any(|one| one.severity == Severity::Blocker && !one.pre_existing);
            (review.verdict, review.failure) = if review.failure.is_some() {
                // A part of the change has no verdict.
                (None, review.failure.take())
            } else if is_unsure {
                (
                    None,
                    Some("a blocker is left that its reviewer is not sure of".to_owned()),
                )
            } else {
                (Some(Verdict::Approved), None)
            };
        }
        if self.state.given.is_empty() {
            // An older version did not record which reviews were given, so they are given again.
            return self.close_batch();
        }
        self.conclude_reviews(lines);
    }
}

/// Whether a second agent checks a finding.
fn is_claim(finding: &Finding) -> bool {
    let is_severe = finding.severity <= Severity::Major;
    is_severe && finding.refuted.is_none() && !finding.pre_existing
}
