//! `drive runs stop`: ends a run of any process and saves its work.

use super::{pick, verifications};
use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::commands::cruise::cleanup_cruise;
use crate::commands::verify::Running;
use crate::documents::{AskedDocument, RunDocument};
use crate::output::Printable;
use crate::wiring::Wiring;
use clap::Args;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Run, is_cruise, require_resumable};
use drive_core::timeline::describe_state;
use std::fmt::Write;

/// The arguments of `drive runs stop`.
#[derive(Debug, Args)]
pub(super) struct StopArgs {
    /// Id of the run [default: the only one of this repository that has not ended]
    #[arg(value_name = "ID")]
    id: Option<String>,

    /// Stop a cruise too; it cannot be resumed
    #[arg(short, long)]
    yes: bool,
}

pub(super) fn stop(app: &App, wiring: &Wiring, args: &StopArgs) -> Outcome {
    if let Some(verification) = verifications::running_with(app, args.id.as_deref())? {
        return stop_verification(app, &verification);
    }
    let fits = |run: &Run| run.is_active() && run.parent().is_none();
    let run = pick::only(app, args.id.as_deref(), "stopped", fits)?;
    if !run.is_active() {
        return Err(over(&run));
    }
    if let Some(parent) = run.parent() {
        return Err(of_task(&run, parent.run.as_str(), parent.task.as_str()));
    }
    if is_cruise(&run) {
        return if args.yes {
            cleanup_cruise(app, run.id.as_str())
        } else {
            Err(for_good(&run))
        };
    }
    app.output()
        .narrate(format_args!("stopping run {} and saving its work", run.id));
    let run = wiring.stop(app, &run.id)?;
    Answer::new(
        &RunDocument::new(&run, None),
        Printable(&text(&run)).to_string(),
    )
}

/// A verification leaves nothing to save.
fn stop_verification(app: &App, verification: &Running) -> Outcome {
    let (run, pid) = (&verification.run, verification.pid());
    app.output()
        .narrate(format_args!("stopping verification {run}"));
    verification.stop(app)?;
    let document = AskedDocument {
        id: run.to_string(),
        pid: Some(pid),
    };
    Answer::new(&document, format!("verification {run} stopped\n"))
}

/// The saved work, and the command that continues the run.
fn text(run: &Run) -> String {
    let id = &run.id;
    let mut text = format!("run {id} stopped ({})\n", describe_state(run));
    if let (Some(branch), Some(_)) = (&run.work.branch, &run.work.head_sha) {
        let _ = writeln!(text, "branch   {branch}");
    }
    if let Some(pr) = &run.work.pull_request {
        let _ = writeln!(text, "pull     #{} {}", pr.number, pr.url);
    }
    for kept in &run.kept {
        let reference = &kept.reference;
        let _ = writeln!(text, "saved    {reference} (`drive kept restore {id}`)");
    }
    for sandbox in run.sandboxes.values() {
        let _ = writeln!(text, "sandbox  {}", sandbox.path.display());
    }
    for warning in &run.warnings {
        let _ = writeln!(text, "note     {}", warning.replace('\n', "\n           "));
    }
    if require_resumable(run, None).is_ok() {
        let _ = writeln!(text, "continue drive runs resume {id}");
    }
    text
}

fn over(run: &Run) -> Problem {
    let id = &run.id;
    let message = format!("run `{id}` has already ended: {}", describe_state(run));
    let problem = Problem::new(Kind::RunOver, message);
    if require_resumable(run, None).is_ok() {
        return problem.hint(format!("continue it with `drive runs resume {id}`"));
    }
    problem.hint(format!("see how it ended with `drive runs show {id}`"))
}

fn of_task(run: &Run, root: &str, task: &str) -> Problem {
    let message = format!("run `{}` is part of run `{root}`, which decides", run.id);
    Problem::new(Kind::RunOfTask, message).hint(format!(
        "leave the task out with `drive cruise skip {task} --cruise {root}`, or stop all of it with \
         `drive runs stop {root}`"
    ))
}

fn for_good(run: &Run) -> Problem {
    let id = &run.id;
    let message = format!("`{id}` is a cruise, and a cruise that is stopped ends for good");
    Problem::new(Kind::NotConfirmed, message).hint(format!(
        "start no more tasks with `drive cruise pause {id}`, or save its work and end it with \
         `drive runs stop {id} --yes`"
    ))
}
