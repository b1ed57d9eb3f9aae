//! `drive runs`: runs, their events and their agents' logs.

mod agent_logs;
mod continuing;
mod extend;
mod list;
pub(super) mod logs;
mod pick;
mod rendered;
mod resume;
mod retry;
mod stop;
pub(super) mod tree;
mod verifications;

use self::logs::{follow, logs};
use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::documents::{JournalLine, RunDetailDocument, RunSummary};
use crate::output::Printable;
use crate::wiring::Wiring;
use clap::{Args, Subcommand};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Group, Run, Standing, State, standing, waiting_for, waits_for_person};
use drive_core::timeline::timeline;
use drive_engine::lease;
use drive_engine::ports::Store;
use std::fmt::Write;

/// The arguments of `drive runs`.
#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    command: RunsCommand,
}

#[derive(Debug, Subcommand)]
enum RunsCommand {
    /// List the newest runs and verifications
    List(list::ListArgs),
    /// Show a run and its events, or the report of a verification
    Show {
        /// Id of the run [default: the newest of this repository]
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
    /// Continue a run that was stopped (Ctrl-C) or killed
    Resume {
        /// Id of the run [default: the only one of this repository that can be continued]
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
    /// Give an ended run another task, on its branch and its pull request
    Continue(continuing::ContinueArgs),
    /// Stop a run or a verification; save the work of a run and remove its sandbox
    Stop(stop::StopArgs),
    /// Start a failed run again, as a new run from the current tip of its base
    Retry {
        /// Id of the run [default: the only one of this repository that ended without success]
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
    /// Raise the limits of a run and continue it
    Extend(extend::ExtendArgs),
    /// Print what a run's agents did
    Logs {
        /// Id of the run [default: the newest of this repository]
        #[arg(value_name = "ID")]
        id: Option<String>,
        /// Keep printing until the run ends
        #[arg(short, long)]
        follow: bool,
        #[command(flatten)]
        options: logs::LogOptions,
    },
}

/// Runs a `drive runs` command.
pub(crate) fn run(args: &RunsArgs, app: &App) -> Outcome {
    let settings = &app.settings()?.settings;
    let wiring = Wiring::new(app, settings, &app.start_dir()?)?;
    match &args.command {
        RunsCommand::Resume { id } => resume::run(app, &wiring, id.as_deref()),
        RunsCommand::Continue(args) => continuing::give_more(app, &wiring, args),
        RunsCommand::Extend(args) => extend::extend(app, args),
        RunsCommand::Stop(args) => stop::stop(app, &wiring, args),
        RunsCommand::Retry { id } => retry::retry(app, id.as_deref()),
        RunsCommand::List(args) => list::list(app, &wiring, args),
        RunsCommand::Show { id } => match verifications::asked_for(app, &wiring, id.as_deref())? {
            Some(report) => verifications::show(&report),
            None => show(&wiring, &find(app, id.as_deref())?),
        },
        RunsCommand::Logs {
            id,
            follow: follows,
            options,
        } => {
            let run = find(app, id.as_deref())?;
            if *follows {
                follow(app, &wiring, run, options)
            } else {
                logs(&wiring, &run, options)
            }
        }
    }
}

fn show(wiring: &Wiring, run: &Run) -> Outcome {
    let its = stands(wiring, run)?;
    let state = State::of(run, &its);
    let mut text = format!("run {}: {}\n", run.id, state.as_str());
    let waits = waits_for_person(run);
    if let Some(wait) = waiting_for(run, &its) {
        let whom = match its.group {
            Group::NeedsYou => "you: ",
            Group::Working | Group::Waiting | Group::Done => "",
        };
        let _ = writeln!(text, "waiting  for {whom}{wait}");
    }
    for (id, child) in &run.children {
        let _ = writeln!(text, "{}", tree::child_line(id, child));
    }
    let entries = wiring.store.journal(&run.id)?;
    let events = entries.iter().map(|entry| (entry.event.clone(), entry.at));
    for moment in timeline(&run.id, events) {
        let _ = writeln!(text, "  {} {}", moment.at.strftime("%H:%M:%S"), moment.text);
    }
    // What is missing stands in the timeline, with the rest.
    let held = run.layers.iter().filter(|layer| layer.is_active());
    let held: Vec<&str> = held.map(|layer| layer.name.as_str()).collect();
    if !held.is_empty() {
        let _ = writeln!(text, "held by layers: {}", held.join(", "));
    }
    let journal = entries.iter().map(JournalLine::from).collect();
    let failure = run
        .outcome
        .as_ref()
        .and_then(|outcome| outcome.failure.as_ref());
    if let Some(problem) = failure.filter(|_| waits.is_none()) {
        let _ = writeln!(text, "{problem}");
    }
    let document = RunDetailDocument {
        run: RunSummary::standing(run, &its),
        journal,
    };
    Answer::new(&document, Printable(&text).to_string())
}

/// The standing of a run, computed from its children and from whether a process owns it.
fn stands(wiring: &Wiring, run: &Run) -> Result<Standing, Problem> {
    let mut children = Vec::new();
    for id in run.children.keys() {
        children.extend(wiring.store.load(id)?);
    }
    let its = standing(run, &children);
    lease::with_owner(&wiring.store, &wiring.whoami, run, its)
}

fn find(app: &App, id: Option<&str>) -> Result<Run, Problem> {
    match id {
        Some(id) if verifications::find(app, id)?.is_some() => Err(Problem::new(
            Kind::UnknownRun,
            format!("`{id}` is a verification and has no log"),
        )
        .hint(format!("`drive runs show {id}` prints its report"))),
        Some(_) | None => pick::newest(app, id),
    }
}
