//! `drive runs`: what ran, what came of it, what the agent said.

use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::documents::{
    JournalLine, RunDetailDocument, RunLogDocument, RunStatus, RunSummary, RunsDocument, path_text,
};
use crate::output::Printable;
use crate::wiring::Wiring;
use clap::{Args, Subcommand};
use drive_adapters::agents::TRANSCRIPT;
use drive_adapters::files::{load_from, load_tail};
use drive_core::agent::answer::title_of;
use drive_core::ids::RunId;
use drive_core::problem::{Kind, Problem};
use drive_core::run::Run;
use drive_engine::ports::{RunFilter, Store};
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How much of a log is shown at most.
const LOG_BYTES: u64 = 4 * 1024 * 1024;
/// How often a followed log is looked at.
const FOLLOW_EVERY: Duration = Duration::from_millis(200);

/// The arguments of `drive runs`.
#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    command: RunsCommand,
}

#[derive(Debug, Subcommand)]
enum RunsCommand {
    /// List the newest runs
    List {
        /// Show at most this many
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: u32,
    },
    /// Show one run and everything that happened in it
    Show {
        /// The run; the newest when left out
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
    /// Print what the agents of one run said and did
    Logs {
        /// The run; the newest when left out
        #[arg(value_name = "ID")]
        id: Option<String>,
        /// Go on printing until the run has ended
        #[arg(short, long)]
        follow: bool,
    },
}

/// Looks at the journal.
pub(crate) fn run(args: &RunsArgs, app: &App) -> Outcome {
    let settings = &app.settings()?.settings;
    let wiring = Wiring::new(app, settings, &app.start_dir()?)?;
    match &args.command {
        RunsCommand::List { limit } => list(&wiring, *limit),
        RunsCommand::Show { id } => show(&wiring, &find(&wiring, id.as_deref())?),
        RunsCommand::Logs { id, follow: false } => logs(&wiring, &find(&wiring, id.as_deref())?),
        RunsCommand::Logs { id, follow: true } => {
            follow(app, &wiring, find(&wiring, id.as_deref())?)
        }
    }
}

fn list(wiring: &Wiring, limit: u32) -> Outcome {
    let runs = wiring.store.list(RunFilter::All, limit)?;
    let mut text = String::new();
    for run in &runs {
        let task = run
            .request
            .as_ref()
            .map_or(String::new(), |request| title_of(&request.task));
        let _ = writeln!(text, "{:22} {:10} {}", run.id.as_str(), state(run), task);
    }
    if runs.is_empty() {
        text.push_str("no runs yet\n");
    }
    let document = RunsDocument {
        runs: runs.iter().map(RunSummary::from).collect(),
    };
    Answer::new(&document, text)
}

fn show(wiring: &Wiring, run: &Run) -> Outcome {
    let mut text = format!("run {}: {}\n", run.id, state(run));
    let mut journal = Vec::new();
    for entry in wiring.store.journal(&run.id)? {
        let event = serde_json::to_value(&entry.event).unwrap_or(Value::Null);
        let name = event
            .get("event")
            .and_then(Value::as_str)
            .unwrap_or("event")
            .to_owned();
        let about = event
            .get("key")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let _ = writeln!(text, "  {} {name} {about}", entry.at.strftime("%H:%M:%S"));
        journal.push(JournalLine {
            seq: entry.seq,
            at: entry.at.into(),
            event,
        });
    }
    let failure = run
        .outcome
        .as_ref()
        .and_then(|outcome| outcome.failure.as_ref());
    if let Some(problem) = failure {
        let _ = writeln!(text, "failure: {problem}");
    }
    let document = RunDetailDocument {
        run: RunSummary::from(run),
        journal,
    };
    Answer::new(&document, text)
}

pub(super) fn logs(wiring: &Wiring, run: &Run) -> Outcome {
    let path = newest_log(wiring, run).ok_or_else(|| no_log(run))?;
    let bytes = load_tail(&path, LOG_BYTES).map_err(|error| unreadable(&path, &error))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let shown = Printable(&text).to_string();
    let document = RunLogDocument {
        run_id: run.id.to_string(),
        path: Some(path_text(&path)),
        log: Some(text),
    };
    Answer::new(&document, shown)
}

/// Prints what comes, line by line, until the run has ended or nobody reads any more.
pub(super) fn follow(app: &App, wiring: &Wiring, mut run: Run) -> Outcome {
    let (mut shown, mut current) = (0, None);
    let mut is_read = true;
    loop {
        let ended = !run.is_active();
        let newest = newest_log(wiring, &run);
        if newest != current {
            (shown, current) = (0, newest);
        }
        if let Some(path) = &current {
            let fresh =
                load_from(path, shown, LOG_BYTES).map_err(|error| unreadable(path, &error))?;
            let whole = fresh
                .iter()
                .rposition(|b| *b == b'\n')
                .map_or(0, |end| end + 1);
            for line in String::from_utf8_lossy(&fresh[..whole]).lines() {
                is_read = is_read && app.output().line(Printable(line)).is_continue();
            }
            shown += whole as u64;
        }
        if ended || !is_read || app.cancel()?.asked().is_some() {
            let document = RunLogDocument {
                run_id: run.id.to_string(),
                path: current.as_deref().map(path_text),
                log: None,
            };
            return Answer::new(&document, "");
        }
        std::thread::sleep(FOLLOW_EVERY);
        run = wiring.journal().require(&run.id)?;
    }
}

/// The log of the agent that worked last.
fn newest_log(wiring: &Wiring, run: &Run) -> Option<PathBuf> {
    let folders = std::fs::read_dir(wiring.runs_dir.join(run.id.as_str())).ok()?;
    let logs = folders.filter_map(|entry| Some(entry.ok()?.path().join(TRANSCRIPT)));
    logs.filter_map(|log| Some((log.metadata().ok()?.modified().ok()?, log)))
        .max()
        .map(|(_, log)| log)
}

fn no_log(run: &Run) -> Problem {
    Problem::new(
        Kind::NoLog,
        format!("no agent of run `{}` has a log", run.id),
    )
    .hint(format!("see how far it came: `drive runs show {}`", run.id))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Problem {
    Problem::new(
        Kind::LogUnreadable,
        format!("cannot read `{}`", path.display()),
    )
    .because(error)
}

fn state(run: &Run) -> &'static str {
    let outcome = run.outcome.as_ref();
    outcome.map_or("running", |outcome| {
        RunStatus::from(outcome.status).as_str()
    })
}

fn find(wiring: &Wiring, id: Option<&str>) -> Result<Run, Problem> {
    match id {
        Some(id) => wiring.journal().require(&RunId::new(id)),
        None => wiring.store.list(RunFilter::All, 1)?.pop().ok_or_else(|| {
            Problem::new(Kind::NoRuns, "there are no runs yet")
                .hint("start one with `drive spawn TASK`")
        }),
    }
}
