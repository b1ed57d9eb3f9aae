//! Restores a sandbox to the run's branch after an agent changed it.

use super::World;
use super::work::is_pushed;
use crate::executor::Task;
use drive_core::ids::CommitSha;
use drive_core::problem::{Kind, Problem};
use drive_core::run::AgentJob;
use drive_core::sandbox::{KeptWork, Sandbox};

impl World<'_> {
    /// Resets the sandbox to exactly the commit under review, before and after its reviewer.
    /// Changes and commits of the reviewer are saved first.
    ///
    /// Fails if somebody else moved the branch meanwhile: the sandbox then shows their commits, and
    /// it is unknown which tree was reviewed.
    pub(super) fn put_back(
        &self,
        task: &Task<'_>,
        sandbox: &Sandbox,
    ) -> Result<Option<KeptWork>, Problem> {
        let Some(head) = task.run.work.head_sha.as_ref() else {
            return Ok(None);
        };
        self.require_own_tip(task, sandbox, head)?;
        self.sandboxes.roll_back(sandbox, head)
    }

    fn require_own_tip(
        &self,
        task: &Task<'_>,
        sandbox: &Sandbox,
        head: &CommitSha,
    ) -> Result<(), Problem> {
        let Some(branch) = &sandbox.branch else {
            return Ok(());
        };
        // A person's local copy of a pushed branch is theirs.
        let tip = match self.history.users_tip(sandbox, head)? {
            Some(tip) if !is_pushed(task) => tip,
            Some(_) | None => return Ok(()),
        };
        // The files may still be those of the earlier commit, and would then look like a change
        // that reverts the new commits.
        let put_back = self.sandboxes.roll_back(sandbox, &tip);
        let moved = Problem::new(
            Kind::BranchMoved,
            format!("`{branch}` got new commits during the review of {head}"),
        )
        .hint("drive reviews the new head next");
        Err(match put_back {
            Ok(Some(kept)) => moved.cause(format!(
                "uncommitted changes are saved as `{}`",
                kept.reference
            )),
            Ok(None) => moved,
            Err(problem) => moved.cause(problem.message),
        })
    }
}

/// A warning that a reviewer changed the sandbox.
pub(super) fn strayed(job: &AgentJob, kept: &KeptWork) -> String {
    format!(
        "the {} `{}` changed the sandbox; its changes are saved as `{}`, and the sandbox was put back",
        job.role, job.agent, kept.reference
    )
}
