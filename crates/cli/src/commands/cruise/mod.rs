//! `drive cruise`: plan over a pull request that is watched until it is merged, closed or silent.

mod ask;
mod find;
mod host;
mod rebuild;
mod resume;
mod run;
mod show;
mod terms;

pub(crate) use ask::extend_limits;
pub(crate) use resume::resume_cruise;

use crate::answer::Outcome;
use crate::app::App;
use clap::{Args, Subcommand};

/// The arguments of `drive cruise`.
#[derive(Debug, Args)]
pub(crate) struct CruiseArgs {
    #[command(subcommand)]
    command: CruiseCommand,
}

#[derive(Debug, Subcommand)]
enum CruiseCommand {
    /// Plan a task, and answer what is said about the plan until it is approved, merged or closed
    Run(Box<run::RunArgs>),
    /// List the cruises that are not over
    List {
        /// List those that are over too
        #[arg(long)]
        all: bool,
    },
    /// Show one cruise at a glance: what it does, what it waits for, which comments are open
    Status {
        /// The cruise; may be left out where there is only one
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
    /// Print what the agents of one cruise said and did
    Logs {
        /// The cruise; may be left out where there is only one
        #[arg(value_name = "ID")]
        id: Option<String>,
        /// Go on printing until the cruise is over
        #[arg(short, long)]
        follow: bool,
    },
    /// Look at the pull request now, and let a fixer work where something is open
    Fix {
        /// The cruise; may be left out where there is only one
        #[arg(value_name = "ID")]
        id: Option<String>,
        /// Act on this comment too; `-` reads it from standard input
        #[arg(long, value_name = "TEXT")]
        comment: Option<String>,
    },
    /// Approve the plan as it stands now
    Approve {
        /// The cruise; may be left out where there is only one
        #[arg(value_name = "ID")]
        id: Option<String>,
    },
    /// Go on with a cruise after a crash, a restart or Ctrl-C
    Resume(resume::ResumeArgs),
    /// End a cruise: keep its work, remove its sandbox, leave its pull request open
    Cleanup {
        /// The cruise; may be left out where there is only one
        #[arg(value_name = "ID")]
        id: Option<String>,

        /// End it also where its repository is gone for good; its sandbox is left as it is
        #[arg(long)]
        force: bool,
    },
}

/// Flies, shows or steers cruises.
pub(crate) fn run(args: &CruiseArgs, app: &App) -> Outcome {
    match &args.command {
        CruiseCommand::Run(args) => run::run(args, app),
        CruiseCommand::List { all } => show::list(app, *all),
        CruiseCommand::Status { id } => show::status(app, id.as_deref()),
        CruiseCommand::Logs { id, follow } => show::logs(app, id.as_deref(), *follow),
        CruiseCommand::Fix { id, comment } => ask::fix(app, id.as_deref(), comment.as_deref()),
        CruiseCommand::Approve { id } => ask::approve(app, id.as_deref()),
        CruiseCommand::Resume(args) => resume::run(args, app),
        CruiseCommand::Cleanup { id, force } => ask::cleanup(app, id.as_deref(), *force),
    }
}
