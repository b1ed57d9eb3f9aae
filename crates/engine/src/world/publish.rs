//! From a branch to a pull request.

use super::World;
use crate::executor::Task;
use crate::ports::{NewPullRequest, Place, Push, Pushed};
use drive_core::Problem;
use drive_core::ids::SandboxId;
use drive_core::run::{EffectResult, Published};
use drive_core::sandbox::BranchName;

impl World<'_> {
    /// Pushes the branch. Doing it again finds it up to date. Nobody's commits are overwritten.
    pub(super) fn push(
        &self,
        task: &Task<'_>,
        sandbox: &SandboxId,
        remote: &str,
        branch: &str,
        head_sha: &str,
    ) -> Result<EffectResult, Problem> {
        let sandbox = self.require_sandbox(task, sandbox)?;
        let place = Place::Sandbox(&sandbox);
        let name = BranchName::parse(branch)?;
        let expected = self.history.remote_head(place, remote, &name)?;
        let push = Push {
            remote: remote.to_owned(),
            branch: name,
            sha: head_sha.to_owned(),
            expected,
        };
        match self.history.push(place, &push)? {
            Pushed::Done | Pushed::UpToDate => Ok(EffectResult::Pushed),
            Pushed::Moved { remote_head } => Ok(EffectResult::BranchMoved { remote_head }),
            Pushed::Refused { reason } => Err(Problem::environment(
                "pushRefused",
                format!("`{remote}` refused branch `{branch}`"),
            )
            .cause(reason)
            .hint(format!("the work is on the local branch `{branch}`"))),
        }
    }

    /// Opens the pull request, or finds the one that is open for the branch.
    pub(super) fn open_pull_request(&self, new: &NewPullRequest) -> Result<EffectResult, Problem> {
        let opened = self.require_forge()?.forge.open(new)?;
        let pull_request = Published {
            number: opened.number,
            url: opened.url,
        };
        Ok(EffectResult::PullRequestOpened { pull_request })
    }
}
