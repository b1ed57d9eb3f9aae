//! What `drive spawn` and `drive spawn-team` share: their options, and the flight itself.

use crate::answer::Outcome;
use crate::app::App;
use crate::commands::verify::OwnVerifier;
use crate::flown;
use crate::progress::Progress;
use crate::task::load_task;
use crate::wiring::Wiring;
use clap::Args;
use drive_core::agent::{Budget, Cost};
use drive_core::run::{AfterEnd, Kind, Publish, Run};
use drive_core::settings::{Layer, Settings};
use drive_engine::ports::{DiffStats, Place, VersionControl};
use drive_engine::spawn::{self, SpawnOrder};
use drive_engine::world::World;
use std::path::Path;

/// The task, where it starts and how it is bounded.
#[derive(Debug, Args)]
pub(super) struct FlightArgs {
    /// What is to be done; `-` reads it from standard input
    #[arg(value_name = "TASK")]
    task: String,

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

    /// End an agent after this long without a sign of life
    #[arg(long, value_name = "TIME")]
    idle_timeout: Option<String>,

    /// End an agent after this long
    #[arg(long, value_name = "TIME")]
    total_timeout: Option<String>,
}

/// Who flies, and how.
pub(super) struct Crew {
    /// Which command, with what only that command needs.
    pub(super) kind: Kind,
    /// The agent that does the work.
    pub(super) agent: String,
    /// Agents that must be there besides.
    pub(super) others: Vec<String>,
    /// How often one of them may ask for a permission.
    pub(super) max_escalations: u32,
}

/// Flags that stand for settings, so that they are checked like settings.
pub(super) fn layers(flags: &[(&str, &str, &Option<String>)]) -> Vec<Layer> {
    let given = |(flag, key, value): &(&str, &str, &Option<String>)| {
        Some(Layer::flag(flag, key, value.as_deref()?))
    };
    flags.iter().filter_map(given).collect()
}

impl FlightArgs {
    /// The flags of these that stand for settings.
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

    /// The branch the person asked for.
    pub(super) fn branch(&self) -> Option<&str> {
        self.branch.as_deref()
    }

    /// Flies from the task to the branch, and to the pull request where there is a forge.
    pub(super) fn fly(&self, app: &App, settings: &Settings, crew: Crew) -> Outcome {
        let task = load_task(&self.task, app.cancel()?)?;
        spawn::check_task(&task)?;
        let folder = app.start_dir()?;
        let wiring = Wiring::new(app, settings, &folder)?;
        let forge = match self.no_pr {
            true => None,
            false => Some(wiring.forge(settings, &folder)?),
        };
        let publish = match &forge {
            None => Publish::BranchOnly,
            Some(forge) => {
                app.output()
                    .detail(format_args!("forge: {}", forge.choice.why));
                Publish::PullRequest {
                    remote: forge.remote.clone(),
                }
            }
        };
        let conversation = forge
            .map(|open| wiring.conversation(&open, settings))
            .transpose()?;
        let id = wiring.new_run()?;
        let others = crew.others.clone();
        let order = SpawnOrder {
            kind: crew.kind,
            task,
            repo: folder.clone(),
            base: self.base.clone(),
            branch: self.branch.clone(),
            agent: crew.agent,
            idle_timeout: settings.spawn.idle_timeout.get(),
            total_timeout: settings.spawn.total_timeout.get(),
            budget: Budget {
                tokens: Some(settings.budget.tokens),
                cost: Cost::from_usd(settings.budget.cost_usd),
            },
            max_escalations: crew.max_escalations,
            publish,
            after_end: if self.keep {
                AfterEnd::Stay
            } else {
                AfterEnd::Remove
            },
            copy: settings.sandbox.copy.clone(),
            seed: settings.sandbox.seed.clone(),
        };
        let request = spawn::request(order, &id, &wiring.git)?;
        wiring.require_agent(&request.agent, &request.task, app)?;
        for other in others.iter().filter(|other| **other != request.agent) {
            wiring.require_agent(other, &request.task, app)?;
        }
        let progress = Progress::new(app.output());
        let gate = OwnVerifier::of(app);
        let world = World {
            gate: Some(&gate),
            ..wiring.world(conversation.as_ref(), &progress)
        };
        let cancel = app.cancel()?;
        let run = progress.ticking(cancel, "stopping, and keeping the work", || {
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
}

/// What the run's branch changes, where it holds something.
fn changes(wiring: &Wiring, run: &Run, folder: &Path) -> Option<DiffStats> {
    let (head, request) = (run.work.head_sha.as_ref()?, run.request.as_ref()?);
    wiring
        .git
        .diff_stats(Place::Checkout(folder), &request.base_sha, head)
        .ok()
}
