//! One module for each command.
//!
//! To add `drive NOUN`:
//!
//! 1. write `commands/noun.rs` with `#[derive(Debug, clap::Args)] pub(crate) struct NounArgs` (doc
//!    comments are the help texts: one sentence in the imperative, no full stop) and
//!    `pub(crate) fn run(args: &NounArgs, app: &App) -> Outcome`; a command with commands of its own
//!    holds a `#[derive(Debug, clap::Subcommand)]` enum in that struct;
//! 2. add the variant to [`Command`] (its doc comment is the line in `drive --help`) and the arm to
//!    [`Command::run`], both in the order of a user's day;
//! 3. write `documents/noun.rs` with the struct of `drive.noun/1`, as
//!    [`documents`](crate::documents) says, and return
//!    [`Answer::new`](crate::answer::Answer::new) with it and the text for people; add
//!    [`failed`](crate::answer::Answer::failed) where the document must be shown although the work
//!    did not succeed. Everything else that goes wrong is an `Err(Problem)`;
//! 4. look at the new `drive --help` and accept it, as `args/tests.rs` says.
//!
//! A command prints nothing itself: progress goes through `app.output().narrate(…)`, an answer that
//! comes bit by bit through `app.output().line(…)`.

mod complete_ids;
mod completions;
mod config;
mod cruise;
mod demo;
mod doctor;
mod hooks;
mod init;
mod kept;
mod phase_terms;
mod pr;
mod preflight;
mod prune;
mod runs;
mod sandbox;
mod sandbox_prune;
mod serve;
mod spawn;
mod spawn_detached;
mod spawn_options;
mod spawn_team;
mod start_warnings;
mod stats;
mod verify;

pub(crate) use complete_ids::ids_if_asked;
pub(crate) use verify::worker_if_asked;

use crate::answer::Outcome;
use crate::app::App;
use crate::recovery;
use clap::Subcommand;

/// The commands of drive.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run one agent on a task in a temporary sandbox
    Spawn(spawn::SpawnArgs),
    /// Run one agent on a task and another to review it, in one temporary sandbox
    SpawnTeam(spawn_team::SpawnTeamArgs),
    /// Plan a task, build it in parallel and merge it through one pull request
    Cruise(cruise::CruiseArgs),
    /// Show runs and their results
    Runs(runs::RunsArgs),
    /// Show review statistics per agent and domain
    Stats(stats::StatsArgs),
    /// List, restore or drop work saved from sandboxes
    Kept(kept::KeptArgs),
    /// List and remove sandboxes, or start a shell in one
    Sandbox(sandbox::SandboxArgs),
    /// Delete old logs and reports of ended runs
    Prune(prune::PruneArgs),
    /// Show, discuss and merge pull requests of the local forge
    Pr(pr::PrArgs),
    /// Serve the dashboard and receive webhooks
    Serve(serve::ServeArgs),
    /// Verify a commit in an isolated checkout with resource limits
    Verify(verify::VerifyArgs),
    /// Install or remove a git hook that verifies what is pushed
    Hooks(hooks::HooksArgs),
    /// Demonstrate a whole cruise on a temporary repository with scripted agents
    Demo(demo::DemoArgs),
    /// Write a commented `drive.toml` from the agents, forge and build system found here
    Init(init::InitArgs),
    /// Show what is installed, what is missing and which isolation this machine supports
    Doctor(doctor::DoctorArgs),
    /// Show, check or describe the settings
    Config(config::ConfigArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
}

impl Command {
    /// Runs the command, after crash recovery. `line` describes the whole command line.
    pub(crate) fn run(&self, app: &App, line: fn() -> clap::Command) -> Outcome {
        if self.meets_the_state() {
            recovery::recover(app);
        }
        match self {
            Command::Spawn(args) => spawn::run(args, app),
            Command::SpawnTeam(args) => spawn_team::run(args, app),
            Command::Cruise(args) => cruise::run(args, app),
            Command::Runs(args) => runs::run(args, app),
            Command::Stats(args) => stats::run(args, app),
            Command::Kept(args) => kept::run(args, app),
            Command::Sandbox(args) => sandbox::run(args, app),
            Command::Prune(args) => prune::run(args, app),
            Command::Pr(args) => pr::run(args, app),
            Command::Serve(args) => serve::run(args, app),
            Command::Verify(args) => verify::run(args, app),
            Command::Hooks(args) => hooks::run(args, app),
            Command::Demo(args) => demo::run(args, app),
            Command::Init(args) => init::run(args, app),
            Command::Doctor(args) => doctor::run(args, app),
            Command::Config(args) => config::run(args, app),
            Command::Completions(args) => completions::run(args, line()),
        }
    }

    /// Whether recovery runs before the command: it does if the command uses the state directory and does not
    /// recover by itself. The demonstration has its own state directory, and some commands only print text.
    fn meets_the_state(&self) -> bool {
        match self {
            Command::Spawn(_)
            | Command::SpawnTeam(_)
            | Command::Runs(_)
            | Command::Stats(_)
            | Command::Kept(_)
            | Command::Sandbox(_)
            | Command::Prune(_)
            | Command::Pr(_)
            | Command::Serve(_)
            | Command::Verify(_)
            | Command::Init(_)
            | Command::Doctor(_) => true,
            Command::Cruise(args) => args.recovers_first(),
            Command::Config(args) => args.reads_files(),
            Command::Hooks(_) | Command::Demo(_) | Command::Completions(_) => false,
        }
    }
}
