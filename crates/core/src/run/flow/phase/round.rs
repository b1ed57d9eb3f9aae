//! A round of the worker: an agent makes or fixes something; the result is committed, checked,
//! pushed and published, and each comment of the batch gets a reply.

use super::super::super::model::{
    CommitSummary, Effect, EffectResult, HoldFor, Landable, Life, Makes, OutcomeStatus, PLAN_PATH,
    Pause, PlanCheck, Publish, RollBackCost, Round, RoundJob, RoundStep, Stage,
};
use super::super::attempt::added_nothing;
use super::super::kit::{no_branch, no_commit};
use super::super::publish::{commit_message, nothing_changed};
use super::super::reply::is_lost;
use super::super::retry::is_final;
use super::super::shutdown::is_unpushed;
use super::PhaseFlow;
use super::texts::{DROPPED_MESSAGE, LEFT_MESSAGE, fix_message, plan_message};
use crate::agent::answer::{read_fixer, read_handoff, without_handoff};
use crate::agent::{AgentOutcome, Ending};
use crate::ids::EffectKey;
use crate::plan::{Plan, PlanErrors};
use crate::problem::{Class, Kind, Problem};
use crate::review::Move;

/// How many comments one fixer gets at once; the others wait for the next round.
const MOST_IN_BATCH: usize = 50;

