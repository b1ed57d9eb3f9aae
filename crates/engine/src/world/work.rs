//! What an agent left in its sandbox, whatever it did there.

use super::World;
use crate::executor::Task;
use crate::ports::{Leftovers, Place, WorkState};
use drive_core::Problem;
use drive_core::ids::SandboxId;
use drive_core::run::EffectResult;
use drive_core::sandbox::{BranchName, Sandbox};

impl World<'_> {
    /// Commits leftovers and tells what the run's branch holds. Doing it again finds nothing left
    /// to commit, and tells the same.
    pub(super) fn commit_work(
        &self,
        task: &Task<'_>,
        id: &SandboxId,
        message: &str,
    ) -> Result<EffectResult, Problem> {
        let sandbox = self.require_sandbox(task, id)?;
        let place = Place::Sandbox(&sandbox);
        let mut warnings = Vec::new();
        let mut state = self.history.state(place)?;
        match state.in_progress {
            Some(what) => warnings.push(format!(
                "the agent left a {} half done: its files are kept, not committed",
                what.name()
            )),
            None => {
                let leftovers = Leftovers {
                    run: task.run.id.clone(),
                    message: message.to_owned(),
                };
                if let Some(commit) = self.history.commit_leftovers(place, &leftovers)? {
                    state.head_sha = commit.sha;
                }
            }
        }
        let head_sha = self.bring_to_branch(&sandbox, &state, &mut warnings)?;
        let commits = self.history.commits(place, &sandbox.base_sha, &head_sha)?;
        Ok(EffectResult::WorkCommitted {
            head_sha,
            commits,
            warnings,
        })
    }

    /// The tip of the run's branch. An agent that switched to a branch of its own, or to none, has
    /// its commits brought back, as long as that only adds to the run's branch.
    fn bring_to_branch(
        &self,
        sandbox: &Sandbox,
        state: &WorkState,
        warnings: &mut Vec<String>,
    ) -> Result<String, Problem> {
        let place = Place::Sandbox(sandbox);
        let head = &state.head_sha;
        let Some(branch) = &sandbox.branch else {
            return Ok(head.clone());
        };
        if state.branch.as_ref() == Some(branch) {
            return Ok(head.clone());
        }
        let branch = BranchName::parse(branch)?;
        let tip = self.history.resolve(place, &branch.full())?;
        let elsewhere = state.branch.as_deref().unwrap_or("no branch");
        if state.in_progress.is_none() && self.history.is_ancestor(place, &tip, head)? {
            self.history.advance_branch(place, &branch, &tip, head)?;
            warnings.push(format!(
                "the agent had switched to {elsewhere}; its commits are on `{branch}`"
            ));
            return Ok(head.clone());
        }
        warnings.push(format!(
            "the agent ended on {elsewhere}, which does not build on `{branch}`: what it did there is kept apart"
        ));
        Ok(tip)
    }
}
