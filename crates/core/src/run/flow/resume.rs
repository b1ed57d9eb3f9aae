//! Continues a run that was stopped, lost its owner or used up its budget.
//!
//! The run keeps its id, branch and pull request: it gets a new sandbox, and its flow repeats the
//! step it was stopped in. The journal stays valid: verdicts belong to their commits, and earlier
//! posts are found by their idempotency keys.

use super::super::model::{
    Counts, Effect, EffectResult, Flow, ForgeAct, Landable, Life, OutcomeStatus, PostKey, Posting,
    Remark, ResumeStep, Resumption, Round, RoundJob, RoundStep, Run, Stage,
};
use super::phase::{self, PhaseFlow};
use super::retry::keep_key;
use super::setup::sandbox_spec;
use super::{cruise, shutdown, spawn};
use crate::agent::Budget;
use crate::agent::answer::title_of;
use crate::ids::CommitSha;
use crate::problem::{Kind, Problem};
use crate::time::Timestamp;

/// Why a run cannot continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotResumable {
    /// The run has not ended.
    Active,
    /// The run ended for good.
    Over(OutcomeStatus),
    /// The run's budget is used up, and no more was granted.
    OverBudget,
}

/// Checks whether a run can continue with this additional budget.
pub fn require_resumable(run: &Run, granted: Option<Budget>) -> Result<(), NotResumable> {
    let Some(outcome) = &run.outcome else {
        return Err(NotResumable::Active);
    };
    let is_half_resumed = step_under_way(run).is_some();
    if !is_half_resumed && !shutdown::can_go_on(run, outcome.failure.as_ref()) {
        return Err(NotResumable::Over(outcome.status));
    }
    let mut after = run.clone();
    if let Some(more) = granted {
        after.grant(more);
    }
    let spent = after.spent;
    match after.budget().overrun(spent.usage, spent.cost) {
        Some(_) => Err(NotResumable::OverBudget),
        None => Ok(()),
    }
}

/// The current step of a resumption, before the flow continues.
pub(super) fn step_under_way(run: &Run) -> Option<ResumeStep> {
    run.resumption.as_ref().and_then(|one| one.step)
}

/// Stores the post of a review or a summary before a stop drops the pending effects, so that its
/// key finds it again.
pub(super) fn suspend(run: &mut Run) {
    // During a shutdown or a resumption, the pending posts are other comments.
    if run.shutdown.is_some() || step_under_way(run).is_some() {
        return;
    }
    let Flow::Phase { phase: state } = &mut run.flow else {
        return;
    };
    let is_summary = matches!(state.stage, Stage::PostingSummary { .. });
    let (Stage::PostingReview { stopped, .. } | Stage::PostingSummary { stopped }) =
        &mut state.stage
    else {
        return;
    };
    let is_post = |act: &ForgeAct, key: Option<&PostKey>| match act {
        ForgeAct::Summarize { .. } => is_summary,
        ForgeAct::PostReview { .. } => !is_summary,
        ForgeAct::PostComment { .. } => {
            let is_step = |key: &PostKey| matches!(key, PostKey::Step(_));
            !is_summary && key.is_none_or(is_step)
        }
        ForgeAct::Poll { .. }
        | ForgeAct::React { .. }
        | ForgeAct::Reply { .. }
        | ForgeAct::ResolveThread { .. }
        | ForgeAct::UpdateBody { .. }
        | ForgeAct::MarkReady
        | ForgeAct::Merge { .. }
        | ForgeAct::SetStatus { .. } => false,
    };
    let pending = run.pending.iter().find_map(|(key, effect)| {
        let Effect::OnForge {
            act,
            idempotency_key,
            ..
        } = effect
        else {
            return None;
        };
        let mut effect = effect.clone();
        keep_key(&mut effect, key);
        is_post(act, idempotency_key.as_ref()).then_some(effect)
    });
    let retry = state.retry.take().map(|retry| retry.effect);
    *stopped = retry.or(pending).map(Box::new);
}

/// Continues the run.
pub(super) fn resumed(
    run: &mut Run,
    granted: Option<Budget>,
    now: Timestamp,
) -> Result<(), NotResumable> {
    require_resumable(run, granted)?;
    if let Some(more) = granted {
        run.grant(more);
    }
    if let Flow::Cruise { .. } = run.flow {
        run.outcome = None;
        run.shutdown = None;
        cruise::plan_again(run);
        return Ok(());
    }
    start_over(run, None, now);
    Ok(())
}

/// Begins again with a new sandbox on the branch. `follows` is the commit that a new task builds on.
pub(super) fn start_over(run: &mut Run, follows: Option<CommitSha>, now: Timestamp) {
    let stopped = run.shutdown.take();
    let before = run.resumption.take().unwrap_or_default();
    // The last resumption was stopped before the flow continued, so no agent knows of the saved work yet.
    let untold = before.saved.filter(|_| before.step.is_some());
    run.resumption = Some(Resumption {
        count: before.count + 1,
        step: None,
        saved: stopped.and_then(|stopped| stopped.saved).or(untold),
        follows: follows.or(before.follows),
    });
    run.outcome = None;
    run.stop_asked = false;
    let left: Vec<_> = run.processes.values().cloned().collect();
    if left.is_empty() {
        remove_sandbox(run, now);
    } else {
        at(run, ResumeStep::EndingProcesses);
    }
    for identity in left {
        run.decide(Effect::EndProcess { identity });
    }
}

