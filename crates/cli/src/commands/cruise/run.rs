//! `drive cruise run`.

use super::answers::report;
use super::host::Host;
use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::commands::phase_terms::usual_terms;
use crate::commands::preflight::require_ready;
use crate::commands::spawn_options::{TimeoutArgs, layers, new_branch};
use crate::commands::start_warnings::{warn_of_uncommitted_changes, warn_without_token};
use crate::documents::{RunDocument, path_text};
use crate::task::load_task;
use clap::{Args, ValueEnum};
use drive_adapters::detached;
use drive_adapters::settings::checkout_root;
use drive_core::ids::RunId;
use drive_core::plan::Plan;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{
    AfterEnd, BuildTerms, ChangeDone, FinishTerms, GivenPlan, Level, LineTerms, Makes, PerTask,
    PhaseTerms, PlanApproval, PlanFrom, Publish, Request, RunKind, TaskCosts, task_costs,
};
use drive_core::settings::{Layer, MergeBy, PrStrategy, Settings};
use drive_engine::ports::{RunFilter, Store, VersionControl};
use drive_engine::start::{self, SpawnOrder};
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

/// The longest plan that is read from a file.
const LONGEST_PLAN: u64 = 1024 * 1024;
/// How many runs, newest first, are searched for costs of earlier tasks.
const MOST_RUNS: u32 = 200;

/// The arguments of `drive cruise run`.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// What to do; `-` reads it from standard input
    #[arg(value_name = "TASK")]
    task: String,

    /// End when the plan's pull request is approved, merged or closed
    #[arg(
        long,
        conflicts_with_all = ["build_only", "level", "max_parallel", "merge", "pr_strategy"]
    )]
    plan_only: bool,

    /// Build the plan of `--plan-file` at once, without a pull request for the plan
    #[arg(long, requires = "plan_file")]
    build_only: bool,

    /// Evidence that the cruise needs before it counts as done
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = LevelArg::Functional)]
    level: LevelArg,

    /// Plan to use unchanged instead of having an agent write one
    #[arg(long, value_name = "FILE")]
    plan_file: Option<PathBuf>,

    /// Have the plan of `--plan-file` reviewed first
    #[arg(long, requires = "plan_file", conflicts_with = "build_only")]
    review_plan: bool,

    /// Approve the plan once every required domain has approved this very commit
    #[arg(long, conflicts_with = "build_only")]
    auto_approve: bool,

    /// Maximum number of tasks to build in parallel
    #[arg(long, value_name = "N")]
    max_parallel: Option<u32>,

    /// Who merges the result, a person (`manual`) or drive (`auto`) [default: manual]
    #[arg(long, value_name = "WHO")]
    merge: Option<String>,

    /// Pull requests to open: `single`, or `per-task` for one per task as well [default: single]
    #[arg(long, value_name = "HOW")]
    pr_strategy: Option<String>,

    /// Continue the cruise in the background
    #[arg(long)]
    detach: bool,

    /// Commit or branch to start from [default: the checked-out commit]
    #[arg(long, value_name = "REV")]
    base: Option<String>,

    /// Branch to create [default: named after the task]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,

    /// Agent that plans (a name under `[agents]`)
    #[arg(long, value_name = "NAME")]
    planner: Option<String>,

    /// Agent that reviews (a name under `[agents]`)
    #[arg(long, value_name = "NAME")]
    reviewer: Option<String>,

    /// Agent that answers comments [default: the planner]
    #[arg(long, value_name = "NAME")]
    fixer: Option<String>,

    /// Most fixer rounds before a person is asked
    #[arg(long, value_name = "N")]
    max_rounds: Option<u32>,

    /// Most reviews of each domain
    #[arg(long, value_name = "N")]
    max_iterations: Option<u32>,

    /// Model for the agent that writes the plan [default: from the settings]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    #[command(flatten)]
    timeouts: TimeoutArgs,
}

/// What a cruise must show before it counts as done.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum LevelArg {
    /// Every task landed as a verified tree
    Basic,
    /// Every acceptance entry that a program checks is proven
    Functional,
    /// Every acceptance entry has evidence
    Strict,
}

impl From<LevelArg> for Level {
    fn from(level: LevelArg) -> Self {
        match level {
            LevelArg::Basic => Level::Basic,
            LevelArg::Functional => Level::Functional,
            LevelArg::Strict => Level::Strict,
        }
    }
}

