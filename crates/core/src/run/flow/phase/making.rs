//! The first agent of a phase, and its next attempt after a failure.

use super::super::super::model::{
    AgentJob, Effect, HoldFor, Makes, PLAN_PATH, RollBackCost, Round, RoundJob, RoundStep,
};
use super::super::attempt::earlier_attempt;
use super::PhaseFlow;
use crate::agent::{Ending, Failure, Role};
use crate::problem::Problem;
use crate::prompts::Prompt;
use std::fmt::Write;

/// How often a failed planner is started again.
const MOST_RETRIES: u32 = 2;

impl PhaseFlow<'_> {
    /// Starts the first agent, unless a plan was provided.
    pub(in crate::run) fn make(&mut self) {
        let mut round = Round {
            number: 0,
            job: RoundJob::Make,
            step: RoundStep::Agent,
            head_before: self.run.work.head_sha.clone(),
            answers: Vec::new(),
        };
        let sandbox = self.run.sandbox_id();
        let (role, prompt) = match &self.terms.makes {
            Makes::Plan {
                given: Some(plan), ..
            } => {
                round.step = RoundStep::WritePlan;
                self.at(round);
                self.run.decide(Effect::WriteFile {
                    sandbox,
                    path: PLAN_PATH.to_owned(),
                    text: Some(plan.text().to_owned()),
                });
                return;
            }
            Makes::Plan { given: None, .. } => {
                let prompt = self.terms.prompts.render(&Prompt::Plan {
                    task: &self.request.task,
                    plan_path: PLAN_PATH,
                });
                (Role::Planner, prompt)
            }
            Makes::Change { .. } => {
                let task = &self.request.task;
                let prompt = self.terms.prompts.render(&Prompt::Code { task });
                (Role::Coder, prompt)
            }
            Makes::Amendments { .. } | Makes::Whole { .. } => return self.take_in(),
        };
        if let Some(overrun) = self.overrun() {
            return self.limit_hit(format!("the run {overrun}"));
        }
        let prompt = format!("{prompt}{}", earlier_attempt(self.run, &self.base_sha()));
        let mut job = self.phase_job(&self.request.agent, role, prompt);
        self.add_saved(&mut job);
        self.at(round);
        self.start_agent(Some(sandbox), job);
    }

    /// Adds to the prompt where the work of the previous attempt is.
    pub(super) fn add_saved(&mut self, job: &mut AgentJob) {
        if let Some(saved) = &self.state.saved {
            let _ = write!(
                job.prompt,
                "\n\nAn earlier attempt did not finish. Its unfinished work is saved in commit \
                 {saved}; `git show {saved}` shows it. The working tree is at the last commit.\n"
            );
        }
        if let Some(red) = &self.state.whole.red {
            let which = match &self.state.saved {
                Some(_) => "It",
                None => "The fix before this one",
            };
            let _ = write!(
                job.prompt,
                "\n\n{which} did not pass verification, so it was not published:\n\n{red}\n"
            );
        }
    }

    /// Whether to start a failed planner again. After a stop or an expired login, a person must act first.
    pub(super) fn plans_again(&self, ending: Option<&Ending>) -> bool {
        let is_final = match ending {
            Some(Ending::Failed { reason, .. }) => {
                matches!(reason, Failure::Cancelled | Failure::LoginExpired)
            }
            Some(Ending::Succeeded) | None => false,
        };
        let is_written = matches!(self.terms.makes, Makes::Plan { given: None, .. });
        is_written && !is_final && self.state.counts.plans < MOST_RETRIES
    }

    /// Saves the work of a failed planner, and starts another one after a pause.
    pub(super) fn plan_again(&mut self, round: Round, problem: &Problem, ending: Option<&Ending>) {
        self.state.counts.plans += 1;
        self.warn(format!("started the planner again: {problem}"));
        let why = problem.to_string();
        self.hold(HoldFor::EveryAgent, why.clone(), ending);
        self.roll_back(round, why, RollBackCost::Time);
    }
}
