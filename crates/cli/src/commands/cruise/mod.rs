//! `drive cruise`: plans on a pull request, builds the approved plan and checks what it promises.

mod answers;
mod ask;
mod find;
mod host;
mod rebuild;
mod relocate;
mod reopen;
mod report;
mod resume;
mod run;
mod show;
mod tasks;
mod telling;

pub(crate) use ask::extend_limits;
pub(crate) use report::audit_text;
pub(crate) use resume::resume_cruise;
pub(crate) use run::build_terms;

use crate::answer::Outcome;
use crate::app::App;
use crate::commands::runs::logs::LogOptions;
use clap::{Args, Subcommand};

/// The arguments of `drive cruise`.
#[derive(Debug, Args)]
pub(crate) struct CruiseArgs {
    #[command(subcommand)]
    command: CruiseCommand,
}

#[derive(Debug, Subcommand)]
enum CruiseCommand {
    /// Plan a task, build the approved plan and check what it promises
    Run(Box<run::RunArgs>),
    /// List active cruises
    List {
        /// Include ended cruises
        #[arg(long)]
        all: bool,
    },
    /// Show the state of a cruise: its step, what it waits for, open comments
    Status {
        /// Id of the cruise; optional if there is only one
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
    /// Print what a cruise's agents did
    Logs {
        /// Id of the cruise; optional if there is only one
        #[arg(value_name = "ID")]
        id: Option<String>,
        /// Keep printing until the cruise ends
        #[arg(short, long)]
        follow: bool,
        #[command(flatten)]
        options: LogOptions,
    },
    /// Poll the pull request now, and run a fixer if a comment is pending
    Fix {
        /// Id of the cruise; optional if there is only one
        #[arg(value_name = "ID")]
        id: Option<String>,
        /// Comment to add; `-` reads it from standard input
        #[arg(long, value_name = "TEXT")]
        comment: Option<String>,
    },
    /// Approve the current plan
    Approve {
        /// Id of the cruise; optional if there is only one
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
    /// Show the result of every task, with its evidence
    Report {
        /// Id of the cruise; optional if there is only one
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
    /// Retry a blocked task
    Retry(tasks::TaskArgs),
    /// Skip a task; tasks that depend on it start without it
    Skip(tasks::TaskArgs),
    /// Start no more tasks until `drive cruise resume`
    Pause {
        /// Id of the cruise; optional if there is only one
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
    /// Continue a cruise after a crash, a restart, a pause or Ctrl-C
    Resume(resume::ResumeArgs),
    /// End a cruise: save its work, remove its sandbox, leave its pull request open
    Cleanup {
        /// Id of the cruise; optional if there is only one
        #[arg(value_name = "ID")]
        id: Option<String>,

        /// End the cruise even if its repository no longer exists; its sandbox is not removed
        #[arg(long)]
        force: bool,
    },
}

/// Ends the cruise of this id.
pub(crate) fn cleanup_cruise(app: &App, id: &str) -> Outcome {
    ask::cleanup(app, Some(id), false)
}

impl CruiseArgs {
    /// Whether recovery runs before the command; `fix` contacts a live owner first.
    pub(crate) fn recovers_first(&self) -> bool {
        !matches!(self.command, CruiseCommand::Fix { .. })
    }
}

/// Runs a `drive cruise` command.
pub(crate) fn run(args: &CruiseArgs, app: &App) -> Outcome {
    match &args.command {
        CruiseCommand::Run(args) => run::run(args, app),
        CruiseCommand::List { all } => show::list(app, *all),
        CruiseCommand::Status { id } => show::status(app, id.as_deref()),
        CruiseCommand::Logs {
            id,
            follow,
            options,
        } => show::logs(app, id.as_deref(), *follow, options),
        CruiseCommand::Fix { id, comment } => ask::fix(app, id.as_deref(), comment.as_deref()),
        CruiseCommand::Approve { id } => ask::approve(app, id.as_deref()),
        CruiseCommand::Report { id } => report::report(app, id.as_deref()),
        CruiseCommand::Retry(args) => tasks::retry(app, args),
        CruiseCommand::Skip(args) => tasks::skip(app, args),
        CruiseCommand::Pause { id } => tasks::pause(app, id.as_deref()),
        CruiseCommand::Resume(args) => resume::run(args, app),
        CruiseCommand::Cleanup { id, force } => ask::cleanup(app, id.as_deref(), *force),
    }
}
