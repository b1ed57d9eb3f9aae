//! `drive spawn-team`: a primary and a reviewer in one temporary sandbox.

use super::phase_terms::usual_terms;
use super::spawn_options::{Assignment, SpawnOptions, arguments, layers};
use crate::answer::Outcome;
use crate::app::App;
use clap::Args;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{ChangeDone, Makes, PhaseTerms, RunKind};
use drive_core::settings::{Layer, TeamMode};

/// The arguments of `drive spawn-team`.
#[derive(Debug, Args)]
pub(crate) struct SpawnTeamArgs {
    #[command(flatten)]
    options: SpawnOptions,

    /// How the agents take turns: `sequential`, `pingpong` or `github`
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,

    /// Maximum number of reviews, in mode `github` of each domain; mode `sequential` reviews once
    #[arg(long, value_name = "N")]
    max_iterations: Option<u32>,

    /// Agent that does the work (a name under `[agents]`)
    #[arg(long, value_name = "NAME")]
    primary: Option<String>,

    /// Agent that reviews (a name under `[agents]`)
    #[arg(long, value_name = "NAME")]
    reviewer: Option<String>,

    /// Merge once every required domain has approved this very commit and `drive verify` passes
    #[arg(long, conflicts_with = "no_pr")]
    auto_merge: bool,
}

/// Refuses a maximum number of reviews for a mode that reviews only once.
fn check_iterations(args: &SpawnTeamArgs, mode: TeamMode) -> Result<(), Problem> {
    match mode {
        TeamMode::Sequential if args.max_iterations.is_some() => Err(Problem::new(
            Kind::Usage,
            "mode `sequential` reviews once, so `--max-iterations` does nothing",
        )
        .hint("leave it out, or pass `--mode pingpong`")),
        TeamMode::Sequential | TeamMode::Pingpong | TeamMode::Github => Ok(()),
    }
}

/// Runs a team.
pub(crate) fn run(args: &SpawnTeamArgs, app: &App) -> Outcome {
    let mut flags = args.options.layers();
    flags.extend(layers(&[
        ("--mode", "spawn-team.mode", &args.mode),
        ("--primary", "spawn-team.primary_llm", &args.primary),
        ("--reviewer", "spawn-team.reviewer_llm", &args.reviewer),
    ]));
    flags.extend(args.max_iterations.map(|most| {
        Layer::flag(
            "--max-iterations",
            "spawn-team.max_iterations",
            i64::from(most),
        )
    }));
    let settings = app.settings_with(&flags)?.settings;
    let team = &settings.spawn_team;
    check_iterations(args, team.mode)?;
    let terms = PhaseTerms {
        makes: Makes::Change {
            done: ChangeDone::Reviewed {
                auto_merge: args.auto_merge,
            },
        },
        mode: team.mode,
        branch: args.options.branch()?,
        watch: None,
        ..usual_terms(&settings, &app.start_dir()?)?
    };
    let assignment = Assignment {
        others: std::iter::once(terms.reviewer.clone())
            .chain(terms.review.refuter.clone())
            .collect(),
        kind: RunKind::Team(Box::new(terms)),
        agent: team.primary_llm.clone(),
        max_escalations: team.max_escalations,
    };
    let most = args.max_iterations.map(|most| most.to_string());
    let mut command = vec!["spawn-team".into()];
    command.extend(arguments(&[
        ("--mode", &args.mode),
        ("--max-iterations", &most),
        ("--primary", &args.primary),
        ("--reviewer", &args.reviewer),
    ]));
    command.extend(args.auto_merge.then(|| "--auto-merge".into()));
    args.options.run(app, &settings, assignment, command)
}
