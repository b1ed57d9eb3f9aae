//! Merges another branch into the run's branch, after the branch itself or its base moved.
//!
//! It is always a merge, so no commits are lost or rewritten. An agent gets at most two rounds to
//! resolve conflicts; after that the sandbox is rolled back, and a person is asked.

use super::super::model::{BranchAt, Effect, EffectResult, Merge, MergeStep, MergeWhen, Run};
use crate::ids::CommitSha;
use crate::problem::{Kind, Problem};

/// How often an agent is asked to resolve the same conflicts.
const MOST_ROUNDS: u32 = 2;
/// How many files a message names.
const FILES_NAMED: usize = 5;

pub(super) enum Merging {
    /// The next step was decided; its result will follow.
    Pending,
    /// The branch contains both sides.
    Merged,
    /// The other branch was rewritten, and the sandbox moved to it.
    Replaced,
    /// An agent must resolve the conflicts in these files; its end is the next event.
    Conflicts(Vec<String>),
    /// The merge needs a person. The branch is as it was before.
    Stuck(Problem),
}

impl Merge {
    pub(super) fn begin(
        run: &mut Run,
        from: BranchAt,
        when: MergeWhen,
        base: Option<BranchAt>,
        published: Option<CommitSha>,
    ) -> Self {
        let sandbox = run.sandbox_id();
        run.decide(Effect::Integrate {
            sandbox: sandbox.clone(),
            from: from.clone(),
            when,
            base: base.clone(),
            published: published.clone(),
        });
        Self {
            sandbox,
            from,
            when,
            published,
            base,
            rounds: 0,
            step: MergeStep::Merging,
        }
    }

    /// Continues after an effect or the agent ended.
    pub(super) fn ended(&mut self, run: &mut Run, result: EffectResult) -> Merging {
        match (self.step.clone(), result) {
            (MergeStep::RollingBack { problem }, EffectResult::Failed { problem: why }) => {
                Merging::Stuck(problem.cause(why.to_string()))
            }
            (MergeStep::RollingBack { problem }, _) => Merging::Stuck(problem),
            (MergeStep::Restarting, EffectResult::Failed { problem }) => Merging::Stuck(problem),
            (MergeStep::Restarting, _) => {
                self.begin_again(run);
                Merging::Pending
            }
            // Half-written files must not be taken for a resolution.
            (MergeStep::Resolving { ours, .. }, EffectResult::Failed { problem })
                if problem.kind == Kind::AgentInterrupted =>
            {
                self.restart(run, ours);
                Merging::Pending
            }
            // Git decides whether conflicts are left, whatever the agent reported.
            (MergeStep::Resolving { ours, theirs }, _) => self.conclude(run, ours, theirs),
            (_, EffectResult::Integrated { .. }) => Merging::Merged,
            (_, EffectResult::Replaced { .. }) => Merging::Replaced,
            (
                _,
                EffectResult::Conflicted {
                    ours,
                    theirs,
                    files,
                },
            ) => self.conflicted(run, ours, theirs, files),
            (MergeStep::Merging, EffectResult::Failed { problem }) => Merging::Stuck(problem),
            (MergeStep::Concluding { ours, .. }, EffectResult::Failed { problem }) => {
                self.roll_back(run, ours, problem)
            }
            // The merge decided no effect with such a result.
            (
                MergeStep::Merging
                | MergeStep::Concluding { .. }
                | MergeStep::PostingLimit
                | MergeStep::Held,
                _,
            ) => Merging::Pending,
        }
    }

    /// Merges again, in a sandbox that was rolled back.
    pub(super) fn begin_again(&mut self, run: &mut Run) {
        let (from, base) = (self.from.clone(), self.base.clone());
        let rounds = self.rounds;
        *self = Self::begin(run, from, self.when, base, self.published.clone());
        self.rounds = rounds;
    }

    /// Restarts the merge after the agent's model was away or the budget was used up. That does not
    /// count as a try, and half-written files are no resolution.
    pub(super) fn put_off(&mut self, run: &mut Run, ours: CommitSha) {
        self.rounds = self.rounds.saturating_sub(1);
        self.restart(run, ours);
    }

    /// Rolls the sandbox back and starts the merge again.
    pub(super) fn restart(&mut self, run: &mut Run, to: CommitSha) {
        let sandbox = self.sandbox.clone();
        run.decide(Effect::RollBack { sandbox, to });
        self.step = MergeStep::Restarting;
    }

    fn conflicted(
        &mut self,
        run: &mut Run,
        ours: CommitSha,
        theirs: CommitSha,
        files: Vec<String>,
    ) -> Merging {
        if self.rounds >= MOST_ROUNDS {
            let problem = unresolved(&self.from, &files);
            return self.roll_back(run, ours, problem);
        }
        self.rounds += 1;
        self.step = MergeStep::Resolving { ours, theirs };
        Merging::Conflicts(files)
    }

    fn conclude(&mut self, run: &mut Run, ours: CommitSha, theirs: CommitSha) -> Merging {
        run.decide(Effect::ConcludeMerge {
            sandbox: self.sandbox.clone(),
            from: self.from.clone(),
            ours: ours.clone(),
            theirs: theirs.clone(),
            base: self.base.clone(),
        });
        self.step = MergeStep::Concluding { ours, theirs };
        Merging::Pending
    }

    pub(super) fn roll_back(&mut self, run: &mut Run, to: CommitSha, problem: Problem) -> Merging {
        let sandbox = self.sandbox.clone();
        run.decide(Effect::RollBack { sandbox, to });
        self.step = MergeStep::RollingBack { problem };
        Merging::Pending
    }
}

pub(super) fn unresolved(from: &BranchAt, files: &[String]) -> Problem {
    let mut named: Vec<String> = files
        .iter()
        .take(FILES_NAMED)
        .map(|file| format!("`{file}`"))
        .collect();
    if files.len() > FILES_NAMED {
        named.push(format!("{} more", files.len() - FILES_NAMED));
    }
    Problem::new(
        Kind::MergeConflict,
        format!(
            "no agent resolved the conflict with `{from}` in {}",
            named.join(", ")
        ),
    )
    .hint(format!(
        "merge `{from}` by hand; `drive kept list` shows what the agent tried"
    ))
}
