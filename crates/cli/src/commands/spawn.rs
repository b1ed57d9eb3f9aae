//! `drive spawn`: one agent in a throw-away worktree.

use crate::answer::Outcome;
use crate::app::App;
use crate::flown;
use crate::progress::Progress;
use crate::task::load_task;
use crate::wiring::Wiring;
use clap::Args;
use drive_core::agent::{Budget, Cost};
use drive_core::run::{AfterEnd, Publish, Run};
use drive_core::settings::{Layer, Settings};
use drive_engine::ports::{DiffStats, Place, VersionControl};
use drive_engine::spawn::{self, SpawnOrder};
use std::path::{Path, PathBuf};

/// The arguments of `drive spawn`.
#[derive(Debug, Args)]
pub(crate) struct SpawnArgs {
    /// What is to be done; `-` reads it from standard input
    #[arg(value_name = "TASK")]
    task: String,

    /// Use this agent of the settings
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Start from this commit or branch instead of what is checked out
    #[arg(long, value_name = "REV")]
    base: Option<String>,

    /// Make this branch instead of one named after the task
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,

    /// Leave the sandbox where it is afterwards
    #[arg(long)]
    keep: bool,

    /// Make the branch only, and open no pull request
    #[arg(long)]
    no_pr: bool,

    /// End the agent after this long without a sign of life
    #[arg(long, value_name = "TIME")]
    idle_timeout: Option<String>,

    /// End the agent after this long
    #[arg(long, value_name = "TIME")]
    total_timeout: Option<String>,
}

impl SpawnArgs {
    /// The flags that stand for settings, so that they are checked like settings.
    fn layers(&self) -> Vec<Layer> {
        [
            ("--agent", "spawn.agent", &self.agent),
            ("--idle-timeout", "spawn.idle_timeout", &self.idle_timeout),
            (
                "--total-timeout",
                "spawn.total_timeout",
                &self.total_timeout,
            ),
        ]
        .into_iter()
        .filter_map(|(flag, key, value)| Some(Layer::flag(flag, key, value.as_deref()?)))
        .collect()
    }

    fn order(
        &self,
        task: String,
        repo: PathBuf,
        settings: &Settings,
        publish: Publish,
    ) -> SpawnOrder {
        SpawnOrder {
            task,
            repo,
            base: self.base.clone(),
            branch: self.branch.clone(),
            agent: settings.spawn.agent.clone(),
            idle_timeout: settings.spawn.idle_timeout.get(),
            total_timeout: settings.spawn.total_timeout.get(),
            budget: Budget {
                tokens: Some(settings.budget.tokens),
                cost: Cost::from_usd(settings.budget.cost_usd),
            },
            max_escalations: settings.spawn.max_escalations,
            publish,
            after_end: if self.keep {
                AfterEnd::Stay
            } else {
                AfterEnd::Remove
            },
            copy: settings.sandbox.copy.clone(),
            seed: settings.sandbox.seed.clone(),
        }
    }
}

/// Flies one agent from the task to the branch, and to the pull request where there is a forge.
pub(crate) fn run(args: &SpawnArgs, app: &App) -> Outcome {
    let settings = app.settings_with(&args.layers())?.settings;
    let task = load_task(&args.task)?;
    spawn::check_task(&task)?;
    let folder = app.start_dir()?;
    let wiring = Wiring::new(app, &settings, &folder)?;
    wiring.git.discover(&folder)?;
    wiring.sweep(app)?;
    let forge = match args.no_pr {
        true => None,
        false => Some(wiring.forge(&settings, &folder)?),
    };
    if let Some(forge) = &forge {
        app.output()
            .detail(format_args!("forge: {}", forge.choice.why));
    }
    let publish = match &forge {
        None => Publish::BranchOnly,
        Some(forge) => Publish::PullRequest {
            remote: forge.remote.clone(),
        },
    };
    let id = wiring.new_run()?;
    let request = spawn::request(
        args.order(task, folder.clone(), &settings, publish),
        &id,
        &wiring.git,
    )?;
    wiring.require_agent(&request.agent, app)?;
    let progress = Progress::new(app.output());
    let world = wiring.world(forge.as_ref().map(|open| open.forge.as_ref()), &progress);
    let cancel = app.cancel()?;
    let run = progress.ticking(|| {
        spawn::fly(
            request,
            &id,
            wiring.journal(),
            &wiring.whoami,
            &world,
            cancel,
        )
    })?;
    flown::answer(&run, changes(&wiring, &run, &folder).as_ref())
}

/// What the run's branch changes, where it holds something.
fn changes(wiring: &Wiring, run: &Run, folder: &Path) -> Option<DiffStats> {
    let (head, request) = (run.work.head_sha.as_ref()?, run.request.as_ref()?);
    wiring
        .git
        .diff_stats(Place::Checkout(folder), &request.base_sha, head)
        .ok()
}