/// Saves the work in the leftover sandbox, if there is one.
fn remove_sandbox(run: &mut Run, now: Timestamp) {
    let sandbox = run.sandbox_id();
    if run.sandboxes.contains_key(&sandbox) {
        at(run, ResumeStep::RemovingSandbox);
        run.decide(Effect::RemoveSandbox { sandbox });
    } else {
        create_sandbox(run, now);
    }
}

fn at(run: &mut Run, step: ResumeStep) {
    run.resumption.get_or_insert_default().step = Some(step);
}

/// Handles the result of a resumption step.
pub(super) fn ended(run: &mut Run, step: ResumeStep, result: EffectResult, now: Timestamp) {
    let mut failure = None;
    if let EffectResult::Failed { problem } = &result {
        failure = Some(problem.clone());
    }
    match (step, failure) {
        (ResumeStep::EndingProcesses, None) => {
            if run.pending.is_empty() {
                remove_sandbox(run, now);
            }
        }
        (ResumeStep::RemovingSandbox, None) => {
            if let (
                EffectResult::SandboxRemoved {
                    kept: Some(kept), ..
                },
                Some(resumption),
            ) = (result, &mut run.resumption)
            {
                resumption.saved = Some(kept.sha);
            }
            create_sandbox(run, now);
        }
        (ResumeStep::CreatingSandbox, None) => {
            at(run, ResumeStep::ReadingBranch);
            let sandbox = run.sandbox_id();
            let message = "Save uncommitted changes of the sandbox".to_owned();
            run.decide(Effect::CommitWork {
                sandbox,
                message,
                since: Vec::new(),
            });
        }
        (ResumeStep::ReadingBranch, None) => {
            // A person may have moved the branch, even back to its base.
            if let EffectResult::WorkCommitted { head_sha, .. } = result {
                run.work.head_sha = Some(head_sha);
            }
            say_resumed(run, now);
        }
        (ResumeStep::Posting, problem) => {
            if let Some(problem) = problem {
                let warning = format!("could not post that the run continues: {problem}");
                run.warnings.push(warning);
            }
            go_on(run, now);
        }
        // The step stays recorded, so the run can be resumed again.
        (_, Some(problem)) => {
            let status = OutcomeStatus::of_problem(&problem);
            shutdown::abandon(run, status, Some(problem), now);
        }
    }
}

/// Creates a sandbox on the run's branch. A run without a commit has no branch any more and begins again.
fn create_sandbox(run: &mut Run, now: Timestamp) {
    let (Some(request), Some(branch)) = (run.request.clone(), run.work.branch.clone()) else {
        return begin_again(run, now);
    };
    at(run, ResumeStep::CreatingSandbox);
    let mut spec = sandbox_spec(run, &request, &branch);
    spec.on_existing_branch = true;
    run.decide(Effect::CreateSandbox { spec });
}

fn begin_again(run: &mut Run, now: Timestamp) {
    if let Some(resumption) = &mut run.resumption {
        resumption.step = None;
    }
    let Some(request) = run.request.clone() else {
        return;
    };
    match &run.flow {
        Flow::Awaiting | Flow::Cruise { .. } => {}
        Flow::Spawn { .. } => spawn::begin(run, &request, now),
        Flow::Phase { .. } => phase::advance(run, now, |flow| flow.begin_again()),
    }
}

fn say_resumed(run: &mut Run, now: Timestamp) {
    let Some(pr) = run.work.pull_request.as_ref().map(|pr| pr.number) else {
        return go_on(run, now);
    };
    at(run, ResumeStep::Posting);
    let count = run.resumption.as_ref().map_or(0, |one| one.count);
    let resumption = run.resumption.as_ref();
    let is_more = resumption.is_some_and(|one| one.follows.is_some());
    let request = run.request.as_ref().filter(|_| is_more);
    let body = match request.map(|request| title_of(&request.task)) {
        Some(title) => format!("Run `{}` continues: {title}", run.id),
        None => format!("Run `{}` continues.", run.id),
    };
    run.decide(Effect::OnForge {
        pr,
        act: ForgeAct::PostComment { body },
        idempotency_key: Some(PostKey::Step(format!("resumed/{count}"))),
    });
}

fn go_on(run: &mut Run, now: Timestamp) {
    if let Some(resumption) = &mut run.resumption {
        resumption.step = None;
    }
    match &run.flow {
        Flow::Awaiting | Flow::Cruise { .. } => {}
        Flow::Spawn { stage } => spawn::go_on(run, stage.clone(), now),
        Flow::Phase { .. } => phase::advance(run, now, |flow| flow.go_on_after_stop()),
    }
}

