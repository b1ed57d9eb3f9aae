//! `drive cruise resume`, and the answer of every command that owned a cruise.

use super::answers::{let_go, over, repo_of, report};
use super::find::{self, Reach};
use super::host::Host;
use super::rebuild::rebuild;
use super::reopen::reopen;
use super::show::living_owner;
use super::telling::{name, tell};
use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::commands::preflight::require_ready;
use crate::documents::{Failure, OwnedCruise, ResumedDocument, RunSummary};
use clap::Args;
use drive_core::ids::RunId;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Ask, Flow, Run};
use drive_core::timeline::describe_status;
use drive_engine::cruise::Resumed;
use drive_engine::ports::{RunFilter, Store};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::thread::scope;

/// The arguments of `drive cruise resume`.
#[derive(Debug, Args)]
pub(super) struct ResumeArgs {
    /// Id of the cruise; optional if there is only one
    #[arg(value_name = "ID", conflicts_with = "all")]
    id: Option<String>,

    /// Continue every active cruise
    #[arg(long)]
    all: bool,
}

/// Resumes the cruise of this id.
pub(crate) fn resume_cruise(app: &App, id: &str) -> Outcome {
    let args = ResumeArgs {
        id: Some(id.to_owned()),
        all: false,
    };
    run(&args, app)
}

/// Resumes a cruise that has no owner.
pub(super) fn run(args: &ResumeArgs, app: &App) -> Outcome {
    let folder = app.start_dir()?;
    let store = app.store()?;
    if args.all {
        return every(app, find::all(&store, RunFilter::Active)?);
    }
    let id = args.id.as_deref();
    let found = match find::one(&store, id, &folder, RunFilter::Active, Reach::Here) {
        Ok(found) => found,
        Err(problem) if is_reopened(app, &store, &folder, &problem)? => {
            find::one(&store, None, &folder, RunFilter::Active, Reach::Here)?
        }
        Err(problem) if matches!(problem.kind, Kind::NoCruise | Kind::UnknownCruise) => {
            let Some((host, id)) = rebuild(app, &folder, args.id.as_deref())? else {
                return Err(problem);
            };
            let run = host.with_service(app, |cruises| cruises.resume(&id))?;
            return report(&host, &run);
        }
        Err(problem) => return Err(problem),
    };
    let found = match &found.outcome {
        None => found,
        Some(outcome) => reopen(app, &found)?.ok_or_else(|| over(&found, outcome))?,
    };
    if is_paused(&found) && living_owner(&store, &found).is_some() {
        return unpause(app, &found);
    }
    let host = Host::of(app, &repo_of(app, &found)?)?;
    let found = host.wiring.journal().require(&found.id)?;
    let run = host.with_service(app, |cruises| {
        cruises.require_free(&found.id)?;
        require_publishable(app, &host, &found)?;
        app.output()
            .narrate(format_args!("resuming cruise {}", found.id));
        if is_paused(&found) {
            cruises.tell(&found.id, Ask::Unpause, &name()?)?;
        }
        cruises.resume(&found.id)
    })?;
    report(&host, &run)
}

/// Whether a command without an id refers to a cruise whose pull request was reopened.
fn is_reopened(
    app: &App,
    store: &dyn Store,
    folder: &Path,
    problem: &Problem,
) -> Result<bool, Problem> {
    if problem.kind != Kind::NoCruise {
        return Ok(false);
    }
    let Some(closed) = find::closed(store, folder)? else {
        return Ok(false);
    };
    match reopen(app, &closed) {
        Ok(reopened) => Ok(reopened.is_some()),
        Err(problem) if problem.kind == Kind::CruiseOver => Ok(false),
        Err(problem) => Err(problem),
    }
}

/// Asks the owner of a paused cruise to continue.
fn unpause(app: &App, run: &Run) -> Outcome {
    tell(
        app,
        run,
        vec![(Ask::Unpause, name()?)],
        "starts tasks again",
    )
}

fn is_paused(run: &Run) -> bool {
    matches!(&run.flow, Flow::Cruise { build } if build.paused)
}

