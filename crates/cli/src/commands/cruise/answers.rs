//! Answers that all cruise commands share.

use super::host::Host;
use super::relocate::{find_moved, root_id};
use crate::answer::Outcome;
use crate::app::App;
use crate::run_report;
use drive_core::agent::answer::title_of;
use drive_core::ids::RunId;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Outcome as RunOutcome, Run};
use std::path::PathBuf;

/// The error for a request to a cruise that has ended.
pub(super) fn over(run: &Run, outcome: &RunOutcome) -> Problem {
    let how = outcome.failure.as_ref();
    let how = how.map_or(String::new(), |problem| format!(": {}", problem.message));
    let task = run.request.as_ref();
    let task = task.map_or("TASK".to_owned(), |request| {
        format!("{:?}", title_of(&request.task))
    });
    Problem::new(
        Kind::CruiseOver,
        format!("cruise `{}` ended at {}{how}", run.id, outcome.ended_at),
    )
    .hint(format!(
        "start a new one with `drive cruise run {task}`; `drive cruise status {}` shows how this \
         one ended",
        run.id
    ))
}

/// The answer for a cruise that ended or was detached.
pub(super) fn report(host: &Host, run: &Run) -> Outcome {
    let changes = host.wiring.changes(run, &host.folder);
    let let_go = run.outcome.is_none().then(|| let_go(&run.id));
    run_report::answer(run, changes.as_ref(), let_go)
}

pub(super) fn let_go(id: &RunId) -> Problem {
    Problem::new(
        Kind::Interrupted,
        format!("cruise `{id}` is detached and still active"),
    )
    .hint(format!(
        "continue with `drive cruise resume {id}`, or end it with `drive cruise cleanup {id}`"
    ))
}

/// The repository of a cruise. If its checkout is gone, the cruise continues where the repository is found.
pub(super) fn repo_of(app: &App, run: &Run) -> Result<PathBuf, Problem> {
    let repo = run.request.as_ref().map(|request| request.repo.clone());
    let repo = repo.ok_or_else(|| {
        Problem::new(
            Kind::NoRequest,
            format!(
                "the journal does not contain the request of cruise `{}`",
                run.id
            ),
        )
    })?;
    if repo.is_dir() {
        Ok(repo)
    } else if let Some(found) = find_moved(app, run)? {
        Ok(found)
    } else {
        Err(Problem::new(
            Kind::RepositoryGone,
            format!(
                "repository `{}` of cruise `{}` does not exist",
                repo.display(),
                run.id
            ),
        )
        .hint(format!(
            "if it was moved, run the command again in its new place with the id `{0}`; to end the \
             cruise without it: `drive cruise cleanup {0} --force`",
            root_id(run)
        )))
    }
}
