//! Somebody else pushed to the branch: their commits come in, and nobody's are overwritten.

use super::super::effect::{AgentJob, BranchAt, Effect, EffectResult, MergeWhen};
use super::super::integrating::{Integrating, IntegratingStep, Integration, unresolved};
use super::super::outcome::OutcomeStatus;
use super::super::spawn::branch_moved;
use super::ledger::Life;
use super::{Flight, Round, RoundJob, RoundStep, Stage};
use crate::agent::Role;
use crate::ids::EffectKey;
use crate::prompts::Prompt;

/// How often the branch may move while the same work is pushed.
const MOST_MOVES: u32 = 3;

impl Flight<'_> {
    pub(super) fn branch_moved(&mut self, round: Round) {
        if self.cruise.moves >= MOST_MOVES {
            let branch = self.run.work.branch.clone().unwrap_or_default();
            let problem = branch_moved(&branch)
                .cause(format!("it moved {MOST_MOVES} times while it was pushed"));
            return self.stop(OutcomeStatus::NeedsHuman, problem);
        }
        self.cruise.moves += 1;
        self.bring_in(round);
    }

    /// The pull request shows a commit that is not ours: somebody pushed while nothing was being
    /// done here. What they did is read before anything else is.
    pub(super) fn catch_up(&mut self, head: String) {
        self.cruise.watch.caught = Some(head);
        // What a fixer that failed has left must not be in the way of a merge.
        self.commit(Round {
            number: self.cruise.rounds,
            job: RoundJob::CatchUp,
            step: RoundStep::Commit,
            head_before: self.run.work.head_sha.clone(),
            answers: Vec::new(),
        });
    }

    pub(super) fn bring_in(&mut self, round: Round) {
        let branch = self.run.work.branch.clone().unwrap_or_default();
        let remote = self.remote().map(str::to_owned);
        let base = self.request.base_branch.clone().map(|branch| BranchAt {
            remote: remote.clone(),
            branch,
        });
        let from = BranchAt { remote, branch };
        let published = self.cruise.pushed.clone();
        let merge = Integrating::begin(self.run, from, MergeWhen::Always, base, published);
        self.integrating(merge, round);
    }

    fn integrating(&mut self, merge: Integrating, round: Round) {
        let (merge, round) = (Box::new(merge), Box::new(round));
        self.cruise.stage = Stage::Integrating { merge, round };
    }

    /// Conflicts become a round of the fixer; ones that nobody can resolve need a person.
    pub(super) fn integrated(
        &mut self,
        mut merge: Integrating,
        round: Round,
        key: &EffectKey,
        effect: Effect,
        result: EffectResult,
    ) {
        if let EffectResult::Failed { problem } = &result {
            match &merge.step {
                IntegratingStep::Merging => {
                    return self.try_again_or_fail(key, effect, problem.clone());
                }
                IntegratingStep::Resolving { .. } => {
                    self.cruise.record.job_failed(problem, self.now);
                }
                IntegratingStep::Concluding { .. } | IntegratingStep::RollingBack { .. } => {}
            }
        }
        match merge.ended(self.run, result) {
            Integration::Pending => self.integrating(merge, round),
            Integration::Merged => self.read_plan(round),
            Integration::Replaced => self.replaced(round),
            Integration::Conflicts(files) => {
                let spent = self.run.spent;
                if let Some(overrun) = self.request.budget.overrun(spent.usage, spent.cost) {
                    let problem =
                        unresolved(&merge.from, &files).cause(format!("the run {overrun}"));
                    return self.stop(OutcomeStatus::NeedsHuman, problem);
                }
                let job = self.merger(&merge, files);
                self.integrating(merge, round);
                let sandbox = Some(self.run.sandbox_id());
                self.start(sandbox, job);
            }
            Integration::Stuck(problem) => {
                self.stop(OutcomeStatus::NeedsHuman, problem);
            }
        }
    }

    /// Somebody rewrote the branch, and their word counts: the cruise goes on where it is now. What
    /// a fixer did on commits that are gone answers nobody, so its comments come again.
    fn replaced(&mut self, mut round: Round) {
        if let RoundJob::Fix { batch } = &round.job {
            for key in batch {
                self.cruise.ledger.give_back(key, Life::Seen);
            }
        }
        self.cruise.pushed.clone_from(&self.run.work.head_sha);
        let branch = self.run.work.branch.as_deref().unwrap_or_default();
        let head = self.run.work.head_sha.as_deref().unwrap_or_default();
        self.warn(format!(
            "somebody rewrote branch `{branch}`: the cruise goes on from their {head}; the commits \
             that are not in there any more are in `drive kept list`"
        ));
        round.job = RoundJob::Adopt;
        self.read_plan(round);
    }

    fn merger(&self, merge: &Integrating, files: Vec<String>) -> AgentJob {
        let prompt = self.terms.prompts.render(&Prompt::Merge {
            task: &self.request.task,
            branch: &merge.from.to_string(),
            files: &files.join("\n"),
        });
        let mut job = self.job(self.terms.fixer.clone(), Role::Fixer, prompt);
        job.round = merge.rounds;
        job.input.conflicts = files;
        job
    }
}
