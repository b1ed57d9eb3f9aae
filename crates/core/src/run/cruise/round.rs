//! A round of the worker: an agent plans or fixes, what it did is committed, checked, pushed and
//! shown, and every comment it was given is answered.

use super::super::effect::{Effect, EffectResult};
use super::super::outcome::OutcomeStatus;
use super::super::spawn::nothing_changed;
use super::answering::is_lost;
use super::ledger::{self, Answer, Life};
use super::retrying::is_final;
use super::texts::{LEFT_MESSAGE, fix_message, plan_message};
use super::{Flight, HOLD, PLAN_PATH, PlanCheck, Stage};
use crate::Problem;
use crate::agent::answer::{CommentAnswer, read_fixer};
use crate::agent::{AgentOutcome, Ending, Failure, Role};
use crate::forge::CommentKey;
use crate::ids::EffectKey;
use crate::plan::Plan;
use crate::prompts::Prompt;
use crate::review::Move;
use crate::time::after;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long the first pause after a fixer that failed is; it doubles.
const FIRST_HOLD: Duration = Duration::from_secs(30);
const LONGEST_HOLD: Duration = Duration::from_secs(15 * 60);

/// One round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Round {
    /// Which, from 1; the planner's is 0.
    pub number: u32,
    /// What for.
    pub job: RoundJob,
    /// How far it is.
    pub step: RoundStep,
    /// The branch's tip before it.
    pub head_before: Option<String>,
    /// What the fixer said about each comment.
    pub answers: Vec<CommentAnswer>,
}

/// What a round is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "job")]
pub enum RoundJob {
    /// To write the plan.
    Plan,
    /// To deal with these comments, and with a plan that is not sound.
    Fix {
        /// The comments.
        batch: Vec<CommentKey>,
    },
    /// To take up what an earlier journal left.
    Adopt,
    /// To take in what somebody else pushed.
    CatchUp,
}

/// How far a round is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "step")]
pub enum RoundStep {
    /// A plan that was given is being written.
    WritePlan,
    /// The agent works.
    Agent,
    /// What it left is being committed.
    Commit,
    /// The plan is being read and checked.
    ReadPlan,
    /// The branch is being pushed.
    Push,
    /// The pull request is being opened.
    Open,
    /// The author of this comment is being answered.
    Reply {
        /// Which.
        key: CommentKey,
    },
    /// The thread of this comment is being resolved.
    Resolve {
        /// Which.
        key: CommentKey,
    },
}