impl PhaseFlow<'_> {
    /// Starts one fixer for all pending work: findings without a comment first, then comments.
    pub(in crate::run) fn fix(&mut self) {
        let number = self.state.rounds + 1;
        if let Some(Pause::Unsound { .. }) = self.state.pause {
            self.state.pause = None;
        }
        if self.state.findings.is_empty() && self.apply_suggestions(number) {
            return;
        }
        let findings = std::mem::take(&mut self.state.findings);
        let most = if findings.is_empty() {
            MOST_IN_BATCH
        } else {
            0
        };
        let batch = self.state.ledger.dispatch(number, most);
        let mut job = self.fixer(number, &batch, &findings);
        self.add_saved(&mut job);
        self.at(Round {
            number,
            job: RoundJob::Fix { batch, findings },
            step: RoundStep::Agent,
            head_before: self.run.work.head_sha.clone(),
            answers: Vec::new(),
        });
        let sandbox = Some(self.run.sandbox_id());
        self.start_agent(sandbox, job);
    }

    pub(in crate::run) fn at(&mut self, round: Round) {
        let round = Box::new(round);
        // The fixed commit will be offered again.
        self.state.landable = Landable::NotYet;
        self.state.stage = Stage::Working { round };
    }

    pub(in crate::run) fn worked(
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
            EffectResult::WorkCommitted {
                commits, changed, ..
            } => {
                self.measure(&round, &changed);
                if let Some(why) = self.is_beyond_plan(&round, &changed) {
                    self.run.work.head_sha.clone_from(&round.head_before);
                    return self.roll_back(round, why, RollBackCost::Try);
                }
                match self.strayed(&changed) {
                    Some(problem) => self.leave(OutcomeStatus::Failed, Some(problem)),
                    None => self.committed(round, &commits),
                }
            }
            EffectResult::FileRead { text } if matches!(round.step, RoundStep::Apply { .. }) => {
                self.apply_to(round, text.as_deref());
            }
            EffectResult::FileRead { text } => self.plan_read(round, text.as_deref()),
            EffectResult::Pushed => self.pushed(round),
            EffectResult::BranchMoved { .. } => self.branch_moved(round),
            EffectResult::PullRequestOpened { .. } => self.opened(round),
            EffectResult::OnForge { answer } => self.answered(round, &answer),
            EffectResult::Verified { base, report } => {
                if self.terms.is_on_line() {
                    self.verified_first(round, (key, effect), base, &report);
                } else {
                    self.round_verified(round, &effect, &base, &report);
                }
            }
            EffectResult::OnLine { answer } => self.line_moved(round, answer),
            EffectResult::RolledBack { kept } => self.rolled_back(round, kept),
            // Results of effects that no round decides.
            EffectResult::BranchChosen { .. }
            | EffectResult::SandboxCreated { .. }
            | EffectResult::ProcessEnded
            | EffectResult::DiffRead { .. }
            | EffectResult::Integrated { .. }
            | EffectResult::Replaced { .. }
            | EffectResult::Conflicted { .. }
            | EffectResult::Landed { .. }
            | EffectResult::Delivered
            | EffectResult::Notified
            | EffectResult::SandboxRemoved { .. } => {}
        }
    }

    fn agent_worked(&mut self, mut round: Round, outcome: &AgentOutcome) {
        let is_fixer = matches!(round.job, RoundJob::Fix { .. });
        let agent = if is_fixer {
            &self.terms.fixer
        } else {
            &self.request.agent
        };
        if let Some(problem) = outcome.problem_of(agent, &self.run.id) {
            return self.agent_failed(round, &problem, Some(&outcome.ending));
        }
        self.state.counts.failures = 0;
        self.state.saved = None;
        if is_fixer {
            self.state.rounds += 1;
            let answer = read_fixer(&outcome.text);
            round.answers = answer.map_or(Vec::new(), |answer| answer.comments);
        } else {
            self.agent_made(outcome);
        }
        self.commit(round);
    }

    /// Records what the first agent reported. Its summary is for people; a task's handoff is for
    /// other agents.
    fn agent_made(&mut self, outcome: &AgentOutcome) {
        if self.terms.scope.is_none() {
            self.state.summary.clone_from(&outcome.summary);
            return;
        }
        self.state.handoff = read_handoff(&outcome.text);
        self.state.summary = without_handoff(&outcome.summary).to_owned();
    }

    /// Handles a failed agent. Unfinished work must not go into the next commit: it is saved, and
    /// the sandbox is reset to the last commit. An outage of the model only costs time, and a
    /// used-up budget waits for more; a failure of the work costs a try.
    fn agent_failed(&mut self, round: Round, problem: &Problem, ending: Option<&Ending>) {
        let is_limit = ending.is_some_and(Ending::is_over_budget);
        let is_outage = is_limit || ending.is_some_and(|ending| self.is_held_outage(ending));
        let is_fixer = matches!(round.job, RoundJob::Fix { .. });
        let is_last = is_limit && self.overrun().is_some() && !self.waits_at_limits();
        if !is_fixer && (is_last || !is_outage) {
            if !is_limit && self.plans_again(ending) {
                return self.plan_again(round, problem, ending);
            }
            let status = ending.map_or(OutcomeStatus::Failed, OutcomeStatus::of_agent);
            return self.leave(status, Some(problem.clone()));
        }
        let mut cost = RollBackCost::Time;
        if !is_outage {
            cost = RollBackCost::Try;
            self.state.rounds += 1;
        }
        if !is_limit && (is_outage || self.terms.is_watched()) {
            self.hold(HoldFor::EveryAgent, problem.to_string(), ending);
        }
        self.roll_back(round, problem.to_string(), cost);
    }

    pub(in crate::run) fn commit(&mut self, mut round: Round) {
        let message = match &round.job {
            RoundJob::CatchUp => LEFT_MESSAGE.to_owned(),
            RoundJob::Make | RoundJob::Adopt | RoundJob::CheckBase => match self.terms.makes {
                Makes::Change { .. } => commit_message(&self.state.title, &self.request.task),
                Makes::Plan { .. } | Makes::Amendments { .. } => {
                    plan_message(&self.state.title, &self.request.task)
                }
                Makes::Whole { .. } => DROPPED_MESSAGE.to_owned(),
            },
            RoundJob::Fix { batch, findings } => {
                let entries = batch.iter().filter_map(|key| self.state.ledger.get(key));
                fix_message(round.number, entries, findings, &round.answers)
            }
        };
        round.step = RoundStep::Commit;
        let since = self.measured_since(&round);
        self.at(round);
        self.run.decide(Effect::CommitWork {
            sandbox: self.run.sandbox_id(),
            message,
            since,
        });
    }

    fn committed(&mut self, round: Round, commits: &[CommitSummary]) {
        if round.job == RoundJob::CatchUp {
            return self.bring_in(round);
        }
        let makes_change = matches!(self.terms.makes, Makes::Change { .. });
        let is_more = round.job == RoundJob::Make && added_nothing(self.run);
        if (commits.is_empty() || is_more) && (makes_change || round.job == RoundJob::Make) {
            let problem = nothing_changed(self.run, &self.request.agent);
            if round.job == RoundJob::Make && self.plans_again(None) {
                return self.plan_again(round, &problem, None);
            }
            return self.leave(OutcomeStatus::Failed, Some(problem));
        }
        self.check(round);
    }

    /// Checks the plan, if the phase makes one, and publishes.
    pub(in crate::run) fn check(&mut self, mut round: Round) {
        match self.terms.makes {
            Makes::Change { .. } | Makes::Whole { .. } => self.publish(round),
            Makes::Plan { .. } | Makes::Amendments { .. } => {
                let Some(commit) = self.head() else {
                    return self.fail(no_commit());
                };
                round.step = RoundStep::ReadPlan;
                self.at(round);
                self.run.decide(Effect::ReadFile {
                    sandbox: self.run.sandbox_id(),
                    commit,
                    path: PLAN_PATH.to_owned(),
                });
            }
        }
    }

    fn plan_read(&mut self, round: Round, text: Option<&str>) {
        let plan = match text.map(Plan::parse) {
            None => PlanCheck::Invalid {
                errors: PlanErrors::one(None, format!("no `{PLAN_PATH}` on the branch")),
            },
            Some(Ok(plan)) => PlanCheck::Valid { plan },
            Some(Err(errors)) => PlanCheck::Invalid { errors },
        };
        self.take_check(&round, plan);
        self.publish(round);
    }

    /// Publishes the commits that are not pushed yet.
    fn publish(&mut self, round: Round) {
        let head_sha = self.run.work.head_sha.clone();
        if self.terms.is_on_line() && self.state.pushed != head_sha {
            return self.verify_first(round);
        }
        if self.verifies(&round) {
            return self.verify_round(round);
        }
        self.push_round(round);
    }

    pub(super) fn push_round(&mut self, mut round: Round) {
        match (self.remote(), self.run.work.head_sha.clone()) {
            (Some(remote), Some(head_sha)) if self.state.pushed.as_ref() != Some(&head_sha) => {
                let Some(branch) = self.branch() else {
                    return self.fail(no_branch());
                };
                round.step = RoundStep::Push;
                self.at(round);
                let published = self.state.pushed.clone();
                self.push(remote, branch, head_sha, published);
            }
            _ => self.pushed(round),
        }
    }

    pub(super) fn pushed(&mut self, mut round: Round) {
        if self.state.pushed != self.run.work.head_sha {
            self.state.pushed.clone_from(&self.run.work.head_sha);
            self.state.watch.caught = None;
        }
        if round.job != RoundJob::CatchUp {
            self.state.counts.moves = 0;
        }
        self.active();
        self.enter_answers(&mut round);
        if self.run.work.pull_request.is_some() {
            self.describe();
            return self.next_reply(round);
        }
        match (&self.request.publish, &self.request.base_branch) {
            (Publish::PullRequest { .. }, Some(base)) => {
                let Some(branch) = self.branch() else {
                    return self.fail(no_branch());
                };
                let body = self.description();
                self.state.description.text.clone_from(&body);
                round.step = RoundStep::Open;
                self.at(round);
                self.run.decide(Effect::OpenPullRequest {
                    branch,
                    base: base.clone(),
                    title: self.state.title.clone(),
                    body,
                    draft: self.is_draft(),
                });
            }
            (Publish::PullRequest { .. }, None) | (Publish::BranchOnly, _) => {
                self.next_reply(round);
            }
        }
    }

    /// Continues after the pull request was opened: people can comment from now on.
    fn opened(&mut self, round: Round) {
        self.state.watch.fresh = false;
        self.active();
        self.next_reply(round);
    }

    pub(in crate::run) fn round_over(&mut self, round: &Round) {
        let is_held = self.holds(HoldFor::EveryAgent);
        if let (RoundJob::Fix { .. }, Move::Fix, false) = (&round.job, &self.state.next, is_held) {
            self.state.next = self.after_fix();
        }
        self.post_injected();
        self.stop_correcting(round);
        self.close_batch();
    }

    /// Whether a team gives up on the comments of this round.
    fn is_given_up(&self, round: &Round, problem: &Problem) -> bool {
        let is_fixer = matches!(round.job, RoundJob::Fix { .. });
        let is_stop = problem.class() == Class::Interrupted;
        is_fixer && !is_stop && !self.terms.is_watched() && self.is_enough(problem)
    }

    fn work_failed(&mut self, round: Round, key: &EffectKey, effect: Effect, problem: Problem) {
        match round.step.clone() {
            RoundStep::Apply { .. } => self.leave_to_fixer(round),
            RoundStep::Agent if problem.kind == Kind::AgentInterrupted => {
                self.state.record.job_failed(key, &problem, self.now);
                self.roll_back(round, problem.to_string(), RollBackCost::Time);
            }
            RoundStep::Agent => {
                self.state.record.job_failed(key, &problem, self.now);
                let is_fixer = matches!(round.job, RoundJob::Fix { .. });
                let is_stop = problem.class() == Class::Interrupted;
                let is_worse = is_final(&problem) && (self.terms.is_watched() || is_stop);
                let is_retried = is_fixer || self.plans_again(None);
                if is_retried && !is_worse {
                    self.agent_failed(round, &problem, None)
                } else {
                    self.fail(problem)
                }
            }
            // A person must rewrite or allow the commits. A watched phase waits for that.
            RoundStep::Push if is_unpushed(problem.kind) => {
                if self.terms.is_watched() {
                    self.try_again(key, effect, &problem);
                } else {
                    self.stop(OutcomeStatus::NeedsHuman, problem);
                }
            }
            // A comment whose fix cannot be committed does not end a team.
            RoundStep::Commit if self.is_given_up(&round, &problem) => {
                self.state.tries = 0;
                self.agent_failed(round, &problem, None);
            }
            // Nothing may be committed on top of unfinished work.
            RoundStep::RollBack { .. } if self.is_enough(&problem) => {
                self.stop(OutcomeStatus::NeedsHuman, problem);
            }
            RoundStep::Verify | RoundStep::VerifyBefore if !self.terms.is_on_line() => {
                self.round_unverified(round, key, effect, problem);
            }
            RoundStep::WritePlan
            | RoundStep::DropPlan
            | RoundStep::Verify
            | RoundStep::VerifyBefore
            | RoundStep::Land
            | RoundStep::Commit
            | RoundStep::RollBack { .. }
            | RoundStep::ReadPlan
            | RoundStep::Push
            | RoundStep::Open => self.try_again_or_fail(key, effect, problem),
            RoundStep::Reply { key: to } => {
                let is_over =
                    is_lost(&problem) || (!self.terms.is_watched() && self.is_enough(&problem));
                if !is_over {
                    return self.try_again(key, effect, &problem);
                }
                self.state.tries = 0;
                self.warn(format!("could not reply to a comment: {problem}"));
                let why = problem.to_string();
                self.state.ledger.set(&to, Life::Unanswerable { why });
                self.next_reply(round);
            }
            RoundStep::Resolve { .. } => {
                self.warn(format!("could not resolve a thread: {problem}"));
                self.next_reply(round);
            }
        }
    }
}