impl PhaseFlow<'_> {
    /// Begins the phase again with its name, because nothing was committed.
    fn begin_again(&mut self) {
        self.forget_attempt();
        self.state.stage = Stage::Naming;
        self.name();
    }

    /// Repeats the step that the stop interrupted, on the current branch.
    fn go_on_after_stop(&mut self) {
        self.forget_attempt();
        if self.terms.is_watched() {
            self.active();
        }
        if self.run.work.pull_request.is_some() {
            // The stop lost the update of the description that was in progress.
            self.state.description.text.clear();
            self.describe();
        }
        match self.state.stage.clone() {
            Stage::Naming | Stage::ChoosingBranch | Stage::CreatingSandbox => self.make(),
            Stage::Working { round } => self.repeat(*round),
            Stage::Merging { round, .. } => match round.job {
                RoundJob::Make | RoundJob::Fix { .. } | RoundJob::Adopt => self.check(*round),
                RoundJob::CatchUp | RoundJob::CheckBase => self.look_again(),
            },
            Stage::PostingReview {
                remarks,
                rest,
                stopped,
            } => self.post_again(stopped, remarks, rest),
            Stage::PostingSummary {
                stopped: Some(post),
            } => {
                self.state.stage = Stage::PostingSummary { stopped: None };
                self.run.decide(*post);
            }
            Stage::PostingSummary { stopped: None } => self.look_again(),
            Stage::Polling
            | Stage::ReadingDiff
            | Stage::Reviewing { .. }
            | Stage::Refuting { .. }
            | Stage::PostingLimit
            | Stage::Watching
            | Stage::Closing { .. }
            | Stage::CheckingContract
            | Stage::Judging
            | Stage::CheckingClaims
            | Stage::Announcing { .. }
            | Stage::Verifying
            | Stage::Promoting
            | Stage::Landing => self.look_again(),
        }
    }

    /// Resets what was only true before the stop: waits, tries and the known state of the pull
    /// request's head.
    fn forget_attempt(&mut self) {
        let interrupted = Problem::new(Kind::AgentInterrupted, "the run was stopped");
        self.state.record.interrupted(&interrupted, self.now);
        self.state.pause = None;
        self.state.tries = 0;
        self.state.counts = Counts::default();
        self.state.verdict = None;
        self.state.end = None;
        let is_merging = matches!(self.state.stage, Stage::Promoting | Stage::Landing);
        if !is_merging && self.state.merged.is_none() {
            // Otherwise the verdict tells what may have landed meanwhile.
            self.state.judged = None;
        }
        self.state.landable = Landable::NotYet;
        self.state.watch.fresh = false;
        self.state.watch.asking = None;
        self.state.watch.closing = None;
        self.state.watch.moved = None;
        self.state.watch.caught = None;
        for one in &mut self.state.injected {
            one.posting = false;
        }
        self.state.retry = None;
    }

    fn look_again(&mut self) {
        self.state.stage = Stage::Watching;
        self.close_batch();
    }

    fn repeat(&mut self, round: Round) {
        match &round.step {
            RoundStep::Commit if self.is_committed(&round) => self.check(round),
            // Uncommitted work was saved, and the next agent is told where.
            RoundStep::WritePlan
            | RoundStep::DropPlan
            | RoundStep::Apply { .. }
            | RoundStep::Agent
            | RoundStep::Commit
            | RoundStep::RollBack { .. } => self.repeat_agent(round),
            RoundStep::ReadPlan
            | RoundStep::Verify
            | RoundStep::VerifyBefore
            | RoundStep::Land
            | RoundStep::Push
            | RoundStep::Open => self.check(round),
            RoundStep::Reply { .. } => self.next_reply(round),
            RoundStep::Resolve { key } => {
                let comment = key.comment();
                self.on_forge(ForgeAct::ResolveThread { comment }, None);
            }
        }
    }

    /// Whether the stop came after the commit: the branch moved, and nothing had to be saved.
    fn is_committed(&self, round: &Round) -> bool {
        let resumption = self.run.resumption.as_ref();
        let is_saved = resumption.is_some_and(|one| one.saved.is_some());
        !is_saved && self.run.work.head_sha != round.head_before
    }

    fn repeat_agent(&mut self, round: Round) {
        match round.job {
            RoundJob::Make => self.make(),
            RoundJob::Fix { batch, findings } => {
                for key in &batch {
                    self.state.ledger.untry(key);
                    self.state.ledger.give_back(key, Life::Seen);
                }
                self.state.findings.extend(findings);
                let resumption = self.run.resumption.as_ref();
                if let Some(saved) = resumption.and_then(|one| one.saved.clone()) {
                    self.state.saved = Some(saved);
                }
                self.look_again();
            }
            RoundJob::Adopt | RoundJob::CatchUp | RoundJob::CheckBase => self.look_again(),
        }
    }

    /// Repeats the post of a review. If it was posted, its key finds it.
    fn post_again(
        &mut self,
        stopped: Option<Box<Effect>>,
        remarks: Vec<Remark>,
        rest: Vec<Posting>,
    ) {
        match stopped {
            Some(post) => {
                self.run.decide(*post);
            }
            None => {
                self.state.findings.extend(remarks);
                self.next_review_post(rest);
            }
        }
    }
}