impl RunArgs {
    /// The flags that override settings.
    fn layers(&self) -> Vec<Layer> {
        let mut flags = self.timeouts.layers();
        flags.extend(layers(&[
            ("--merge", "cruise.merge", &self.merge),
            ("--pr-strategy", "cruise.pr_strategy", &self.pr_strategy),
            ("--planner", "spawn-team.primary_llm", &self.planner),
            ("--reviewer", "spawn-team.reviewer_llm", &self.reviewer),
        ]));
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

    /// The request of the root run for this planning request.
    fn root(&self, settings: &Settings, planning: Request) -> Result<Request, Problem> {
        let Some(terms) = planning.kind.phase_terms().cloned() else {
            return Ok(planning);
        };
        let given = match &terms.makes {
            Makes::Plan {
                given: Some(plan), ..
            } if self.build_only => Some(plan.text().to_owned()),
            Makes::Plan { .. }
            | Makes::Change { .. }
            | Makes::Amendments { .. }
            | Makes::Whole { .. } => None,
        };
        let plan = match given.map(|text| Plan::parse(&text)) {
            Some(Ok(plan)) => PlanFrom::File { plan },
            Some(Err(errors)) => {
                return Err(Problem::new(Kind::PlanInvalid, errors.to_string()));
            }
            None => PlanFrom::Phase {
                request: Box::new(planning.clone()),
            },
        };
        let mut terms = build_terms(settings, &terms, plan, self.level.into());
        if let Some(line) = &mut terms.line {
            line.named = self.branch.is_some();
        }
        Ok(Request {
            kind: RunKind::Build(Box::new(terms)),
            ..planning
        })
    }

    /// The plan that the person provided.
    fn given_plan(&self) -> Result<Option<GivenPlan>, Problem> {
        let Some(path) = &self.plan_file else {
            return Ok(None);
        };
        let text = load_plan(path)?;
        Ok(Some(if self.review_plan {
            GivenPlan::ToReview(text)
        } else {
            GivenPlan::AsItIs { as_it_is: text }
        }))
    }

    fn terms(&self, settings: &Settings, folder: &Path) -> Result<PhaseTerms, Problem> {
        let usual = usual_terms(settings, folder)?;
        Ok(PhaseTerms {
            fixer: self.fixer.clone().unwrap_or(usual.fixer),
            branch: new_branch(self.branch.as_deref())?,
            makes: Makes::Plan {
                given: self.given_plan()?,
                approval: PlanApproval {
                    auto_approve: self.auto_approve,
                    plan_only: self.plan_only,
                },
            },
            ..usual
        })
    }
}

/// The terms of a cruise's root: its plan, and how its tasks are built.
pub(crate) fn build_terms(
    settings: &Settings,
    terms: &PhaseTerms,
    plan: PlanFrom,
    level: Level,
) -> BuildTerms {
    let count = |number: u32| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
    let line = LineTerms {
        plan,
        task: Box::new(PhaseTerms {
            makes: Makes::Change {
                done: ChangeDone::Reviewed { auto_merge: false },
            },
            watch: None,
            branch: None,
            ..terms.clone()
        }),
        per_task: terms
            .watch
            .filter(|_| settings.cruise.pr_strategy == PrStrategy::PerTask)
            .map(|watch| PerTask {
                watch,
                approve: settings.cruise.approve_tasks,
            }),
        named: false,
        slots: count(settings.verify.max_parallel),
        patience: settings.cruise.inactivity_timeout.get(),
        max_age: settings.cruise.max_age.get(),
        level,
        finish: terms.watch.map(|watch| FinishTerms {
            watch,
            auto_merge: settings.cruise.merge == MergeBy::Auto,
            review: settings.cruise.final_review,
            land_plan: settings.cruise.land_plan,
            max_waves: settings.cruise.max_validation_rounds,
        }),
    };
    BuildTerms {
        tasks: Vec::new(),
        max_parallel: count(settings.cruise.max_parallel),
        line: Some(Box::new(line)),
    }
}

/// Refuses approvals of tasks if tasks have no pull requests of their own.
fn check_strategy(settings: &Settings) -> Result<(), Problem> {
    let cruise = &settings.cruise;
    if cruise.approve_tasks && cruise.pr_strategy == PrStrategy::Single {
        let message = "`cruise.approve_tasks` needs a pull request for each task";
        return Err(Problem::new(Kind::SettingsInvalid, message).hint(
            "set `pr_strategy = \"per-task\"` in `[cruise]`, or pass `--pr-strategy per-task`",
        ));
    }
    Ok(())
}

/// Runs a cruise: it plans, and builds the approved plan.
pub(super) fn run(args: &RunArgs, app: &App) -> Outcome {
    let task = load_task(&args.task, app.cancel()?)?;
    start::check_task(&task)?;
    let settings = app.settings_with(&args.layers())?.settings;
    check_strategy(&settings)?;
    let folder = app.start_dir()?;
    let host = Host::new(app, &settings, &folder)?;
    host.wiring.git.discover(&folder)?;
    let mut terms = args.terms(&settings, &folder)?;
    // A cruise can run without an estimate.
    terms.costs = costs_before(app, &folder).unwrap_or_default();
    let planner = settings.spawn_team.primary_llm.clone();
    let mut crew = vec![planner.clone(), terms.reviewer.clone(), terms.fixer.clone()];
    crew.extend(terms.review.refuter.clone());
    crew.sort();
    crew.dedup();
    let order = SpawnOrder {
        branch: terms.branch.clone(),
        kind: RunKind::Cruise(Box::new(terms)),
        task,
        repo: folder.clone(),
        base: args.base.clone(),
        agent: planner,
        max_escalations: settings.spawn_team.max_escalations,
        publish: Publish::PullRequest {
            remote: host.remote.clone(),
        },
        after_end: AfterEnd::Remove,
    };
    let id = host.wiring.new_run()?;
    let mut request = start::request(order, &settings, &id, &host.wiring.git)?;
    request.model.clone_from(&args.model);
    if !args.plan_only {
        request = args.root(&settings, request)?;
    }
    let names = crew.iter().map(String::as_str);
    host.wiring.require_agents(names, &request.task, app)?;
    require_ready(app, host.forge()?, &host.wiring.git, &request)?;
    if let Some(choice) = &host.choice {
        warn_without_token(app, &settings, choice);
    }
    warn_of_uncommitted_changes(app, &host.wiring.git, &request);
    app.output().narrate(format_args!("cruise {id}"));
    let run = host.with_service(app, |cruises| {
        cruises.enter(&id, request)?;
        if args.detach {
            Ok(None)
        } else {
            cruises.resume(&id).map(Some)
        }
    })?;
    match run {
        Some(run) => report(&host, &run),
        None => detach(app, &host, &id),
    }
}

/// The costs of earlier tasks in this repository.
fn costs_before(app: &App, folder: &Path) -> Result<Option<TaskCosts>, Problem> {
    let Some(root) = checkout_root(folder).and_then(|root| root.canonicalize().ok()) else {
        return Ok(None);
    };
    let mut runs = app.store()?.list(RunFilter::All, MOST_RUNS)?;
    runs.retain(|run| {
        let repo = run.request.as_ref().map(|request| &request.repo);
        repo.and_then(|repo| repo.canonicalize().ok()).as_ref() == Some(&root)
    });
    Ok(task_costs(&runs))
}

/// Starts a detached owner of the cruise.
fn detach(app: &App, host: &Host, id: &RunId) -> Outcome {
    let log = host.wiring.runs_dir.join(id.as_str()).join("owner.log");
    let mut arguments: Vec<OsString> = vec!["--repo".into(), host.folder.clone().into()];
    if let Some(config) = &app.global().config {
        arguments.extend(["--config".into(), config.clone().into()]);
    }
    arguments.extend(["cruise".into(), "resume".into(), id.as_str().into()]);
    let pid = detached::start(&arguments, &log)?;
    let text = format!(
        "cruise {id} runs in the background as process {pid}\n\
         check it with `drive cruise status {id}`, follow it with `drive cruise logs -f {id}`\n"
    );
    let document = RunDocument {
        pid: Some(pid),
        owner_log: Some(path_text(&log)),
        ..RunDocument::new(&host.wiring.journal().require(id)?, None)
    };
    Answer::new(&document, text)
}

/// Loads the plan of `--plan-file`; an invalid plan is refused before anything is created.
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
            format!("`{shown}` has {size} bytes; the limit is {LONGEST_PLAN}"),
        )
        .hint("shorten it to prose and one block of tasks"));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    match Plan::parse(&text) {
        Ok(_) => Ok(text),
        Err(errors) => Err(Problem::new(
            Kind::PlanInvalid,
            format!("`{shown}` is not a valid plan"),
        )
        .cause(errors.to_string())
        .hint("correct the named lines; the README shows an example")),
    }
}
