//! Handles commits of other people: a push to the branch, a rewrite of it, or a moved base.

use super::super::super::model::{
    AgentJob, BranchAt, DoneWhen, Effect, EffectResult, HoldFor, Life, Merge, MergeStep, MergeWhen,
    OutcomeStatus, Round, RoundJob, RoundStep, Stage,
};
use super::super::kit::{no_branch, no_commit};
use super::super::merge::{Merging, unresolved};
use super::super::outage::is_outage;
use super::super::publish::branch_moved;
use super::PhaseFlow;
use crate::agent::{Ending, Failure, Role};
use crate::ids::{CommitSha, EffectKey};
use crate::problem::{Kind, Problem};
use crate::prompts::Prompt;
use crate::review::{LastWord, Move};
use crate::settings::TeamMode;

/// How often the branch may move while the same work is being pushed.
const MOST_MOVES: u32 = 3;
/// The same limit while tasks land on the branch.
const MOST_MOVES_OF_LINE: u32 = 20;
/// How often the base is checked for conflicts before the end.
const MOST_BASE_CHECKS: u32 = 3;

impl PhaseFlow<'_> {
    /// Merges other people's commits on the branch, and retries the push.
    pub(super) fn branch_moved(&mut self, round: Round) {
        let Some(branch) = self.branch() else {
            return self.fail(no_branch());
        };
        let most = match self.terms.done() {
            DoneWhen::Asked => MOST_MOVES_OF_LINE,
            DoneWhen::Reviewed { .. }
            | DoneWhen::Approved(_)
            | DoneWhen::Merged { .. }
            | DoneWhen::Landed { .. } => MOST_MOVES,
        };
        if self.state.counts.moves >= most {
            let problem = branch_moved(&branch).cause(format!("it moved {most} times in a row"));
            return self.stop(OutcomeStatus::NeedsHuman, problem);
        }
        self.state.counts.moves += 1;
        self.bring_in(round);
    }

    /// Merges the head of the pull request, which is not our commit: a person pushed while the
    /// worker was idle.
    pub(super) fn catch_up(&mut self, head: CommitSha) {
        self.state.watch.caught = Some(head);
        self.take_in();
    }

    /// Whether a person committed to the local branch during a review, so that their commits must
    /// be merged and the new head reviewed. False after that happened too often. Reviewers that
    /// work at the same time report the same commits only once.
    pub(in crate::run) fn is_overtaken(&mut self, problem: &Problem, is_known: bool) -> bool {
        let is_moved = problem.kind == Kind::BranchMoved;
        let is_bounded = is_known || self.state.counts.moves < MOST_MOVES;
        if is_moved && !is_known && is_bounded {
            self.state.counts.moves += 1;
        }
        is_moved && is_bounded
    }

    /// Merges new commits of the branch, from here and from the remote.
    pub(in crate::run) fn take_in(&mut self) {
        // Uncommitted changes in the sandbox must not prevent the merge. Without a remote, the
        // person committed in the sandbox itself, so nothing is rolled back here.
        self.commit(Round {
            number: self.state.rounds,
            job: RoundJob::CatchUp,
            step: RoundStep::Commit,
            head_before: self.run.work.head_sha.clone(),
            answers: Vec::new(),
        });
    }

    /// Merges the remote's version of the branch.
    pub(super) fn bring_in(&mut self, round: Round) {
        let Some(branch) = self.branch() else {
            return self.fail(no_branch());
        };
        let remote = self.remote();
        let from = BranchAt { remote, branch };
        let published = self.state.pushed.clone();
        self.merge_in(from, MergeWhen::Always, published, round);
    }

    /// Checks for conflicts with the base before a phase succeeds. Returns whether a check is in
    /// progress.
    pub(super) fn check_base(&mut self) -> bool {
        let ends_well = match (self.terms.done(), self.last_word()) {
            (DoneWhen::Approved(_), _) | (_, LastWord::Approved) => true,
            (_, LastWord::NeedsChanges) => self.terms.mode == TeamMode::Sequential,
            (_, LastWord::Inconclusive) => false,
        };
        let has_pr = self.run.work.pull_request.is_some();
        let Some(base) = self.base().filter(|_| ends_well && has_pr) else {
            return false;
        };
        if self.state.counts.base_checks >= MOST_BASE_CHECKS {
            return false;
        }
        self.state.counts.base_checks += 1;
        let round = Round {
            number: self.state.rounds,
            job: RoundJob::CheckBase,
            step: RoundStep::Push,
            head_before: self.run.work.head_sha.clone(),
            answers: Vec::new(),
        };
        self.merge_in(base, MergeWhen::Conflicting, None, round);
        true
    }

    fn merge_in(
        &mut self,
        from: BranchAt,
        when: MergeWhen,
        published: Option<CommitSha>,
        round: Round,
    ) {
        let base = self.base();
        let merge = Merge::begin(self.run, from, when, base, published);
        self.merging(merge, round);
    }

    fn merging(&mut self, merge: Merge, round: Round) {
        let (merge, round) = (Box::new(merge), Box::new(round));
        self.state.stage = Stage::Merging { merge, round };
    }

    /// Handles the result of a merge. Conflicts start a round of the fixer; conflicts that no agent
    /// can resolve need a person.
    pub(super) fn merged_in(
        &mut self,
        mut merge: Merge,
        round: Round,
        key: &EffectKey,
        effect: Effect,
        result: EffectResult,
    ) {
        if let EffectResult::Failed { problem } = &result {
            match &merge.step {
                MergeStep::Merging if self.terms.is_watched() || !self.is_enough(problem) => {
                    return self.try_again_or_fail(key, effect, problem.clone());
                }
                MergeStep::Resolving { .. } => {
                    self.state.record.job_failed(key, problem, self.now);
                }
                MergeStep::Merging
                | MergeStep::Concluding { .. }
                | MergeStep::RollingBack { .. }
                | MergeStep::Restarting
                | MergeStep::Held => {}
                MergeStep::PostingLimit => return self.try_again(key, effect, problem),
            }
        }
        if let (MergeStep::Resolving { ours, .. }, EffectResult::AgentEnded { outcome, .. }) =
            (merge.step.clone(), &result)
        {
            match outcome.problem_of(&self.terms.fixer, &self.run.id) {
                Some(problem) if is_outage(&outcome.ending) => {
                    if self.is_held_outage(&outcome.ending) {
                        let why = problem.to_string();
                        self.hold(HoldFor::EveryAgent, why, Some(&outcome.ending));
                        merge.put_off(self.run, ours);
                    } else {
                        merge.roll_back(self.run, ours, problem);
                    }
                    return self.merging(merge, round);
                }
                // Half-written files must not be taken for a resolution.
                Some(_) if is_cut_short(&outcome.ending) => {
                    if outcome.ending.is_over_budget() {
                        merge.put_off(self.run, ours)
                    } else {
                        merge.restart(self.run, ours)
                    }
                    return self.merging(merge, round);
                }
                Some(_) => {}
                None => self.state.counts.failures = 0,
            }
        }
        let is_back = matches!(result, EffectResult::RolledBack { .. });
        if is_back && merge.step == MergeStep::Restarting {
            let overrun = self.overrun().filter(|_| self.waits_at_limits());
            if overrun.is_some() || self.holds(HoldFor::EveryAgent) {
                merge.step = MergeStep::Held;
                self.merging(merge, round);
                if let Some(overrun) = overrun {
                    self.limit_hit(format!("the run {overrun}"));
                }
                return;
            }
        }
        if merge.step == MergeStep::PostingLimit {
            merge.step = MergeStep::Held;
            self.merging(merge, round);
            return self.merge_again();
        }
        match merge.ended(self.run, result) {
            Merging::Pending => self.merging(merge, round),
            Merging::Merged => self.merge_done(round),
            Merging::Replaced => self.replaced(round),
            Merging::Conflicts(files) => {
                if let Some(overrun) = self.overrun() {
                    if let (MergeStep::Resolving { ours, .. }, true) =
                        (merge.step.clone(), self.waits_at_limits())
                    {
                        merge.put_off(self.run, ours);
                        return self.merging(merge, round);
                    }
                    let problem =
                        unresolved(&merge.from, &files).cause(format!("the run {overrun}"));
                    return self.stop(OutcomeStatus::NeedsHuman, problem);
                }
                let job = self.merger(&merge, files);
                self.merging(merge, round);
                let sandbox = Some(self.run.sandbox_id());
                self.start_agent(sandbox, job);
            }
            Merging::Stuck(problem) => {
                match (self.terms.done(), &self.state.next) {
                    // The reviewers' verdict is still true.
                    (DoneWhen::Reviewed { .. }, Move::Done) => {
                        let word = self.last_word();
                        self.finish_with(word, OutcomeStatus::NeedsHuman, problem);
                    }
                    (_, _) => self.stop(OutcomeStatus::NeedsHuman, problem),
                }
            }
        }
    }

    /// Restarts a merge after the pause that it waited for.
    pub(super) fn merge_again(&mut self) {
        if let (Stage::Merging { merge, .. }, None) = (&mut self.state.stage, &self.state.pause)
            && merge.step == MergeStep::Held
        {
            merge.begin_again(self.run);
        }
    }

    fn merge_done(&mut self, round: Round) {
        let is_same = round.head_before == self.run.work.head_sha;
        let waits_for_approval = matches!(self.terms.done(), DoneWhen::Approved(_));
        match (&round.job, &self.state.next) {
            (RoundJob::CheckBase, _) if is_same && waits_for_approval => self.base_checked(),
            // Comments arrived meanwhile, or the pull request must be read again.
            (RoundJob::CheckBase, Move::Done)
                if is_same && (self.has_work() || !self.is_heard()) =>
            {
                self.state.stage = Stage::Watching;
                self.proceed();
            }
            // The base has no conflicts.
            (RoundJob::CheckBase, Move::Done) if is_same => match self.terms.done() {
                DoneWhen::Merged { .. } => self.check_contract(),
                DoneWhen::Reviewed { .. } | DoneWhen::Approved(_) => self.finish_reviewed(),
                DoneWhen::Asked => self.check(round),
                DoneWhen::Landed { .. } => {
                    self.state.stage = Stage::Watching;
                    self.offer_to_land();
                }
            },
            (_, _) => self.check(round),
        }
    }

    /// Finishes if the approval still stands, after the base was found free of conflicts.
    fn base_checked(&mut self) {
        self.state.stage = Stage::Watching;
        match self.approved().filter(|_| self.is_heard()) {
            Some(approved) => self.finish_approved(&approved),
            None => self.proceed(),
        }
    }

    /// Continues from a branch that a person rewrote. Fixes on the replaced commits are gone, so
    /// their comments are dispatched again.
    fn replaced(&mut self, mut round: Round) {
        if let RoundJob::Fix { batch, findings } = &mut round.job {
            for key in batch.iter() {
                self.state.ledger.give_back(key, Life::Seen);
            }
            self.state.findings.append(findings);
        }
        self.state.pushed.clone_from(&self.run.work.head_sha);
        let Some(head) = self.head() else {
            return self.fail(no_commit());
        };
        let Some(branch) = self.branch() else {
            return self.fail(no_branch());
        };
        self.warn(format!(
            "branch `{branch}` was rewritten; the run continues from {head}; `drive kept list` \
             shows the replaced commits"
        ));
        round.job = RoundJob::Adopt;
        self.check(round);
    }

    fn merger(&self, merge: &Merge, files: Vec<String>) -> AgentJob {
        let prompt = self.terms.prompts.render(&Prompt::Merge {
            task: &self.request.task,
            branch: &merge.from.to_string(),
            files: &files.join("\n"),
        });
        let mut job = self.phase_job(&self.terms.fixer, Role::Fixer, prompt);
        job.round = merge.rounds;
        job.input.conflicts = files;
        job
    }
}

/// Whether an agent ended before it reported its end.
fn is_cut_short(ending: &Ending) -> bool {
    match ending {
        Ending::Succeeded => false,
        Ending::Failed { reason, .. } => *reason != Failure::Reported,
    }
}
