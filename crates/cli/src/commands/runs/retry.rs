//! `drive runs retry`: a new run with the same request.

use super::pick;
use super::resume::{Ready, agents};
use crate::answer::Outcome;
use crate::app::App;
use crate::commands::preflight::require_ready;
use crate::commands::start_warnings::warn_of_uncommitted_changes;
use crate::run_report;
use drive_core::default_branch_name::default_branch_name;
use drive_core::ids::RunId;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{OutcomeStatus, Request, Run, RunKind};
use drive_engine::ports::{Place, VersionControl};
use drive_engine::start;

/// Repeats the request of a run that did not succeed, under a new id.
pub(super) fn retry(app: &App, id: Option<&str>) -> Outcome {
    let found = pick::only(app, id, "repeated", |run| repeatable(run).is_ok())?;
    let id = &found.id;
    let before = repeatable(&found)?;
    let ready = Ready::new(app, &found, before)?;
    let wiring = &ready.wiring;
    let new = wiring.new_run()?;
    let request = anew(before, &new, &wiring.git)?;
    wiring.require_agents(agents(&request), &request.task, app)?;
    if let Some(talk) = &ready.conversation {
        require_ready(app, talk.forge.as_ref(), &wiring.git, &request)?;
    }
    warn_of_uncommitted_changes(app, &wiring.git, &request);
    app.output()
        .narrate(format_args!("repeating run {id} as run {new}"));
    let folder = request.repo.clone();
    let run = ready.fly(app, |world, cancel| {
        let journal = wiring.journal();
        start::execute(request, &new, journal, &wiring.whoami, world, cancel)
    })?;
    run_report::answer(&run, wiring.changes(&run, &folder).as_ref(), None)
}

/// The request of a run that can be repeated.
fn repeatable(run: &Run) -> Result<&Request, Problem> {
    let id = &run.id;
    let refused = |message: String, hint: String| {
        Err(Problem::new(Kind::RunNotRetryable, message).hint(hint))
    };
    let Some(request) = run.request.as_deref() else {
        return refused(
            format!("run `{id}` was stopped before it started"),
            "start it again with `drive spawn` or `drive spawn-team`".to_owned(),
        );
    };
    if let Some(parent) = run.parent() {
        let (root, task) = (&parent.run, &parent.task);
        return refused(
            format!("run `{id}` builds task `{task}` of run `{root}`"),
            format!("try the task again with `drive cruise retry {task} --cruise {root}`"),
        );
    }
    match &request.kind {
        RunKind::Spawn | RunKind::Team(_) => {}
        RunKind::Cruise(_) | RunKind::Build(_) => {
            return refused(
                format!("`{id}` is a cruise"),
                "try a blocked task again with `drive cruise retry TASK`, or start a new cruise with \
                 `drive cruise run`"
                    .to_owned(),
            );
        }
    }
    match run.outcome.as_ref().map(|outcome| outcome.status) {
        None => refused(
            format!("run `{id}` has not ended yet"),
            format!("stop it first: `drive runs stop {id}`"),
        ),
        Some(OutcomeStatus::Succeeded) => refused(
            format!("run `{id}` succeeded, so there is nothing to try again"),
            format!("see its result with `drive runs show {id}`"),
        ),
        Some(
            OutcomeStatus::Failed
            | OutcomeStatus::TimedOut
            | OutcomeStatus::Cancelled
            | OutcomeStatus::NeedsHuman,
        ) => Ok(request),
    }
}

/// The same request, from its base's current commit, on a new branch.
fn anew(before: &Request, run: &RunId, git: &dyn VersionControl) -> Result<Request, Problem> {
    let mut request = before.clone();
    if let Some(base) = &before.base_branch {
        let place = Place::Checkout(&before.repo);
        if let Ok(sha) = git.resolve(place, &base.full()) {
            request.base_sha = sha;
        }
    }
    request.branch = default_branch_name(&before.task, run)?;
    if let RunKind::Team(terms) = &mut request.kind {
        terms.branch = None;
    }
    Ok(request)
}
