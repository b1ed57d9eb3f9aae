//! Finds the run for a command without an id.

use crate::app::App;
use crate::repository::{git_dir_of, repository_of};
use drive_core::agent::answer::title_of;
use drive_core::ids::RunId;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Run, State, standing};
use drive_engine::ports::{RunFilter, Store};
use std::path::Path;

/// How many runs are looked through.
const MOST: u32 = 10_000;
/// Candidates named in an error.
const LISTED: usize = 10;

/// The run with this id; without one, the only run of this repository on which the command can act.
/// The user is told which one it is.
pub(crate) fn only(
    app: &App,
    id: Option<&str>,
    what: &str,
    fits: impl Fn(&Run) -> bool,
) -> Result<Run, Problem> {
    let store = app.store()?;
    if let Some(id) = id {
        return require(&store, id);
    }
    // A command that changes something never acts on another repository.
    let mut fitting = match repository_of(&app.start_dir()?) {
        Some(here) => of_repository(&store, &here)?,
        None => Vec::new(),
    };
    fitting.retain(fits);
    let at = choose(&fitting, what)?;
    let run = fitting.swap_remove(at);
    tell(app, &run);
    Ok(run)
}

/// The run with this id; without one, the newest of this repository.
pub(crate) fn newest(app: &App, id: Option<&str>) -> Result<Run, Problem> {
    let store = app.store()?;
    if let Some(id) = id {
        return require(&store, id);
    }
    let mut runs = match repository_of(&app.start_dir()?) {
        Some(here) => of_repository(&store, &here)?,
        None => store.list(RunFilter::All, MOST)?,
    };
    // A child shows only a part; its root shows everything.
    runs.retain(|run| run.parent().is_none());
    let run = runs.into_iter().next().ok_or_else(|| {
        Problem::new(Kind::NoRuns, "no runs of this repository yet").hint(
            "start one with `drive spawn TASK`; `drive runs list --all` shows those of all \
             repositories",
        )
    })?;
    tell(app, &run);
    Ok(run)
}

/// The run of that id.
pub(super) fn require(store: &dyn Store, id: &str) -> Result<Run, Problem> {
    store.load(&RunId::new(id))?.ok_or_else(|| {
        Problem::new(Kind::UnknownRun, format!("there is no run `{id}`"))
            .hint("list runs with `drive runs list`")
    })
}

/// The runs of a repository, newest first.
fn of_repository(store: &dyn Store, here: &Path) -> Result<Vec<Run>, Problem> {
    let mut runs = store.list(RunFilter::All, MOST)?;
    runs.retain(|run| git_dir_of(run).as_deref() == Some(here));
    Ok(runs)
}

fn tell(app: &App, run: &Run) {
    app.output()
        .narrate(format_args!("run {} ({})", run.id, title(run)));
}

/// The position of the only candidate.
fn choose(fitting: &[Run], what: &str) -> Result<usize, Problem> {
    match fitting {
        [_] => Ok(0),
        [] => Err(Problem::new(
            Kind::NoRunFits,
            format!("no run of this repository can be {what}"),
        )
        .hint(
            "`drive runs list` shows its runs, `drive runs list --all` those of all repositories",
        )),
        _ => {
            let one = |run: &Run| {
                let state = State::of(run, &standing(run, &[]));
                format!("`{}` ({}: {})", run.id, state.as_str(), title(run))
            };
            let named: Vec<String> = fitting.iter().take(LISTED).map(one).collect();
            let rest = match fitting.len().saturating_sub(LISTED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            Err(Problem::new(
                Kind::SeveralRuns,
                format!("{} runs can be {what}", fitting.len()),
            )
            .hint(format!("name one of {}{rest}", named.join(", "))))
        }
    }
}

fn title(run: &Run) -> String {
    let task = run.request.as_ref().map_or("", |request| &request.task);
    title_of(task)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(ids: &[&str]) -> Vec<Run> {
        ids.iter().map(|id| Run::new(RunId::new(*id))).collect()
    }

    #[test]
    fn the_only_run_is_taken_and_several_are_listed() {
        assert_eq!(choose(&runs(&["r1"]), "stopped"), Ok(0));
        let none = choose(&[], "stopped").unwrap_err();
        assert_eq!(none.kind, Kind::NoRunFits);
        assert_eq!(none.message, "no run of this repository can be stopped");
        let several = choose(&runs(&["r2", "r1"]), "stopped").unwrap_err();
        assert_eq!(several.kind, Kind::SeveralRuns);
        assert_eq!(several.message, "2 runs can be stopped");
        let hint = several.hint.unwrap();
        assert!(hint.starts_with("name one of `r2` (running: "), "{hint}");
        let many: Vec<String> = (0..13).map(|n| format!("r{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let hint = choose(&runs(&many), "stopped").unwrap_err().hint.unwrap();
        assert!(hint.ends_with(" and 3 more"), "{hint}");
    }
}
