//! A fresh agent judges what no program checks, on exactly the commit that goes to the base.
//!
//! The agent reads the contract, the tree and the receipts of the programs, but nothing that the authors
//! wrote about their work. Its answer holds for that commit only: another commit is judged again.

use super::super::super::model::{
    AgentJob, Checked, ContractCheck, Effect, EffectResult, HoldFor, JudgeCheck, Level, LineAct,
    Opinion, OutcomeStatus, Stage, Validation,
};
use super::super::kit::no_commit;
use super::PhaseFlow;
use super::opinion::{opinion, probes};
use crate::agent::answer::{ValidatorAnswer, read_validation};
use crate::agent::{AgentOutcome, Role};
use crate::ids::{CommitSha, EffectKey};
use crate::problem::{Kind, Problem};
use crate::prompts::{JudgeEntry, Prompt, ShownReceipt};

impl PhaseFlow<'_> {
    /// The entries that a validator judges; empty at the basic level.
    fn to_judge(&self) -> &[JudgeCheck] {
        match self.terms.whole() {
            Some(whole) if whole.level != Level::Basic => &whole.judged,
            Some(_) | None => &[],
        }
    }

    /// Whether programs checked the head and no validator judged it yet.
    fn is_unjudged(&self) -> bool {
        let checked = self.state.whole.checked.as_ref();
        let checked = checked.filter(|one| Some(&one.commit) == self.run.work.head_sha.as_ref());
        !self.to_judge().is_empty() && checked.is_some_and(|one| one.opinion.is_none())
    }

    /// Whether the head waits for a validator that cannot be started now.
    pub(super) fn waits_for_validator(&self) -> bool {
        let is_held = self.holds(HoldFor::Reviewer) || self.state.limit().is_some();
        is_held && self.is_unjudged()
    }

    /// Starts the validator, unless it judged this commit already. A used-up budget or an outage of
    /// its model makes it wait as a reviewer would.
    pub(super) fn judge(&mut self) {
        let Some(head) = self.head() else {
            return self.fail(no_commit());
        };
        let checked = self.state.whole.checked.as_ref();
        if !self.to_judge().is_empty() && checked.is_none_or(|one| one.commit != head) {
            // No program checks anything of this contract.
            self.state.whole.checked = Some(Checked {
                commit: head.clone(),
                receipts: Vec::new(),
                opinion: None,
            });
        }
        if !self.is_unjudged() {
            return self.close_gaps();
        }
        if self.waits_for_validator() {
            self.state.stage = Stage::Watching;
            return;
        }
        if let Some(overrun) = self.overrun() {
            return self.limit_hit(format!("the run {overrun}"));
        }
        let asked = self.state.whole.validation.take();
        let again = asked.filter(|one| one.commit == head);
        let again = again.and_then(|one| one.again);
        let job = self.validator(&head, again.as_deref());
        self.state.whole.validation = Some(Validation {
            commit: head,
            again,
            answer: None,
        });
        self.state.stage = Stage::Judging;
        let sandbox = Some(self.run.sandbox_id());
        self.start_agent(sandbox, job);
    }

    fn validator(&self, head: &CommitSha, again: Option<&str>) -> AgentJob {
        let entries = self.to_judge().iter();
        let entries: Vec<JudgeEntry<'_>> = entries
            .map(|one| JudgeEntry {
                task: one.task.as_str(),
                id: &one.id,
                text: &one.criterion,
            })
            .collect();
        let receipts = self.shown_receipts();
        let mut prompt = self.terms.prompts.render(&Prompt::Validate {
            commit: head.as_str(),
            entries: &entries,
            receipts: &receipts,
        });
        if let Some(why) = again {
            prompt.push_str(&format!(
                "\n\nYour last answer could not be used: {why}. Answer again with exactly one JSON \
                 block.\n"
            ));
        }
        let mut job = self.phase_job(&self.terms.reviewer, Role::Validator, prompt);
        job.input.ask_to_judge(self.to_judge());
        // The pull request contains texts of authors and reviewers.
        job.input.pull_request = None;
        job.round = self.state.whole.waves + 1;
        job
    }

    fn shown_receipts(&self) -> Vec<ShownReceipt<'_>> {
        let (Some(whole), Some(checked)) = (self.terms.whole(), &self.state.whole.checked) else {
            return Vec::new();
        };
        checked
            .receipts
            .iter()
            .map(|one| {
                let mut checks = whole.contract.iter();
                let check = checks.find(|check| check.task == one.task && check.id == one.id);
                ShownReceipt {
                    task: one.task.as_str(),
                    id: &one.id,
                    text: check.and_then(ContractCheck::criterion).unwrap_or_default(),
                    command: check.map_or(&[], |check| check.command.as_slice()),
                    result: one.result.name(),
                    output: &one.output,
                }
            })
            .collect()
    }

    /// Handles the end of the validator. If its model was away or its budget used up, it is asked
    /// later; if it failed or gave no usable answer, it is asked once more.
    pub(super) fn validator_ended(&mut self, key: &EffectKey, result: &EffectResult) {
        let read = if let EffectResult::AgentEnded { outcome, .. } = result {
            if self.run.stop_asked {
                let problem = Problem::new(Kind::Interrupted, "stopped on request");
                return self.leave(OutcomeStatus::Cancelled, Some(problem));
            }
            let is_held = outcome.ending.is_over_budget()
                || self.hold_for_outage(&self.terms.reviewer, outcome);
            if is_held {
                return self.look_at_it_again();
            }
            self.state.counts.failures = 0;
            self.read_answer(outcome)
        } else if let EffectResult::Failed { problem } = result {
            self.state.record.job_failed(key, problem, self.now);
            if self.is_overtaken(problem, false) {
                return self.take_in();
            }
            // The validator was interrupted and did not fail.
            if problem.kind == Kind::AgentInterrupted {
                return self.look_at_it_again();
            }
            Err(problem.to_string())
        } else {
            return self.look_at_it_again();
        };
        let bound = self.state.whole.validation.as_mut();
        let bound = bound.filter(|one| Some(&one.commit) == self.run.work.head_sha.as_ref());
        let Some(validation) = bound else {
            return self.look_at_it_again();
        };
        match (read, &validation.again) {
            (Ok(answer), _) => self.check_claims(answer),
            (Err(why), None) => {
                validation.again = Some(why);
                self.judge();
            }
            (Err(why), Some(_)) => {
                self.warn(format!("no validator judged the contract: {why}"));
                self.settle_opinion(Opinion {
                    failure: Some(why),
                    ..Opinion::default()
                });
            }
        }
    }

    /// The validator's answer, or why it cannot be used.
    fn read_answer(&self, outcome: &AgentOutcome) -> Result<ValidatorAnswer, String> {
        if let Some(problem) = outcome.problem(&self.terms.reviewer) {
            return Err(problem.to_string());
        }
        let asked = self.to_judge().iter();
        let asked: Vec<(&str, &str)> = asked
            .map(|one| (one.task.as_str(), one.id.as_str()))
            .collect();
        read_validation(outcome, &asked).map_err(|why| why.reason)
    }

    /// Lets programs check the validator's claims about this commit.
    fn check_claims(&mut self, answer: ValidatorAnswer) {
        let Some(head) = self.head() else {
            return self.fail(no_commit());
        };
        let checks: Vec<_> = probes(&answer)
            .into_iter()
            .map(|(_, check)| check)
            .collect();
        if checks.is_empty() {
            let found = opinion(self.to_judge(), &answer, &[]);
            return self.settle_opinion(found);
        }
        if let Some(validation) = &mut self.state.whole.validation {
            validation.answer = Some(answer);
        }
        self.state.stage = Stage::CheckingClaims;
        self.run.decide(Effect::OnLine {
            act: LineAct::CheckContract {
                base: self.base_sha(),
                commit: head,
                checks,
            },
        });
    }

    /// Takes the results of those checks and forms the opinion.
    pub(super) fn claims_checked(&mut self, key: &EffectKey, effect: Effect, result: EffectResult) {
        let Some((commit, receipts)) = self.checked(key, effect, result) else {
            return;
        };
        let validation = self.state.whole.validation.as_mut();
        let validation = validation.filter(|one| one.commit == commit);
        let answer = validation.and_then(|one| one.answer.take());
        let (Some(answer), true) = (answer, self.head() == Some(commit)) else {
            return self.look_at_it_again();
        };
        let found = opinion(self.to_judge(), &answer, &receipts);
        self.settle_opinion(found);
    }

    fn settle_opinion(&mut self, found: Opinion) {
        if let Some(checked) = &mut self.state.whole.checked {
            checked.opinion = Some(found);
        }
        self.state.whole.validation = None;
        self.close_gaps();
    }
}