impl Flight<'_> {
    /// Sets the planner to work, unless a plan was given.
    pub(super) fn plan(&mut self) {
        let mut round = Round {
            number: 0,
            job: RoundJob::Plan,
            step: RoundStep::Agent,
            head_before: None,
            answers: Vec::new(),
        };
        let sandbox = self.run.sandbox_id();
        if let Some(text) = self.terms.plan.clone() {
            round.step = RoundStep::WritePlan;
            self.at(round);
            self.run.decide(Effect::WriteFile {
                sandbox,
                path: PLAN_PATH.to_owned(),
                text,
            });
            return;
        }
        let spent = self.run.spent;
        if let Some(overrun) = self.request.budget.overrun(spent.usage, spent.cost) {
            let problem = Problem::work("budgetExceeded", format!("the run {overrun}"))
                .hint("raise it in `[budget]`");
            return self.fail(problem);
        }
        let prompt = self.terms.prompts.render(&Prompt::Plan {
            task: &self.request.task,
            plan_path: PLAN_PATH,
        });
        let job = self.job(self.request.agent.clone(), Role::Planner, prompt);
        self.at(round);
        self.start(Some(sandbox), job);
    }

    /// Gives everything that waits to a fresh fixer.
    pub(super) fn fix(&mut self) {
        let number = self.cruise.rounds + 1;
        let batch = self.cruise.ledger.dispatch(number);
        let job = self.fixer(number, &batch);
        self.at(Round {
            number,
            job: RoundJob::Fix { batch },
            step: RoundStep::Agent,
            head_before: self.run.work.head_sha.clone(),
            answers: Vec::new(),
        });
        let sandbox = Some(self.run.sandbox_id());
        self.start(sandbox, job);
    }

    pub(super) fn at(&mut self, round: Round) {
        let round = Box::new(round);
        self.cruise.stage = Stage::Working { round };
    }

    pub(super) fn worked(
        &mut self,
        round: Round,
        key: &EffectKey,
        effect: Effect,
        result: EffectResult,
    ) {
        match result {
            EffectResult::Failed { problem } => self.work_failed(round, key, effect, problem),
            EffectResult::AgentEnded { outcome, .. } => self.agent_worked(round, &outcome),
            EffectResult::FileWritten => self.commit(round),
            EffectResult::WorkCommitted { commits, .. } => match round.job {
                RoundJob::Plan if commits.is_empty() => {
                    let problem = nothing_changed(&self.request.agent);
                    self.leave(OutcomeStatus::Failed, Some(problem));
                }
                RoundJob::Plan | RoundJob::Fix { .. } | RoundJob::Adopt => self.read_plan(round),
                RoundJob::CatchUp => self.bring_in(round),
            },
            EffectResult::FileRead { text } => self.plan_read(round, text.as_deref()),
            EffectResult::Pushed => self.pushed(round),
            EffectResult::BranchMoved { .. } => self.branch_moved(round),
            EffectResult::PullRequestOpened { .. } => self.opened(round),
            EffectResult::OnForge { answer } => self.answered(round, &answer),
            // Results of effects that no round decides.
            EffectResult::BranchChosen { .. }
            | EffectResult::SandboxCreated { .. }
            | EffectResult::ProcessEnded
            | EffectResult::DiffRead { .. }
            | EffectResult::Integrated { .. }
            | EffectResult::Replaced { .. }
            | EffectResult::Conflicted { .. }
            | EffectResult::RolledBack { .. }
            | EffectResult::Verified { .. }
            | EffectResult::SandboxRemoved { .. } => {}
        }
    }

    fn agent_worked(&mut self, mut round: Round, outcome: &AgentOutcome) {
        let is_fixer = matches!(round.job, RoundJob::Fix { .. });
        let agent = match is_fixer {
            true => &self.terms.fixer,
            false => &self.request.agent,
        };
        if let Some(problem) = outcome.problem(agent) {
            if is_fixer {
                return self.fixer_failed(round, &problem, Some(&outcome.ending));
            }
            return self.leave(OutcomeStatus::of_agent(&outcome.ending), Some(problem));
        }
        match is_fixer {
            true => {
                self.cruise.rounds += 1;
                self.cruise.failures = 0;
                let answer = read_fixer(&outcome.text);
                round.answers = answer.map_or(Vec::new(), |answer| answer.comments);
            }
            false => self.cruise.summary.clone_from(&outcome.summary),
        }
        self.commit(round);
    }

    /// A fixer that dies keeps what it did; the next one goes on with it after a pause. A comment
    /// that outlived several of them is given back to its author.
    fn fixer_failed(&mut self, round: Round, problem: &Problem, ending: Option<&Ending>) {
        self.cruise.rounds += 1;
        self.cruise.failures += 1;
        let RoundJob::Fix { batch } = &round.job else {
            return self.fail(problem.clone());
        };
        for key in batch {
            let tries = self.cruise.ledger.get(key).map_or(0, |entry| entry.tries);
            let life = match tries >= ledger::MOST_TRIES {
                false => Life::Seen,
                true => Life::Pushed {
                    answer: Answer {
                        action: None,
                        is_unsaid: false,
                        commit: None,
                        note: problem.to_string(),
                    },
                },
            };
            self.cruise.ledger.give_back(key, life);
        }
        let mut until = after(
            self.now,
            (FIRST_HOLD * (1 << (self.cruise.failures - 1).min(10))).min(LONGEST_HOLD),
        );
        if let Some(Ending::Failed {
            reason: Failure::UsageLimit {
                resets_at: Some(reset),
            },
            ..
        }) = ending
        {
            until = until.max(*reset);
        }
        self.cruise.hold = Some(problem.to_string());
        self.run.timers.insert(HOLD.to_owned(), until);
        self.next_reply(round);
    }

    pub(super) fn commit(&mut self, mut round: Round) {
        let message = match &round.job {
            RoundJob::Plan => plan_message(&self.cruise.title, &self.request.task),
            RoundJob::Adopt | RoundJob::CatchUp => LEFT_MESSAGE.to_owned(),
            RoundJob::Fix { batch } => {
                let entries = batch.iter().filter_map(|key| self.cruise.ledger.get(key));
                fix_message(round.number, entries, &round.answers)
            }
        };
        round.step = RoundStep::Commit;
        self.at(round);
        let sandbox = self.run.sandbox_id();
        self.run.decide(Effect::CommitWork { sandbox, message });
    }

    pub(super) fn read_plan(&mut self, mut round: Round) {
        round.step = RoundStep::ReadPlan;
        self.at(round);
        self.run.decide(Effect::ReadFile {
            sandbox: self.run.sandbox_id(),
            commit: self.run.work.head_sha.clone().unwrap_or_default(),
            path: PLAN_PATH.to_owned(),
        });
    }

    fn plan_read(&mut self, mut round: Round, text: Option<&str>) {
        self.cruise.plan = match text.map(Plan::parse) {
            None => PlanCheck::Invalid {
                errors: format!("there is no `{PLAN_PATH}` on the branch"),
            },
            Some(Ok(plan)) => PlanCheck::Valid { plan },
            Some(Err(errors)) => PlanCheck::Invalid {
                errors: errors.to_string(),
            },
        };
        self.enter_answers(&round);
        let head_sha = self.run.work.head_sha.clone();
        let remote = self.remote().map(str::to_owned);
        match (remote, head_sha) {
            (Some(remote), Some(head_sha)) if self.cruise.pushed.as_ref() != Some(&head_sha) => {
                round.step = RoundStep::Push;
                self.at(round);
                self.run.decide(Effect::Push {
                    sandbox: self.run.sandbox_id(),
                    remote,
                    branch: self.run.work.branch.clone().unwrap_or_default(),
                    head_sha,
                    published: self.cruise.pushed.clone(),
                });
            }
            _ => self.pushed(round),
        }
    }

    fn pushed(&mut self, mut round: Round) {
        if self.cruise.pushed != self.run.work.head_sha {
            self.cruise.pushed.clone_from(&self.run.work.head_sha);
            self.cruise.watch.caught = None;
        }
        self.cruise.moves = 0;
        self.active();
        let answered: Vec<(CommentKey, Answer)> = self
            .cruise
            .ledger
            .entries()
            .filter_map(|entry| {
                let answer = entry.life.answered()?;
                Some((entry.key.clone(), answer.clone()))
            })
            .collect();
        for (key, answer) in answered {
            self.cruise.ledger.set(&key, Life::Pushed { answer });
        }
        if self.run.work.pull_request.is_none() {
            let body = self.description();
            self.cruise.body.clone_from(&body);
            round.step = RoundStep::Open;
            self.at(round);
            self.run.decide(Effect::OpenPullRequest {
                branch: self.run.work.branch.clone().unwrap_or_default(),
                base: self.request.base_branch.clone().unwrap_or_default(),
                title: self.cruise.title.clone(),
                body,
                draft: false,
            });
        } else {
            self.describe();
            self.next_reply(round);
        }
    }

    /// The pull request is there: the watch begins.
    fn opened(&mut self, round: Round) {
        self.cruise.watch.fresh = false;
        self.active();
        self.next_reply(round);
    }

    pub(super) fn round_over(&mut self, round: &Round) {
        let is_held = self.cruise.hold.is_some();
        if let (RoundJob::Fix { .. }, Move::Fix { .. }, false) =
            (&round.job, &self.cruise.next, is_held)
        {
            self.cruise.next = self.cruise.review.fixed();
        }
        self.post_injected();
        self.close_batch();
    }

    fn work_failed(&mut self, round: Round, key: &EffectKey, effect: Effect, problem: Problem) {
        match round.step.clone() {
            RoundStep::Agent => {
                self.cruise.record.job_failed(&problem, self.now);
                match is_final(&problem) {
                    true => self.fail(problem),
                    false => self.fixer_failed(round, &problem, None),
                }
            }
            RoundStep::WritePlan
            | RoundStep::Commit
            | RoundStep::ReadPlan
            | RoundStep::Push
            | RoundStep::Open => self.try_again_or_fail(key, effect, problem),
            RoundStep::Reply { key: to } => match is_lost(&problem) {
                false => self.try_again(key, effect, &problem),
                true => {
                    self.warn(format!("a comment cannot be answered: {problem}"));
                    let why = problem.to_string();
                    self.cruise.ledger.set(&to, Life::Unanswerable { why });
                    self.next_reply(round);
                }
            },
            RoundStep::Resolve { .. } => {
                self.warn(format!("a thread could not be resolved: {problem}"));
                self.next_reply(round);
            }
        }
    }

    pub(super) fn warn(&mut self, warning: String) {
        if !self.run.warnings.contains(&warning) {
            self.run.warnings.push(warning);
        }
    }
}
