//! `drive spawn`: one agent in a temporary sandbox.

use super::spawn_options::{Assignment, SpawnOptions, arguments, layers};
use crate::answer::Outcome;
use crate::app::App;
use clap::Args;
use drive_core::run::RunKind;

/// The arguments of `drive spawn`.
#[derive(Debug, Args)]
pub(crate) struct SpawnArgs {
    #[command(flatten)]
    options: SpawnOptions,

    /// Agent to use (a name under `[agents]`)
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

/// Runs one agent.
pub(crate) fn run(args: &SpawnArgs, app: &App) -> Outcome {
    let mut flags = args.options.layers();
    flags.extend(layers(&[("--agent", "spawn.agent", &args.agent)]));
    let settings = app.settings_with(&flags)?.settings;
    let assignment = Assignment {
        kind: RunKind::Spawn,
        agent: settings.spawn.agent.clone(),
        others: Vec::new(),
        max_escalations: settings.spawn.max_escalations,
    };
    let mut command = vec!["spawn".into()];
    command.extend(arguments(&[("--agent", &args.agent)]));
    args.options.run(app, &settings, assignment, command)
}