/// Resumes every cruise, with the settings and the forge of each repository.
fn every(app: &App, runs: Vec<Run>) -> Outcome {
    let mut by_repo: BTreeMap<PathBuf, Vec<RunId>> = BTreeMap::new();
    let mut hosts = Vec::new();
    let mut failed: Vec<(String, Problem)> = Vec::new();
    for run in &runs {
        match repo_of(app, run) {
            Ok(repo) => by_repo.entry(repo).or_default().push(run.id.clone()),
            Err(problem) => failed.push((run.id.to_string(), problem)),
        }
    }
    for (repo, ids) in by_repo {
        match Host::of(app, &repo) {
            Ok(host) => {
                let first = runs.iter().find(|run| Some(&run.id) == ids.first());
                match first.map_or(Ok(()), |run| require_publishable(app, &host, run)) {
                    Ok(()) => hosts.push((host, ids)),
                    Err(problem) => {
                        failed.extend(ids.iter().map(|id| (id.to_string(), problem.clone())));
                    }
                }
            }
            Err(problem) => failed.extend(ids.iter().map(|id| (id.to_string(), problem.clone()))),
        }
    }
    let count = runs.len() - failed.len();
    let cruises = if count == 1 { "cruise" } else { "cruises" };
    app.output()
        .narrate(format_args!("resuming {count} {cruises}"));
    let (output, cancel) = (app.output(), app.cancel()?);
    let mut all = Resumed::default();
    let results: Vec<Result<Resumed, Problem>> = scope(|threads| {
        let each: Vec<_> = hosts
            .iter()
            .map(|(host, ids)| threads.spawn(move || host.resume_all(output, cancel, ids)))
            .collect();
        each.into_iter()
            .map(|one| {
                one.join().unwrap_or_else(|_| {
                    Err(
                        Problem::new(Kind::Internal, "a thread that ran cruises panicked")
                            .hint("this is a bug in drive; please report it"),
                    )
                })
            })
            .collect()
    });
    for result in results {
        let resumed = result?;
        all.ended.extend(resumed.ended);
        all.owned.extend(resumed.owned);
    }
    report_all(all, failed)
}

fn report_all(all: Resumed, failed: Vec<(String, Problem)>) -> Outcome {
    let mut text = String::new();
    let mut cruises = Vec::new();
    let mut problem = None;
    let mut open = Vec::new();
    for one in all.ended {
        match one {
            Ok(run) => {
                let state = match &run.outcome {
                    Some(outcome) => describe_status(outcome.status),
                    None => "is detached and still active",
                };
                let _ = writeln!(text, "{} {state}", run.id);
                if run.outcome.is_none() {
                    open.push(run.id.clone());
                }
                cruises.push(RunSummary::from(&run));
            }
            Err(error) => {
                let _ = writeln!(text, "failed: {error}");
                problem.get_or_insert(error);
            }
        }
    }
    for (run, owner) in &all.owned {
        let _ = writeln!(text, "{run} is owned by process {}", owner.process.pid);
    }
    for (run, error) in failed {
        let _ = writeln!(text, "{run} could not be resumed: {error}");
        problem.get_or_insert(error);
    }
    match open.as_slice() {
        [] => {}
        [one] => {
            problem.get_or_insert_with(|| let_go(one));
        }
        many => {
            problem.get_or_insert_with(|| {
                Problem::new(
                    Kind::Interrupted,
                    format!("{} cruises are detached and still active", many.len()),
                )
                .hint("continue with `drive cruise resume --all`")
            });
        }
    }
    if text.is_empty() {
        text.push_str("no cruise to resume\n");
    }
    let owned = all.owned.iter().map(|(run, owner)| OwnedCruise {
        id: run.to_string(),
        pid: owner.process.pid,
    });
    let document = ResumedDocument {
        cruises,
        owned: owned.collect(),
        failure: problem.as_ref().map(Failure::from),
    };
    Ok(Answer::new(&document, text)?.failed_if(problem))
}

/// Fails if the forge would refuse what the cruise publishes.
fn require_publishable(app: &App, host: &Host, run: &Run) -> Result<(), Problem> {
    match &run.request {
        Some(request) => require_ready(app, host.forge()?, &host.wiring.git, request),
        None => Ok(()),
    }
}
