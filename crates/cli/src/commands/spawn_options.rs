//! Options that `drive spawn` and `drive spawn-team` share, and how both start a run and report it.

use super::spawn_detached::{detach, handed_over};
use crate::answer::Outcome;
use crate::app::App;
use crate::commands::phase_terms::load_own_prompts;
use crate::commands::preflight::require_ready;
use crate::commands::start_warnings::{warn_of_uncommitted_changes, warn_without_token};
use crate::commands::verify::OwnVerifier;
use crate::progress::Progress;
use crate::run_report;
use crate::task::load_task;
use crate::wiring::Wiring;
use clap::Args;
use drive_core::Problem;
use drive_core::ids::BranchName;
use drive_core::run::{AfterEnd, Publish, RunKind};
use drive_core::settings::{Layer, Settings};
use drive_engine::perform::World;
use drive_engine::start::{self, SpawnOrder};
use std::ffi::OsString;

/// Options that `drive spawn` and `drive spawn-team` share.
#[derive(Debug, Args)]
pub(super) struct SpawnOptions {
    /// What to do; `-` reads it from standard input
    #[arg(value_name = "TASK")]
    task: String,

    /// Commit or branch to start from [default: the checked-out commit]
    #[arg(long, value_name = "REV")]
    base: Option<String>,

    /// Branch to create [default: named after the task]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,

    /// Keep the sandbox after the run
    #[arg(long)]
    keep: bool,

    /// Create the branch only, without a pull request
    #[arg(long)]
    no_pr: bool,

    /// Model for the agent that does the work [default: from the settings]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// Continue the run in the background
    #[arg(long)]
    detach: bool,

    /// Id of the run, given by the process that detached this one
    #[arg(long, hide = true, value_name = "ID", conflicts_with = "detach")]
    detached_as: Option<String>,

    #[command(flatten)]
    timeouts: TimeoutArgs,
}

/// Options with their values, as arguments of another process.
pub(super) fn arguments(flags: &[(&str, &Option<String>)]) -> Vec<OsString> {
    let given = |(flag, value): &(&str, &Option<String>)| {
        // In one word, so that no value is taken for an option.
        Some(OsString::from(format!("{flag}={}", value.as_deref()?)))
    };
    flags.iter().filter_map(given).collect()
}

/// The time limits of agents.
#[derive(Debug, Args)]
pub(super) struct TimeoutArgs {
    /// Stop an agent after this long without output
    #[arg(long, value_name = "TIME")]
    idle_timeout: Option<String>,

    /// Stop an agent after this long; alone, it shortens a longer idle timeout too
    #[arg(long, value_name = "TIME")]
    total_timeout: Option<String>,
}

impl TimeoutArgs {
    /// The flags that override settings.
    pub(super) fn layers(&self) -> Vec<Layer> {
        layers(&[
            ("--idle-timeout", "spawn.idle_timeout", &self.idle_timeout),
            (
                "--total-timeout",
                "spawn.total_timeout",
                &self.total_timeout,
            ),
        ])
    }
}

/// The kind of run to start, with its agents.
pub(super) struct Assignment {
    /// The command and its own options.
    pub(super) kind: RunKind,
    /// Name of the agent that does the work.
    pub(super) agent: String,
    /// Names of further agents, which must be installed.
    pub(super) others: Vec<String>,
    /// How many permission requests each agent may make.
    pub(super) max_escalations: u32,
}

/// Converts flags to layers of settings, so that they are checked like settings.
pub(super) fn layers(flags: &[(&str, &str, &Option<String>)]) -> Vec<Layer> {
    let given = |(flag, key, value): &(&str, &str, &Option<String>)| {
        Some(Layer::flag(flag, key, value.as_deref()?))
    };
    flags.iter().filter_map(given).collect()
}

