//! Moves a run whose checkout is gone to the place where its repository is now.

use super::super::model::{Effect, PlanFrom, Request, Run, RunKind, RunMessage};
use std::path::Path;
use std::sync::Arc;

/// Performs all further effects of the run in this repository.
pub(super) fn relocated(run: &mut Run, repo: &Path, git_dir: &Path) {
    if let Some(request) = &mut run.request {
        relocate(Arc::make_mut(request), repo, git_dir);
    }
    for sandbox in run.sandboxes.values_mut() {
        sandbox.git_dir = git_dir.to_owned();
    }
    for effect in run.pending.values_mut() {
        if let Effect::CreateSandbox { spec } = effect {
            spec.repo = repo.to_owned();
        } else if let Effect::ToRun {
            message: RunMessage::StartRun { request },
            ..
        } = effect
        {
            relocate(request, repo, git_dir);
        }
    }
}

fn relocate(request: &mut Request, repo: &Path, git_dir: &Path) {
    request.repo = repo.to_owned();
    request.git_dir = Some(git_dir.to_owned());
    if let RunKind::Build(terms) = &mut request.kind {
        for task in &mut terms.tasks {
            relocate(&mut task.request, repo, git_dir);
        }
        if let Some(line) = &mut terms.line
            && let PlanFrom::Phase { request } = &mut line.plan
        {
            relocate(request, repo, git_dir);
        }
    }
}
