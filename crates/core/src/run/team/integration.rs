//! The branch moved under the team, or the one it goes to did.

use super::super::effect::{AgentJob, BranchAt, EffectResult, MergeWhen};
use super::super::integrating::{Integrating, IntegratingStep, Integration};
use super::super::outcome::OutcomeStatus;
use super::super::spawn::branch_moved;
use super::work::{Errand, ErrandStep};
use super::{Flight, TeamStage};
use crate::agent::Role;
use crate::prompts::Prompt;
use crate::review::{LastWord, Move};
use crate::settings::TeamMode;

/// How often the branch may move while the same work is pushed.
const MOST_MOVES: u32 = 3;
/// How often the branch that the work goes to is looked at before the end.
const MOST_BASE_LOOKS: u32 = 3;

impl Flight<'_> {
    /// Somebody pushed to the branch: their commits come in, and the push is tried again.
    pub(super) fn branch_moved(&mut self, mut errand: Errand) {
        let branch = self.run.work.branch.clone().unwrap_or_default();
        if errand.moved >= MOST_MOVES {
            let problem = branch_moved(&branch)
                .cause(format!("it moved {MOST_MOVES} times while it was pushed"));
            return self.stop(OutcomeStatus::NeedsHuman, problem);
        }
        errand.moved += 1;
        let remote = self.remote().map(str::to_owned);
        self.integrate(BranchAt { remote, branch }, MergeWhen::Always, errand);
    }

    /// Before the team ends well: a pull request that cannot be merged any more, because its base
    /// moved, is of no use to anybody. Tells whether something is under way.
    pub(super) fn look_at_base(&mut self, word: LastWord) -> bool {
        let ends_well = match word {
            LastWord::Approved => true,
            LastWord::NeedsChanges => self.terms.mode == TeamMode::Sequential,
            LastWord::Inconclusive => false,
        };
        let Some(base) = self.base() else {
            return false;
        };
        if !ends_well
            || self.run.work.pull_request.is_none()
            || self.team.base_looks >= MOST_BASE_LOOKS
        {
            return false;
        }
        self.team.base_looks += 1;
        let errand = Errand {
            remark: None,
            step: ErrandStep::Push,
            head_before: self.run.work.head_sha.clone(),
            action: None,
            note: String::new(),
            moved: 0,
        };
        self.integrate(base, MergeWhen::Conflicting, errand);
        true
    }

    /// The branch that the work goes to.
    pub(super) fn base(&self) -> Option<BranchAt> {
        let branch = self.request.base_branch.clone()?;
        let remote = self.remote().map(str::to_owned);
        Some(BranchAt { remote, branch })
    }

    fn integrate(&mut self, from: BranchAt, when: MergeWhen, errand: Errand) {
        let base = self.base();
        let merge = Integrating::begin(self.run, from, when, base, None);
        self.integrating(merge, errand);
    }

    fn integrating(&mut self, merge: Integrating, errand: Errand) {
        let (merge, errand) = (Box::new(merge), Box::new(errand));
        self.team.stage = TeamStage::Integrating { merge, errand };
    }

    pub(super) fn integrated(
        &mut self,
        mut merge: Integrating,
        errand: Errand,
        result: EffectResult,
    ) {
        if let (IntegratingStep::Resolving { .. }, EffectResult::Failed { problem }) =
            (&merge.step, &result)
        {
            self.team.record.job_failed(problem, self.now);
        }
        match merge.ended(self.run, result) {
            Integration::Pending => self.integrating(merge, errand),
            // Nothing is told to be rewritten that was not said to be published.
            Integration::Merged | Integration::Replaced => {
                let head = self.run.work.head_sha.clone().unwrap_or_default();
                match (&self.team.next, errand.head_before.as_ref() == Some(&head)) {
                    // The base was looked at, and nothing had to be done.
                    (&Move::Done(word), true) => self.finish(word),
                    (_, _) => self.push(errand, head),
                }
            }
            Integration::Conflicts(files) => {
                let job = self.merger(&merge, files);
                self.integrating(merge, errand);
                let sandbox = Some(self.run.sandbox_id());
                self.start(sandbox, job);
            }
            Integration::Stuck(problem) => match self.team.next {
                // What the reviewers said is still true.
                Move::Done(word) => self.finish_with(word, OutcomeStatus::NeedsHuman, problem),
                Move::Review { .. } | Move::Fix { .. } => {
                    self.stop(OutcomeStatus::NeedsHuman, problem);
                }
            },
        }
    }

    fn merger(&self, merge: &Integrating, files: Vec<String>) -> AgentJob {
        let prompt = self.terms.prompts.render(&Prompt::Merge {
            task: &self.request.task,
            branch: &merge.from.to_string(),
            files: &files.join("\n"),
        });
        let mut job = self.primary(Role::Fixer, prompt);
        job.round = merge.rounds;
        job.input.conflicts = files;
        job
    }
}
