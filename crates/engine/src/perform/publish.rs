//! Pushes a branch and opens its pull request.

use super::World;
use crate::executor::Task;
use crate::ports::{NewPullRequest, Place, Push, Pushed};
use drive_core::forge::template;
use drive_core::ids::{BranchName, CommitSha, RemoteName};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{EffectResult, Flow, Published};
use drive_core::sandbox::Sandbox;

pub(super) struct Expected<'a> {
    pub(super) head_sha: &'a CommitSha,
    /// Whether the branch was published before.
    pub(super) published: bool,
}

impl World<'_> {
    /// Pushes the branch. A repeated push is a no-op. No commits are overwritten.
    pub(super) fn push(
        &self,
        task: &Task<'_>,
        sandbox: &Sandbox,
        (remote, branch): (&RemoteName, &BranchName),
        wanted: &Expected<'_>,
    ) -> Result<EffectResult, Problem> {
        let place = Place::Sandbox(sandbox);
        let expected = self.history.remote_head(place, remote, branch)?;
        if expected.is_none() && wanted.published {
            return Err(branch_deleted(remote, branch));
        }
        if let Some(theirs) = expected.as_ref().filter(|at| is_others(task, at, wanted)) {
            let remote_head = Some(theirs.clone());
            return Ok(EffectResult::BranchMoved { remote_head });
        }
        let push = Push {
            remote: remote.clone(),
            branch: branch.clone(),
            sha: wanted.head_sha.clone(),
            expected,
        };
        self.require_no_secrets(task, place, &push)?;
        match self.history.push(place, &push)? {
            Pushed::Done | Pushed::UpToDate => Ok(EffectResult::Pushed),
            Pushed::Moved { remote_head } => Ok(EffectResult::BranchMoved { remote_head }),
            Pushed::Refused { reason } => Err(refused(remote, branch, &reason)
                .hint(format!("the work is on the local branch `{branch}`"))),
        }
    }

    /// Refuses to push a commit that adds a secret, or that cannot be checked.
    fn require_no_secrets(
        &self,
        task: &Task<'_>,
        place: Place<'_>,
        push: &Push,
    ) -> Result<(), Problem> {
        let request = task.run.request.as_ref();
        let Some(base) = request.map(|request| &request.base_sha) else {
            return Err(Problem::new(Kind::Internal, "the run has no request"));
        };
        let merged = task.run.work.base_sha.as_ref();
        let patch = self.history.unpublished(place, push, base, merged)?;
        self.secrets.require_clean(&patch)
    }

    /// Opens the pull request, or finds the branch's open one.
    pub(super) fn open_pull_request(
        &self,
        task: &Task<'_>,
        new: &NewPullRequest,
    ) -> Result<EffectResult, Problem> {
        let secrets = &self.secrets.secrets();
        let body = self.with_template(task, &new.body);
        let opened = self.require_forge()?.forge.open(&NewPullRequest {
            title: secrets.redact(&new.title),
            body: secrets.redact(&body),
            ..new.clone()
        })?;
        let pull_request = Published {
            number: opened.number,
            url: opened.url,
        };
        Ok(EffectResult::PullRequestOpened { pull_request })
    }

    /// The description combined with the base's template. The template is read from the base,
    /// because the work may change it; an unreadable template is left out.
    fn with_template(&self, task: &Task<'_>, body: &str) -> String {
        let Some(request) = task.run.request.as_ref() else {
            return body.to_owned();
        };
        let place = Place::Checkout(&request.repo);
        let names = template::candidates();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let base = request.base_sha.as_str();
        let limit = template::TEMPLATE_BYTES;
        let found = self.history.plain_files(place, base, &names, limit);
        match template::choose(&found.unwrap_or_default()) {
            Some(text) => template::with_template(body, text),
            None => body.to_owned(),
        }
    }
}

/// Whether a branch that a spawn finds on the remote belongs to somebody else. A spawn creates its branch and
/// pushes it once; a push whose result was not journaled left one of the run's own commits there.
fn is_others(task: &Task<'_>, remote_head: &CommitSha, wanted: &Expected<'_>) -> bool {
    let creates = match &task.run.flow {
        Flow::Spawn { .. } => !wanted.published,
        Flow::Awaiting | Flow::Phase { .. } | Flow::Cruise { .. } => false,
    };
    let mut own = task.run.work.commits.iter().map(|commit| &commit.sha);
    creates && remote_head != wanted.head_sha && !own.any(|sha| sha == remote_head)
}

/// The problem of a new branch whose name is taken, locally or `on` a remote.
pub(crate) fn branch_exists(branch: &BranchName, on: Option<&RemoteName>) -> Problem {
    let place = on.map_or(String::new(), |remote| format!(" on `{remote}`"));
    Problem::new(
        Kind::BranchExists,
        format!("branch `{branch}` already exists{place}"),
    )
    .hint("pass `--branch` with another name, or leave it out")
}

pub(super) fn refused(remote: &RemoteName, branch: &BranchName, reason: &str) -> Problem {
    Problem::new(
        Kind::PushRefused,
        format!("`{remote}` refused branch `{branch}`"),
    )
    .cause(reason)
}

/// The problem of a branch that a person deleted on the remote. It is not created again against their will.
pub(super) fn branch_deleted(remote: &RemoteName, branch: &BranchName) -> Problem {
    Problem::new(
        Kind::BranchDeleted,
        format!("branch `{branch}` was deleted on `{remote}`"),
    )
    .hint(format!(
        "its commits are on the local branch; `git push {remote} {branch}` restores it"
    ))
}
