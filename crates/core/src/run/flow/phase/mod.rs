//! The flow of a phase: one sandbox, one branch and one pull request.
//!
//! Two activities run at the same time. The *worker* makes, reviews and fixes, one step at a time
//! ([`Stage`]). The *watch* polls the pull request and enters people's comments in the ledger. A
//! team ends with its reviews; a watched phase keeps its sandbox across agents and owners and ends
//! with a merge, a close, an approval, the inactivity timeout or `drive cruise cleanup`.

mod asks;
mod checks;
mod description;
mod ending;
mod findings_text;
mod fixer;
mod gaps;
mod hearing;
mod judging;
mod landed;
mod landing_rule;
mod making;
mod measuring;
mod merge;
mod next;
mod opinion;
mod outcome_text;
mod queue;
mod record_text;
mod retry;
mod rolling_back;
mod round;
mod suggesting;
mod summary_text;
mod texts;
mod unsound;
mod watch;
mod whole;
mod whole_text;
mod worse;

pub(super) use ending::post;
pub use landing_rule::against_landing;
pub(super) use texts::{merged_unheard, objected};
pub(super) use whole_text::receipts;

use super::super::model::{
    AgentJob, Ci, Counts, Description, Effect, EffectResult, Flow, ForgeAct, Landable, Ledger,
    Makes, OutcomeStatus, PLAN_PATH, Phase, PhaseTerms, PlanCheck, PostKey, Record, Request, Run,
    Stage, Threads, Timer, Watch, Whole,
};
use super::kit::Context;
use super::outage::is_outage;
use crate::agent::answer::title_of;
use crate::agent::{Access, Role};
use crate::ids::{EffectKey, SandboxId};
use crate::phase::PhaseName;
use crate::problem::{Kind, Problem};
use crate::review::Move;
use crate::time::Timestamp;

/// One step of a phase.
pub(super) type PhaseFlow<'a> = Context<'a, Box<Phase>, PhaseTerms>;

/// Begins with a title and a branch name, or with the facts of a phase whose journal was lost.
pub(super) fn begin(run: &mut Run, request: &Request, terms: &PhaseTerms, now: Timestamp) {
    let state = Box::new(Phase {
        name: match terms.makes {
            Makes::Change { .. } => PhaseName::Building,
            Makes::Plan { .. } | Makes::Amendments { .. } => PhaseName::Planning,
            Makes::Whole { .. } => PhaseName::Validating,
        },
        stage: Stage::Naming,
        title: title_of(&request.task),
        summary: String::new(),
        next: terms.review_plan().first(),
        given: Vec::new(),
        plan: PlanCheck::Unread,
        ledger: Ledger::default(),
        findings: Vec::new(),
        threads: Threads::default(),
        watch: Watch::new(terms.watch.as_ref(), now),
        rounds: 0,
        extra_rounds: 0,
        pushed: None,
        counts: Counts::default(),
        description: Description::default(),
        summary_comment: None,
        injected: Vec::new(),
        pause: None,
        retry: None,
        tries: 0,
        saved: None,
        verdict: None,
        end: None,
        ci: Ci::default(),
        judged: None,
        verified: Vec::new(),
        merged: None,
        concludes: false,
        landable: Landable::default(),
        landed: None,
        outside: Vec::new(),
        tests: Vec::new(),
        handoff: None,
        whole: Whole::default(),
        record: Record::default(),
    });
    let mut flow = Context {
        run,
        state,
        terms,
        request,
        now,
    };
    match (&terms.adopted, terms.taken_over()) {
        (Some(adopted), _) => flow.adopt(adopted),
        (None, Some((head, pull_request))) => flow.take_over(head, pull_request),
        (None, None) => flow.name(),
    }
    flow.put_back();
}

/// Prepares a phase for a new task: its first agent works again, and every domain reviews again.
pub(super) fn ask_for_more(phase: &mut Phase, task: &str, first: Move) {
    phase.stage = Stage::Naming;
    phase.title = title_of(task);
    phase.next = first;
    phase.summary.clear();
    phase.given.clear();
    phase.findings.clear();
    phase.judged = None;
    phase.merged = None;
}

/// Takes the phase out of its run, lets it act, and puts it back.
pub(super) fn advance(run: &mut Run, now: Timestamp, act: impl FnOnce(&mut PhaseFlow<'_>)) {
    let Some(request) = run.request.clone() else {
        return;
    };
    let Some(terms) = request.kind.phase_terms() else {
        return;
    };
    match std::mem::replace(&mut run.flow, Flow::Awaiting) {
        Flow::Phase { phase } => {
            let mut flow = Context {
                run,
                state: phase,
                terms,
                request: &request,
                now,
            };
            act(&mut flow);
            flow.put_back();
        }
        other @ (Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. }) => run.flow = other,
    }
}

