//! Finds the cruise that a command refers to.

use drive_adapters::settings::checkout_root;
use drive_core::agent::answer::title_of;
use drive_core::ids::RunId;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Run, is_cruise};
use drive_engine::ports::{RunFilter, Store};
use std::path::Path;

/// How many runs are looked through.
const MOST: u32 = 10_000;

/// All cruises, newest first.
pub(super) fn all(store: &dyn Store, filter: RunFilter) -> Result<Vec<Run>, Problem> {
    let mut runs = store.list(filter, MOST)?;
    // The runs of its tasks are part of a cruise.
    runs.retain(|run| is_cruise(run) && run.parent().is_none());
    Ok(runs)
}

/// The cruise of that name; without one, the only candidate: those of this repository come first.
pub(super) fn one(
    store: &dyn Store,
    id: Option<&str>,
    folder: &Path,
    filter: RunFilter,
) -> Result<Run, Problem> {
    if let Some(id) = id {
        let found = store.load(&RunId::new(id))?;
        return found.filter(is_cruise).ok_or_else(|| {
            Problem::new(Kind::UnknownCruise, format!("no cruise `{id}`"))
                .hint("`drive cruise list --all` shows them")
        });
    }
    let mut candidates = all(store, filter)?;
    let root = checkout_root(folder).and_then(|root| root.canonicalize().ok());
    let is_here = |run: &Run| {
        let repo = run
            .request
            .as_ref()
            .and_then(|r| r.repo.canonicalize().ok());
        repo.is_some() && repo == root
    };
    if candidates.iter().any(is_here) {
        candidates.retain(is_here);
    }
    // Of those that are over, the newest is meant.
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
