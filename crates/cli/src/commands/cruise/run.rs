//! `drive cruise run`.

use super::host::Host;
use super::resume::report;
use super::terms::{budget, usual_terms};
use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::commands::spawn_options::layers;
use crate::commands::start_warnings::{warn_of_uncommitted_changes, warn_without_token};
use crate::documents::{RunDocument, path_text};
use crate::task::load_task;
use clap::Args;
use drive_adapters::detached;
use drive_core::ids::RunId;
use drive_core::plan::Plan;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{AfterEnd, DoneWhen, Makes, PhaseTerms, Publish, RunKind};
use drive_core::settings::{Layer, Settings};
use drive_engine::ports::VersionControl;
use drive_engine::start::{self, SpawnOrder};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The longest plan that is read from a file.
const LONGEST_PLAN: u64 = 1024 * 1024;

/// The arguments of `drive cruise run`.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// What is to be done; `-` reads it from standard input
    #[arg(value_name = "TASK")]
    task: String,

    /// End when the plan's pull request is approved, merged or closed; every cruise does so for now
    #[arg(long)]
    plan_only: bool,

    /// Start from this plan instead of letting an agent write one
    #[arg(long, value_name = "FILE")]
    plan_file: Option<PathBuf>,

    /// Take a plan that every review approved as approved
    #[arg(long)]
    auto_approve: bool,

    /// Not supported yet: tasks at once
    #[arg(long, value_name = "N", hide = true)]
    max_parallel: Option<u32>,

    /// Not supported yet: how tasks become pull requests
    #[arg(long, value_name = "HOW", hide = true)]
    pr_strategy: Option<String>,

    /// Return at once and let the cruise go on in the background
    #[arg(long)]
    detach: bool,

    /// Start from this commit or branch instead of what is checked out
    #[arg(long, value_name = "REV")]
    base: Option<String>,

    /// Make this branch instead of one named after the task
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,

    /// Let this agent of the settings plan
    #[arg(long, value_name = "NAME")]
    planner: Option<String>,

    /// Let this agent of the settings review
    #[arg(long, value_name = "NAME")]
    reviewer: Option<String>,

    /// Let this agent of the settings answer comments; the planner's when left out
    #[arg(long, value_name = "NAME")]
    fixer: Option<String>,

    /// Ask a person after this many fixer rounds
    #[arg(long, value_name = "N")]
    max_rounds: Option<u32>,

    /// Review the same thing at most this often
    #[arg(long, value_name = "N")]
    max_iterations: Option<u32>,

    /// End an agent after this long without a sign of life
    #[arg(long, value_name = "TIME")]
    idle_timeout: Option<String>,

    /// End an agent after this long
    #[arg(long, value_name = "TIME")]
    total_timeout: Option<String>,
}

impl RunArgs {
    /// The flags of these that stand for settings. The settings refuse those that nothing reads yet.
    fn layers(&self) -> Vec<Layer> {
        let mut flags = layers(&[
            ("--idle-timeout", "spawn.idle_timeout", &self.idle_timeout),
            (
                "--total-timeout",
                "spawn.total_timeout",
                &self.total_timeout,
            ),
            ("--pr-strategy", "cruise.pr_strategy", &self.pr_strategy),
            ("--planner", "spawn-team.primary_llm", &self.planner),
            ("--reviewer", "spawn-team.reviewer_llm", &self.reviewer),
        ]);
        let numbers = [
            ("--max-parallel", "cruise.max_parallel", self.max_parallel),
            ("--max-rounds", "cruise.max_rounds", self.max_rounds),
            (
                "--max-iterations",
                "spawn-team.max_iterations",
                self.max_iterations,
            ),
        ];
        for (flag, key, number) in numbers {
            flags.extend(number.map(|number| Layer::flag(flag, key, i64::from(number))));
        }
        flags
    }

    fn terms(&self, settings: &Settings, folder: &Path) -> Result<PhaseTerms, Problem> {
        let usual = usual_terms(settings, folder)?;
        Ok(PhaseTerms {
            fixer: self.fixer.clone().unwrap_or(usual.fixer),
            branch: self.branch.clone(),
            makes: Makes::Plan {
                given: self.plan_file.as_deref().map(load_plan).transpose()?,
            },
            done: DoneWhen::Approved {
                auto_approve: self.auto_approve,
                plan_only: self.plan_only,
            },
            ..usual
        })
    }
}

