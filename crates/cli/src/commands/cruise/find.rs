//! Finds the cruise that a command refers to.

use crate::repository::{git_dir_of, repository_of};
use drive_core::agent::answer::title_of;
use drive_core::ids::RunId;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Run, is_cruise};
use drive_engine::ports::{RunFilter, Store};
use std::path::Path;

/// How many runs are searched.
const MOST: u32 = 10_000;

/// All cruises, newest first.
pub(super) fn all(store: &dyn Store, filter: RunFilter) -> Result<Vec<Run>, Problem> {
    let mut runs = store.list(filter, MOST)?;
    // The runs of a cruise's tasks belong to it and are not listed.
    runs.retain(|run| is_cruise(run) && run.parent().is_none());
    Ok(runs)
}

/// Where to search for the cruise of a command without an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// In this repository only, because the command changes something.
    Here,
    /// In other repositories if this one has none.
    Anywhere,
}

/// The newest cruise of this repository that ended because its pull request was closed.
pub(super) fn closed(store: &dyn Store, folder: &Path) -> Result<Option<Run>, Problem> {
    let here = repository_of(folder);
    let runs = all(store, RunFilter::All)?.into_iter();
    let mut here = runs.filter(|run| here.is_some() && git_dir_of(run) == here);
    Ok(here.find(was_closed))
}

/// Whether a cruise ended because its pull request was closed.
pub(super) fn was_closed(run: &Run) -> bool {
    let failure = run.outcome.as_ref().and_then(|one| one.failure.as_ref());
    failure.is_some_and(|problem| problem.kind == Kind::PullRequestClosed)
}

/// The cruise with this id; without an id, the only candidate, preferably of this repository.
pub(super) fn one(
    store: &dyn Store,
    id: Option<&str>,
    folder: &Path,
    filter: RunFilter,
    reach: Reach,
) -> Result<Run, Problem> {
    if let Some(id) = id {
        let found = store.load(&RunId::new(id))?;
        return found.filter(is_cruise).ok_or_else(|| {
            Problem::new(Kind::UnknownCruise, format!("no cruise `{id}`"))
                .hint("`drive cruise list --all` shows them")
        });
    }
    let mut candidates = all(store, filter)?;
    let here = repository_of(folder);
    let is_here = |run: &Run| here.is_some() && git_dir_of(run) == here;
    if reach == Reach::Here || candidates.iter().any(is_here) {
        candidates.retain(is_here);
    }
    // Of several ended cruises, the newest is used.
    if filter == RunFilter::All && candidates.len() > 1 {
        let active = candidates.iter().filter(|run| run.is_active()).count();
        match active {
            0 => candidates.truncate(1),
            _ => candidates.retain(Run::is_active),
        }
    }
    match candidates.len() {
        1 => Ok(candidates.remove(0)),
        0 => Err(
            Problem::new(Kind::NoCruise, "no active cruise in this repository").hint(
                "start one with `drive cruise run TASK`; `drive cruise list --all` shows \
                       ended ones",
            ),
        ),
        _ => Err(several(&candidates)),
    }
}

/// The cruise to show. Nothing is changed, so it may be of another repository.
pub(super) fn shown(store: &dyn Store, id: Option<&str>, folder: &Path) -> Result<Run, Problem> {
    one(store, id, folder, RunFilter::All, Reach::Anywhere)
}

fn several(candidates: &[Run]) -> Problem {
    let list: Vec<String> = candidates
        .iter()
        .take(20)
        .map(|run| {
            let task = run.request.as_ref().map_or("", |r| r.task.as_str());
            format!("`{}` ({})", run.id, title_of(task))
        })
        .collect();
    Problem::new(
        Kind::SeveralCruises,
        format!("{} cruises match", candidates.len()),
    )
    .hint(format!("name one of {}", list.join(", ")))
}