/// The branch name that a person chose for a new branch.
pub(super) fn new_branch(name: Option<&str>) -> Result<Option<BranchName>, Problem> {
    let new = |name| BranchName::parse(name).and_then(BranchName::for_new);
    name.map(new).transpose()
}

impl SpawnOptions {
    /// The flags that override settings.
    pub(super) fn layers(&self) -> Vec<Layer> {
        self.timeouts.layers()
    }

    /// The same options, as arguments of another process.
    fn arguments(&self) -> Vec<OsString> {
        let mut all = arguments(&[
            ("--base", &self.base),
            ("--branch", &self.branch),
            ("--model", &self.model),
            ("--idle-timeout", &self.timeouts.idle_timeout),
            ("--total-timeout", &self.timeouts.total_timeout),
        ]);
        let flags = [("--keep", self.keep), ("--no-pr", self.no_pr)];
        all.extend(
            flags
                .into_iter()
                .filter(|(_, given)| *given)
                .map(|(flag, _)| flag.into()),
        );
        all
    }

    /// The value of `--branch`.
    pub(super) fn branch(&self) -> Result<Option<BranchName>, Problem> {
        new_branch(self.branch.as_deref())
    }

    /// Starts a run, executes it to its end and reports it.
    /// `command` is the command with its own options, for a process that executes it instead.
    pub(super) fn run(
        &self,
        app: &App,
        settings: &Settings,
        assignment: Assignment,
        command: Vec<OsString>,
    ) -> Outcome {
        let task = load_task(&self.task, app.cancel()?)?;
        start::check_task(&task)?;
        let folder = app.start_dir()?;
        let wiring = Wiring::new(app, settings, &folder)?;
        let forge = if self.no_pr {
            None
        } else {
            Some(wiring.forge(settings, &folder)?)
        };
        let publish = match &forge {
            None => Publish::BranchOnly,
            Some(forge) => {
                app.output()
                    .detail(format_args!("forge: {}", forge.choice.why));
                warn_without_token(app, settings, &forge.choice);
                Publish::PullRequest {
                    remote: forge.remote.clone(),
                }
            }
        };
        let conversation = forge
            .map(|open| wiring.conversation(&open, settings))
            .transpose()?;
        let id = match &self.detached_as {
            Some(id) => handed_over(id)?,
            None => wiring.new_run()?,
        };
        let others = assignment.others.clone();
        let order = SpawnOrder {
            kind: assignment.kind,
            task,
            repo: folder.clone(),
            base: self.base.clone(),
            branch: self.branch()?,
            agent: assignment.agent,
            max_escalations: assignment.max_escalations,
            publish,
            after_end: if self.keep {
                AfterEnd::Stay
            } else {
                AfterEnd::Remove
            },
        };
        let mut request = start::request(order, settings, &id, &wiring.git)?;
        request.model.clone_from(&self.model);
        if matches!(request.kind, RunKind::Spawn) {
            request.prompts = Some(load_own_prompts(&folder)?);
        }
        let crew = others.iter().chain([&request.agent]);
        wiring.require_agents(crew.map(String::as_str), &request.task, app)?;
        if let Some(talk) = &conversation {
            require_ready(app, talk.forge.as_ref(), &wiring.git, &request)?;
        }
        warn_of_uncommitted_changes(app, &wiring.git, &request);
        if self.detach {
            let arguments = [command, self.arguments()].concat();
            return detach(app, &wiring, &id, &request.task, arguments);
        }
        let progress = Progress::new(app.output());
        let gate = OwnVerifier::of(app);
        let world = World {
            gate: Some(&gate),
            ..wiring.world(conversation.as_ref(), &progress)
        };
        let cancel = app.cancel()?;
        let run = progress.ticking(cancel, "stopping and saving work", || {
            start::execute(
                request,
                &id,
                wiring.journal(),
                &wiring.whoami,
                &world,
                cancel,
            )
        })?;
        run_report::answer(&run, wiring.changes(&run, &folder).as_ref(), None)
    }
}
