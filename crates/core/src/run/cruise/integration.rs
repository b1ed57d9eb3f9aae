//! Somebody else pushed to the branch: their commits come in, and nobody's are overwritten.

use super::super::effect::{AgentJob, BranchAt, EffectResult, MergeWhen};
use super::super::integrating::{Integrating, IntegratingStep, Integration};
use super::super::outcome::OutcomeStatus;
use super::super::spawn::branch_moved;
use super::{Flight, Round, Stage};
use crate::agent::Role;
use crate::prompts::Prompt;

/// How often the branch may move while the same work is pushed.
const MOST_MOVES: u32 = 3;

impl Flight<'_> {
    pub(super) fn branch_moved(&mut self, round: Round) {
        let branch = self.run.work.branch.clone().unwrap_or_default();
        if self.cruise.moves >= MOST_MOVES {
            let problem = branch_moved(&branch)
                .cause(format!("it moved {MOST_MOVES} times while it was pushed"));
            return self.leave(OutcomeStatus::NeedsHuman, Some(problem));
        }
        self.cruise.moves += 1;
        let remote = self.remote().map(str::to_owned);
        let base = self.request.base_branch.clone().map(|branch| BranchAt {
            remote: remote.clone(),
            branch,
        });
        let from = BranchAt { remote, branch };
        let merge = Integrating::begin(self.run, from, MergeWhen::Always, base);
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
        result: EffectResult,
    ) {
        if let (IntegratingStep::Resolving { .. }, EffectResult::Failed { problem }) =
            (&merge.step, &result)
        {
            self.cruise.record.job_failed(problem, self.now);
        }
        match merge.ended(self.run, result) {
            Integration::Pending => self.integrating(merge, round),
            Integration::Merged => self.read_plan(round),
            Integration::Conflicts(files) => {
                let job = self.merger(&merge, files);
                self.integrating(merge, round);
                let sandbox = Some(self.run.sandbox_id());
                self.start(sandbox, job);
            }
            Integration::Stuck(problem) => {
                self.leave(OutcomeStatus::NeedsHuman, Some(problem));
            }
        }
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
