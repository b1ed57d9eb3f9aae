//! `drive runs`: runs, their events and their agents' logs.

mod extend;
pub(super) mod logs;
mod resume;
pub(super) mod tree;
mod verifications;

use self::logs::{follow, logs};
use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::documents::{
    JournalLine, ListedVerification, RunDetailDocument, RunSummary, RunsDocument,
};
use crate::output::Printable;
use crate::wiring::Wiring;
use clap::{Args, Subcommand};
use drive_core::agent::answer::title_of;
use drive_core::ids::RunId;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Run, paused_for, waits_for_person};
use drive_core::timeline::{describe_state, timeline};
use drive_engine::ports::{RunFilter, Store};
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
    List {
        /// Most runs, and most verifications, to show
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: u32,
    },
    /// Show a run and its events, or the report of a verification
    Show {
        /// Id of the run [default: the newest]
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
    /// Continue a run that was stopped (Ctrl-C) or killed
    Resume {
        /// Id of the run
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Raise the limits of a run and continue it
    Extend(extend::ExtendArgs),
    /// Print the log of a run's agents
    Logs {
        /// Id of the run [default: the newest]
        #[arg(value_name = "ID")]
        id: Option<String>,
        /// Keep printing until the run ends
        #[arg(short, long)]
        follow: bool,
    },
}

/// Runs a `drive runs` command.
pub(crate) fn run(args: &RunsArgs, app: &App) -> Outcome {
    let settings = &app.settings()?.settings;
    let wiring = Wiring::new(app, settings, &app.start_dir()?)?;
    match &args.command {
        RunsCommand::Resume { id } => resume::run(app, id),
        RunsCommand::Extend(args) => extend::extend(app, args),
        RunsCommand::List { limit } => list(app, &wiring, *limit),
        RunsCommand::Show { id } => match verifications::asked_for(app, &wiring, id.as_deref())? {
            Some(report) => verifications::show(&report),
            None => show(&wiring, &find(app, &wiring, id.as_deref())?),
        },
        RunsCommand::Logs { id, follow: false } => {
            logs(&wiring, &find(app, &wiring, id.as_deref())?)
        }
        RunsCommand::Logs { id, follow: true } => {
            follow(app, &wiring, find(app, &wiring, id.as_deref())?)
        }
    }
}

fn list(app: &App, wiring: &Wiring, limit: u32) -> Outcome {
    let runs = wiring.store.list(RunFilter::All, limit)?;
    let mut text = String::new();
    for (depth, run) in tree::in_order(&runs) {
        let task = run
            .request
            .as_ref()
            .map_or(String::new(), |request| title_of(&request.task));
        let id = format!("{}{}", "  ".repeat(depth), run.id);
        let _ = writeln!(text, "{id:22} {:15} {}", describe_state(run), task);
        let retry = || paused_for(run).map(|wait| format!("waiting for {wait}"));
        if let Some(why) = waits_for_person(run).or_else(retry) {
            let _ = writeln!(text, "{:22} {why}", "");
        }
    }
    let verifications = verifications::newest(app, limit)?;
    if runs.is_empty() && verifications.is_empty() {
        text.push_str("no runs yet\n");
    }
    verifications::list(&mut text, &verifications);
    let document = RunsDocument {
        runs: runs.iter().map(RunSummary::from).collect(),
        verifications: verifications.iter().map(ListedVerification::from).collect(),
    };
    Answer::new(&document, Printable(&text).to_string())
}

fn show(wiring: &Wiring, run: &Run) -> Outcome {
    let mut text = format!("run {}: {}\n", run.id, describe_state(run));
    let waits = waits_for_person(run);
    let of_person = || waits.as_ref().map(|why| format!("you: {why}"));
    if let Some(wait) = paused_for(run).or_else(of_person) {
        let _ = writeln!(text, "waiting  for {wait}");
    }
    for (id, child) in &run.children {
        let _ = writeln!(text, "{}", tree::child_line(id, child));
    }
    let entries = wiring.store.journal(&run.id)?;
    let events = entries.iter().map(|entry| (entry.event.clone(), entry.at));
    for moment in timeline(&run.id, events) {
        let _ = writeln!(text, "  {} {}", moment.at.strftime("%H:%M:%S"), moment.text);
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
        run: RunSummary::from(run),
        journal,
    };
    Answer::new(&document, Printable(&text).to_string())
}

fn find(app: &App, wiring: &Wiring, id: Option<&str>) -> Result<Run, Problem> {
    match id {
        Some(id) if verifications::find(app, id)?.is_some() => Err(Problem::new(
            Kind::UnknownRun,
            format!("`{id}` is a verification and has no log"),
        )
        .hint(format!("`drive runs show {id}` prints its report"))),
        Some(id) => wiring.journal().require(&RunId::new(id)),
        None => wiring.store.list(RunFilter::All, 1)?.pop().ok_or_else(|| {
            Problem::new(Kind::NoRuns, "no runs yet").hint("start one with `drive spawn TASK`")
        }),
    }
}
