//! `drive sandbox`: lists sandboxes, opens a shell in one, and removes them.

use super::sandbox_prune;
use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::documents::{KeptWorkDocument, SandboxDocument, SandboxEntry};
use crate::output::{Format, Printable};
use crate::repository::repository_of;
use crate::table::{Cell, Column, Tone, age, render};
use crate::wiring::Wiring;
use clap::{Args, Subcommand};
use drive_adapters::process::run_in_foreground;
use drive_core::ids::SandboxId;
use drive_core::problem::{Kind, Problem};
use drive_core::run::Run;
use drive_core::sandbox::Sandbox;
use drive_engine::ports::{Sandboxes, Store};
use std::ffi::OsString;

/// The arguments of `drive sandbox`.
#[derive(Debug, Args)]
pub(crate) struct SandboxArgs {
    #[command(subcommand)]
    command: SandboxCommand,
}

#[derive(Debug, Subcommand)]
enum SandboxCommand {
    /// List sandboxes, the oldest first
    List {
        /// Show the sandboxes of all repositories
        #[arg(long)]
        all: bool,
    },
    /// Start a shell in a sandbox
    Open {
        /// Id of the sandbox or its run [default: the only one of this repository]
        #[arg(value_name = "ID")]
        id: Option<String>,
        /// Print the path of the sandbox instead
        #[arg(long)]
        print: bool,
    },
    /// Remove the sandbox of an ended run, after saving its work
    Remove {
        /// Id of the sandbox or its run [default: the only one whose run has ended]
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
    /// Remove the sandboxes of ended runs, after showing them with their sizes and saving their work
    Prune(sandbox_prune::PruneArgs),
}

/// Keeps git from running the hooks and the file monitor of a sandbox. Other configuration by an
/// agent (filters, aliases, a pager) still applies, so the user is warned.
const SAFE_GIT: [(&str, &str); 5] = [
    ("GIT_CONFIG_COUNT", "2"),
    ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
    ("GIT_CONFIG_VALUE_0", "false"),
    ("GIT_CONFIG_KEY_1", "core.hooksPath"),
    ("GIT_CONFIG_VALUE_1", "/dev/null"),
];

/// Runs a `drive sandbox` command.
pub(crate) fn run(args: &SandboxArgs, app: &App) -> Outcome {
    let wiring = Wiring::new(app, &app.settings()?.settings, &app.start_dir()?)?;
    match &args.command {
        SandboxCommand::List { all } => list(app, &wiring, *all),
        SandboxCommand::Open { id, print } => open(app, &wiring, id.as_deref(), *print),
        SandboxCommand::Remove { id } => remove(app, &wiring, id.as_deref()),
        SandboxCommand::Prune(args) => sandbox_prune::prune(app, &wiring, args),
    }
}

/// Candidates named in an error.
const LISTED: usize = 10;

const COLUMNS: [Column; 5] = [
    Column::left("ID", 0),
    Column::left("STATE", 0),
    Column::right("AGE", 1),
    Column::left("BRANCH", 2),
    Column::left("PATH", 0),
];

fn list(app: &App, wiring: &Wiring, all: bool) -> Outcome {
    let here = repository_of(&app.start_dir()?).filter(|_| !all);
    let mut found = wiring.sandboxes.load_all()?;
    found.retain(|one| {
        let of = || one.git_dir.canonicalize().ok();
        here.is_none() || of() == here
    });
    let mut entries = Vec::new();
    let mut rows = Vec::new();
    for sandbox in &found {
        let is_in_use = is_active(wiring, sandbox)?;
        entries.push(SandboxEntry::new(sandbox, is_in_use));
        let branch = sandbox.branch.as_ref();
        rows.push([
            Cell::new(sandbox.id.as_str()),
            if is_in_use {
                Cell::toned("in use", Tone::Working)
            } else {
                Cell::new("kept")
            },
            Cell::new(age(sandbox.created_at, app.now())),
            Cell::new(branch.map_or("", |branch| branch.as_str())),
            Cell::new(sandbox.path.display().to_string()),
        ]);
    }
    let text = match (rows.is_empty(), here) {
        (true, None) => "no sandboxes\n".to_owned(),
        (true, Some(_)) => {
            "no sandboxes of this repository; `drive sandbox list --all` shows those of all\n"
                .to_owned()
        }
        (false, _) => render(COLUMNS, &rows, app.output().look()),
    };
    Answer::new(&SandboxDocument::List { sandboxes: entries }, text)
}

fn open(app: &App, wiring: &Wiring, id: Option<&str>, print: bool) -> Outcome {
    let sandbox = find(app, wiring, id, |_| Ok(true))?;
    let document = SandboxDocument::Opened {
        opened: SandboxEntry::new(&sandbox, is_active(wiring, &sandbox)?),
    };
    let path = sandbox.path.display().to_string();
    if print || app.output().format() == Format::Json {
        return Answer::new(&document, format!("{}\n", Printable(&path)));
    }
    let shell = app.environment().get("SHELL").map(OsString::from);
    let shell = shell.unwrap_or_else(|| "/bin/sh".into());
    app.output().narrate(format_args!(
        "a shell in {path}; an agent wrote these files and could change git's settings here, so look \
         before you run any of them, or git"
    ));
    // The shell's exit code is that of its last command, and no failure of drive.
    let _ = run_in_foreground(&shell, &sandbox.path, &SAFE_GIT)?;
    Answer::new(&document, "")
}

fn remove(app: &App, wiring: &Wiring, id: Option<&str>) -> Outcome {
    let is_over = |one: &Sandbox| Ok(!is_active(wiring, one)?);
    let sandbox = find(app, wiring, id, is_over)?;
    let run = &sandbox.run;
    match wiring.store.load(run)? {
        Some(found) if !found.is_active() => {}
        Some(_) => {
            let message = format!("sandbox `{}` is used by run `{run}`", sandbox.id);
            return Err(Problem::new(Kind::SandboxInUse, message)
                .hint(format!("stop the run first: `drive runs stop {run}`")));
        }
        None => {
            let message = format!("the journal does not know run `{run}` of this sandbox");
            return Err(Problem::new(Kind::SandboxInUse, message).hint(
                "continue its cruise with `drive cruise resume`, which reads its state file",
            ));
        }
    }
    wiring.sandboxes.retire(&sandbox)?;
    let kept = wiring.sandboxes.settle(&sandbox.id)?;
    let mut text = format!("removed sandbox {}\n", sandbox.id);
    if let Some(kept) = &kept {
        let reference = &kept.reference;
        text.push_str(&format!(
            "saved    {reference} (`drive kept restore {reference}`)\n"
        ));
    }
    let document = SandboxDocument::Removed {
        removed: SandboxEntry::new(&sandbox, false),
        kept: kept.as_ref().map(KeptWorkDocument::from),
    };
    Answer::new(&document, text)
}

/// The sandbox with this id, else the one of the run with this id; without an id, the only one of
/// this repository that fits.
fn find(
    app: &App,
    wiring: &Wiring,
    id: Option<&str>,
    fits: impl Fn(&Sandbox) -> Result<bool, Problem>,
) -> Result<Sandbox, Problem> {
    let mut found = wiring.sandboxes.load_all()?;
    let Some(id) = id else {
        let here = repository_of(&app.start_dir()?);
        let mut fitting = Vec::new();
        for one in found {
            let is_here = here.is_some() && one.git_dir.canonicalize().ok() == here;
            if is_here && fits(&one)? {
                fitting.push(one);
            }
        }
        let sandbox = only(fitting)?;
        app.output().narrate(format_args!(
            "sandbox {} of run {}",
            sandbox.id, sandbox.run
        ));
        return Ok(sandbox);
    };
    let wanted = SandboxId::new(id);
    let at = found
        .iter()
        .position(|one| one.id == wanted)
        .or_else(|| found.iter().position(|one| one.run.as_str() == id));
    at.map(|at| found.swap_remove(at)).ok_or_else(|| {
        Problem::new(Kind::UnknownSandbox, format!("there is no sandbox `{id}`"))
            .hint("list them with `drive sandbox list --all`")
    })
}

fn only(mut fitting: Vec<Sandbox>) -> Result<Sandbox, Problem> {
    let listed = |all: &[Sandbox]| {
        let ids = all.iter().take(LISTED).map(|one| format!("`{}`", one.id));
        ids.collect::<Vec<String>>().join(", ")
    };
    match fitting.as_slice() {
        [_] => Ok(fitting.remove(0)),
        [] => Err(
            Problem::new(Kind::UnknownSandbox, "this repository has no such sandbox")
                .hint("list them with `drive sandbox list --all`"),
        ),
        all => Err(Problem::new(
            Kind::SeveralSandboxes,
            format!("{} sandboxes of this repository fit", all.len()),
        )
        .hint(format!("name one of {}", listed(all)))),
    }
}

fn is_active(wiring: &Wiring, sandbox: &Sandbox) -> Result<bool, Problem> {
    Ok(wiring
        .store
        .load(&sandbox.run)?
        .as_ref()
        .is_some_and(Run::is_active))
}