/// Runs a cruise from the task to an approved plan.
pub(super) fn run(args: &RunArgs, app: &App) -> Outcome {
    let task = load_task(&args.task, app.cancel()?)?;
    start::check_task(&task)?;
    let settings = app.settings_with(&args.layers())?.settings;
    let folder = app.start_dir()?;
    let host = Host::new(app, &settings, &folder)?;
    host.wiring.git.discover(&folder)?;
    let terms = args.terms(&settings, &folder)?;
    let planner = settings.spawn_team.primary_llm.clone();
    let mut crew = vec![planner.clone(), terms.reviewer.clone(), terms.fixer.clone()];
    crew.sort();
    crew.dedup();
    let order = SpawnOrder {
        kind: RunKind::Cruise(Box::new(terms)),
        task,
        repo: folder.clone(),
        base: args.base.clone(),
        branch: args.branch.clone(),
        agent: planner,
        idle_timeout: settings.spawn.idle_timeout.get(),
        total_timeout: settings.spawn.total_timeout.get(),
        budget: budget(&settings),
        max_escalations: settings.spawn_team.max_escalations,
        publish: Publish::PullRequest {
            remote: host.remote.clone(),
        },
        after_end: AfterEnd::Remove,
        copy: settings.sandbox.copy.clone(),
        seed: settings.sandbox.seed.clone(),
    };
    let id = host.wiring.new_run()?;
    let request = start::request(order, &id, &host.wiring.git)?;
    for agent in &crew {
        host.wiring.require_agent(agent, &request.task, app)?;
    }
    if let Some(choice) = &host.choice {
        warn_without_token(app, &settings, choice);
    }
    warn_of_uncommitted_changes(app, &host.wiring.git, &request);
    app.output().narrate(format_args!("cruise {id}"));
    let run = host.with_service(app, |cruises| {
        cruises.enter(&id, request)?;
        match args.detach {
            true => Ok(None),
            false => cruises.resume(&id).map(Some),
        }
    })?;
    match run {
        Some(run) => report(&host, &run),
        None => detach(app, &host, &id),
    }
}

/// Starts an owner that outlives this process.
fn detach(app: &App, host: &Host, id: &RunId) -> Outcome {
    let log = host.wiring.runs_dir.join(id.as_str()).join("owner.log");
    let mut arguments: Vec<OsString> = vec!["--repo".into(), host.folder.clone().into()];
    if let Some(config) = &app.global().config {
        arguments.extend(["--config".into(), config.clone().into()]);
    }
    arguments.extend(["cruise".into(), "resume".into(), id.as_str().into()]);
    let pid = detached::start(&arguments, &log)?;
    let text = format!(
        "cruise {id} goes on in the background as process {pid}\n\
         see it with `drive cruise status {id}`, follow it with `drive cruise logs -f {id}`\n"
    );
    let document = RunDocument {
        pid: Some(pid),
        owner_log: Some(path_text(&log)),
        ..RunDocument::new(&host.wiring.journal().require(id)?, None)
    };
    Answer::new(&document, text)
}

/// A plan of the person's own. What is wrong with it is said before anything is made.
fn load_plan(path: &Path) -> Result<String, Problem> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| {
        Problem::new(Kind::PlanUnreadable, format!("cannot read `{shown}`"))
            .because(error)
            .hint("check the path given with `--plan-file`")
    };
    let size = path.metadata().map_err(unreadable)?.len();
    if size > LONGEST_PLAN {
        return Err(Problem::new(
            Kind::PlanTooLarge,
            format!("`{shown}` has {size} bytes, at most {LONGEST_PLAN} are taken"),
        )
        .hint("a plan is prose and one block of tasks"));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    match Plan::parse(&text) {
        Ok(_) => Ok(text),
        Err(errors) => Err(Problem::new(
            Kind::PlanInvalid,
            format!("`{shown}` is not a plan that can be worked on"),
        )
        .cause(errors.to_string())
        .hint("correct what it names; the README shows a plan")),
    }
}
