//! Bringing others' commits in, whichever flow needs it: the branch moved under the run, or the
//! branch it goes to did.
//!
//! It is always a merge, so nobody's commits are lost or rewritten. Conflicts become work for an
//! agent, twice at most; after that the sandbox is as it was before, and a person is asked.

use super::Run;
use super::effect::{BranchAt, Effect, EffectResult, MergeWhen};
use crate::Problem;
use crate::ids::SandboxId;
use serde::{Deserialize, Serialize};

/// How often an agent is asked to resolve the same conflicts.
const MOST_ROUNDS: u32 = 2;
/// How many files a message names.
const FILES_NAMED: usize = 5;

/// One merge of another branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Integrating {
    /// Into the branch of this sandbox.
    pub sandbox: SandboxId,
    /// Whose commits.
    pub from: BranchAt,
    /// The branch that the work goes to.
    pub base: Option<BranchAt>,
    /// How often an agent was asked to resolve the conflicts.
    pub rounds: u32,
    /// How far it is.
    pub step: IntegratingStep,
}

/// How far a merge is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "step")]
pub enum IntegratingStep {
    /// It is being tried.
    Merging,
    /// An agent resolves its conflicts.
    Resolving {
        /// The branch's tip before.
        ours: String,
        /// The commit that is merged in.
        theirs: String,
    },
    /// What the agent left is being looked at and committed.
    Concluding {
        /// The branch's tip before.
        ours: String,
        /// The commit that is merged in.
        theirs: String,
    },
    /// The sandbox is being put back.
    RollingBack {
        /// Why.
        problem: Problem,
    },
}

/// What comes next.
pub(super) enum Integration {
    /// Something was decided and will end.
    Pending,
    /// The branch holds both.
    Merged,
    /// The other branch was rewritten: the sandbox is where that one is.
    Replaced,
    /// An agent is to resolve the conflicts in these files; its end is the next event.
    Conflicts(Vec<String>),
    /// It cannot be done without a person. The branch is as it was before.
    Stuck(Problem),
}

impl Integrating {
    pub(super) fn begin(
        run: &mut Run,
        from: BranchAt,
        when: MergeWhen,
        base: Option<BranchAt>,
        published: Option<String>,
    ) -> Self {
        let sandbox = run.sandbox_id();
        run.decide(Effect::Integrate {
            sandbox: sandbox.clone(),
            from: from.clone(),
            when,
            base: base.clone(),
            published,
        });
        Self {
            sandbox,
            from,
            base,
            rounds: 0,
            step: IntegratingStep::Merging,
        }
    }

    /// Goes on once an effect or the agent has ended.
    pub(super) fn ended(&mut self, run: &mut Run, result: EffectResult) -> Integration {
        match (self.step.clone(), result) {
            (IntegratingStep::RollingBack { problem }, EffectResult::Failed { problem: why }) => {
                Integration::Stuck(problem.cause(why.to_string()))
            }
            (IntegratingStep::RollingBack { problem }, _) => Integration::Stuck(problem),
            // Whatever became of the agent: the files are looked at.
            (IntegratingStep::Resolving { ours, theirs }, _) => self.conclude(run, ours, theirs),
            (_, EffectResult::Integrated { .. }) => Integration::Merged,
            (_, EffectResult::Replaced { .. }) => Integration::Replaced,
            (
                _,
                EffectResult::Conflicted {
                    ours,
                    theirs,
                    files,
                },
            ) => self.conflicted(run, ours, theirs, files),
            (IntegratingStep::Merging, EffectResult::Failed { problem }) => {
                Integration::Stuck(problem)
            }
            (IntegratingStep::Concluding { ours, .. }, EffectResult::Failed { problem }) => {
                self.roll_back(run, ours, problem)
            }
            // No other result belongs to what was decided here.
            (IntegratingStep::Merging | IntegratingStep::Concluding { .. }, _) => {
                Integration::Pending
            }
        }
    }

    fn conflicted(
        &mut self,
        run: &mut Run,
        ours: String,
        theirs: String,
        files: Vec<String>,
    ) -> Integration {
        if self.rounds >= MOST_ROUNDS {
            let problem = unresolved(&self.from, &files);
            return self.roll_back(run, ours, problem);
        }
        self.rounds += 1;
        self.step = IntegratingStep::Resolving { ours, theirs };
        Integration::Conflicts(files)
    }

    fn conclude(&mut self, run: &mut Run, ours: String, theirs: String) -> Integration {
        run.decide(Effect::ConcludeMerge {
            sandbox: self.sandbox.clone(),
            from: self.from.clone(),
            ours: ours.clone(),
            theirs: theirs.clone(),
            base: self.base.clone(),
        });
        self.step = IntegratingStep::Concluding { ours, theirs };
        Integration::Pending
    }

    fn roll_back(&mut self, run: &mut Run, to: String, problem: Problem) -> Integration {
        let sandbox = self.sandbox.clone();
        run.decide(Effect::RollBack { sandbox, to });
        self.step = IntegratingStep::RollingBack { problem };
        Integration::Pending
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
    Problem::work(
        "mergeConflict",
        format!(
            "the work conflicts with `{from}` in {}, and no agent could resolve it",
            named.join(", ")
        ),
    )
    .hint(format!(
        "merge `{from}` into the run's branch by hand; what the agent tried is in `drive kept list`"
    ))
}
