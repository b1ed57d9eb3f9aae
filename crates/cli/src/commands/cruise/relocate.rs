//! Finds the repository of a cruise whose checkout no longer exists: a linked worktree was removed,
//! or the repository was moved.

use crate::app::App;
use crate::wiring::Wiring;
use drive_adapters::entropy::random_u32;
use drive_adapters::forge::local;
use drive_core::ids::{DedupeKey, RunId};
use drive_core::problem::Problem;
use drive_core::run::{Event, Run, planning_run};
use drive_engine::ports::{Place, Repository, Store, VersionControl};
use std::path::{Path, PathBuf};

/// The root of a run's tree, which a person started.
pub(super) fn root_id(run: &Run) -> RunId {
    run.parent()
        .map_or_else(|| run.id.clone(), |parent| parent.run.clone())
}

/// Finds where the repository of a cruise is now. The cruise continues there.
pub(super) fn find_moved(app: &App, run: &Run) -> Result<Option<PathBuf>, Problem> {
    let Some(request) = &run.request else {
        return Ok(None);
    };
    let members = members(&app.store()?, run)?;
    let main = request.git_dir.as_deref().map(main_checkout);
    let places = [main, app.start_dir().ok()].into_iter().flatten();
    for folder in places.filter(|place| place.is_dir()) {
        let settings = app.settings_at(&folder)?.settings;
        let wiring = Wiring::new(app, &settings, &folder)?;
        let Ok(found) = wiring.git.discover(&folder) else {
            continue;
        };
        let is_there = |revision: &str| {
            let place = Place::Checkout(&folder);
            wiring.git.resolve(place, revision).is_ok()
        };
        // A clone contains the commits but not the branch.
        let branch = members.iter().find_map(|run| run.work.branch.as_ref());
        let has_branch = branch.is_none_or(|branch| is_there(&branch.full()));
        if has_branch && is_there(request.base_sha.as_str()) {
            return move_to(app, &wiring, &members, &found).map(Some);
        }
    }
    Ok(None)
}

/// The stored runs of a cruise: itself, the planning run, then its tasks.
fn members(store: &dyn Store, run: &Run) -> Result<Vec<Run>, Problem> {
    let root = store.load(&root_id(run))?;
    let Some(root) = root else {
        return Ok(vec![run.clone()]);
    };
    let mut ids: Vec<RunId> = planning_run(&root).into_iter().collect();
    ids.extend(
        root.children
            .keys()
            .filter(|id| !ids.contains(id))
            .cloned()
            .collect::<Vec<_>>(),
    );
    let mut members = vec![root];
    for id in ids {
        members.extend(store.load(&id)?);
    }
    Ok(members)
}

/// The main checkout of a repository, or the repository itself if it has none.
fn main_checkout(git_dir: &Path) -> PathBuf {
    match git_dir.parent() {
        Some(parent) if git_dir.file_name().is_some_and(|name| name == ".git") => parent.to_owned(),
        Some(_) | None => git_dir.to_owned(),
    }
}

fn move_to(
    app: &App,
    wiring: &Wiring,
    members: &[Run],
    found: &Repository,
) -> Result<PathBuf, Problem> {
    let git_dir = &found.common_dir;
    let repo = found.top.as_ref().unwrap_or(git_dir);
    if let Some(root) = members.first() {
        app.output().narrate(format_args!(
            "cruise {} continues in {}",
            root.id,
            repo.display()
        ));
    }
    let known = members.iter().filter_map(|run| run.request.as_ref());
    let known = known.filter_map(|request| request.git_dir.as_ref());
    let sandboxes = members.iter().flat_map(|run| run.sandboxes.values());
    let before = known
        .chain(sandboxes.map(|sandbox| &sandbox.git_dir))
        .next();
    if let Some(before) = before.filter(|before| *before != git_dir) {
        local::relocate(wiring.database(), before, git_dir)?;
        wiring.sandboxes.relocate(before, git_dir)?;
    }
    for run in members {
        let event = Event::Relocated {
            repo: repo.clone(),
            git_dir: git_dir.clone(),
        };
        let dedupe = DedupeKey::new(format!("relocated/{:08x}", random_u32()?));
        wiring.journal().deliver(&run.id, &event, &dedupe, None)?;
    }
    Ok(repo.clone())
}