impl PhaseFlow<'_> {
    fn put_back(self) {
        self.run.flow = Flow::Phase { phase: self.state };
    }

    pub(super) fn ended(&mut self, key: &EffectKey, effect: Effect, result: EffectResult) {
        if let Effect::OnForge {
            act,
            idempotency_key,
            ..
        } = &effect
        {
            let is_closing = matches!(self.state.stage, Stage::Closing { .. });
            if let ForgeAct::Poll { since, .. } = act {
                let is_whole = since.is_none();
                if is_closing {
                    return self.last_read(key, effect, result);
                }
                return self.polled(is_whole, result);
            }
            if let ForgeAct::React { .. } = act {
                return self.react_next();
            }
            let aside = idempotency_key.as_ref().filter(|key| key.is_aside());
            if let Some(key) = aside.filter(|_| !is_closing) {
                return self.was_said(key, &result);
            }
            if let (ForgeAct::UpdateBody { .. }, false) = (act, is_closing) {
                return self.described(&result);
            }
            if let Some(PostKey::Injected(id)) = idempotency_key {
                return self.injected_posted(id, result);
            }
        }
        // The agent's own effect reports the agent's end.
        if let Effect::EndProcess { .. } = effect {
            return;
        }
        if let EffectResult::AgentEnded { outcome, .. } = &result {
            self.state.record.job_ended(key, outcome, self.now);
            self.state.watch.fresh = false;
            if !is_outage(&outcome.ending) {
                self.active();
            }
            let is_cancelled = OutcomeStatus::of_agent(&outcome.ending) == OutcomeStatus::Cancelled;
            if is_cancelled && !self.terms.is_watched() {
                let problem = Problem::new(Kind::Interrupted, "stopped on request");
                return self.leave(OutcomeStatus::Cancelled, Some(problem));
            }
        }
        if !matches!(result, EffectResult::Failed { .. }) {
            self.state.tries = 0;
        }
        match self.state.stage.clone() {
            Stage::Naming => self.named(key, &result),
            Stage::ChoosingBranch => self.branch_chosen(result),
            Stage::CreatingSandbox => self.sandbox_created(&effect, result),
            Stage::Working { round } => self.worked(*round, key, effect, result),
            Stage::Merging { merge, round } => self.merged_in(*merge, *round, key, effect, result),
            Stage::ReadingDiff => self.diff_read(key, effect, result),
            Stage::Reviewing { panel } => self.reviewed(*panel, key, &result),
            Stage::Refuting { diff, lines } => self.refuted((&diff, &lines), key, &result),
            Stage::PostingReview { remarks, rest, .. } => {
                self.review_posted((remarks, rest), key, effect, result);
            }
            Stage::PostingSummary { .. } => self.summary_posted(key, effect, result),
            Stage::PostingLimit => self.limit_posted(key, effect, result),
            Stage::Closing {
                posts,
                status,
                failure,
                ..
            } => self.closing_posted((posts, status, failure), key, effect, &result),
            Stage::CheckingContract => self.contract_checked(key, effect, result),
            Stage::Judging => self.validator_ended(key, &result),
            Stage::CheckingClaims => self.claims_checked(key, effect, result),
            Stage::Announcing { posts } => self.announced(posts, (key, effect), &result),
            Stage::Verifying => self.verified(result),
            Stage::Promoting => self.merged((key, effect), result),
            Stage::Landing => self.landed(result),
            // The worker has no pending effect in these stages.
            Stage::Polling | Stage::Watching => {}
        }
    }

    pub(super) fn woken(&mut self, timer: Timer) {
        match timer {
            Timer::Poll => self.poll(),
            Timer::Inactivity => self.silence(),
            Timer::Hold => {
                self.state.pause = None;
                self.state.watch.fresh = false;
                self.merge_again();
                self.go_on();
            }
            // A phase ends with its cruise.
            Timer::Age => {}
            Timer::Retry => {
                if let Some(retry) = self.state.retry.take() {
                    self.run.decide(retry.effect);
                }
            }
        }
    }

    /// Restarts the inactivity timeout after activity.
    pub(super) fn active(&mut self) {
        self.state.watch.last_activity = self.state.watch.last_activity.max(self.now);
        if self.run.work.pull_request.is_some() || self.state.limit().is_some() {
            self.wait_for_silence();
        }
    }

    /// Starts an agent and adds its job to the record.
    pub(super) fn start_agent(&mut self, sandbox: Option<SandboxId>, job: AgentJob) -> EffectKey {
        let job = Box::new(job);
        let key = self.run.decide(Effect::RunAgent {
            sandbox,
            job: job.clone(),
        });
        self.state.record.job_started(&key, &job, self.now);
        key
    }

    /// A job of this phase, with the path of the plan and the write-protected files.
    pub(super) fn phase_job(&self, agent: &str, role: Role, prompt: String) -> AgentJob {
        let mut job = self.job(agent, role, prompt);
        if let (Access::Write, Some(scope)) = (role.access(), &self.terms.scope) {
            job.held = scope.held();
        }
        if self.terms.is_about_plan() {
            job.input.plan_path = Some(PLAN_PATH.to_owned());
        }
        job
    }

    pub(super) fn give_up(&mut self, result: EffectResult) {
        if let EffectResult::Failed { problem } = result {
            self.fail(problem);
        }
    }

    /// Ends the phase because a step that it needs failed.
    pub(super) fn fail(&mut self, problem: Problem) {
        let status = OutcomeStatus::of_problem(&problem);
        if status == OutcomeStatus::Cancelled {
            return self.leave(status, Some(problem));
        }
        self.stop(status, problem);
    }
}
