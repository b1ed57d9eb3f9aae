//! `drive demo`: a whole cruise in a temporary repository, with scripted agents and the local forge.

mod place;

use crate::answer::{Answer, Outcome};
use crate::app::App;
use crate::commands::cruise::{audit_text, build_terms};
use crate::commands::phase_terms::usual_terms;
use crate::commands::verify::OwnVerifier;
use crate::documents::{DemoDocument, RunSummary};
use crate::progress::Progress;
use crate::wiring::Wiring;
use clap::Args;
use drive_adapters::forge::local::{CommentTarget, LocalForge, PersonalComment};
use drive_core::forge::marker::visible;
use drive_core::ids::{PrNumber, RemoteName, RunId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{
    AfterEnd, Flow, Level, PlanFrom, Publish, Request, Run, RunKind, Stage, TaskState,
    cruise_status, planning_run, waits_for_person,
};
use drive_core::settings::Settings;
use drive_engine::cruise::CruiseService;
use drive_engine::perform::World;
use drive_engine::ports::{Forge, Store};
use drive_engine::start::{self, SpawnOrder};
use place::DemoPlace;
use std::fmt::Write;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

const TASK: &str = "Let greet.sh greet by name";
/// The demo's forge is new, so its only pull request has this number.
const ONLY_PR: PrNumber = PrNumber::new(1);
const REMARK: &str = "What does it say when no name is given?";
/// How long each part may take.
const PATIENCE: Duration = Duration::from_secs(60);
const GLANCE: Duration = Duration::from_millis(50);

/// The arguments of `drive demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Keep the temporary repository
    #[arg(long)]
    keep: bool,
}

/// Runs scripted agents in a temporary repository.
pub(crate) fn run(args: &DemoArgs, app: &App) -> Outcome {
    let place = DemoPlace::make(app)?;
    app.output()
        .narrate("This is a demonstration in a throw-away repository; every agent is a script.");
    app.output()
        .narrate("It needs no account and no network, and touches none of your files.\n");
    app.output().narrate(format_args!(
        "1. The plan. A planner plans \"{TASK}\" on a pull request, reviewers read the plan in two\n\
         domains, and a fixer answers each comment with a commit.\n"
    ));
    let shown = show(app, &place);
    if args.keep {
        place.leave(app)
    } else {
        place.remove(app)
    }
    let (run, page) = shown?;
    let report = audit_text(&run).unwrap_or_default();
    let text = format!(
        "\n4. The end. The pull request, as a person sees it:\n\n{page}\nWhat became of every task, and \
         what proves it (`drive cruise report`):\n\n{report}\nWith real agents, in your own \
         repository: `drive cruise run \"TASK\"`.\nOne agent, one pull request, no plan: `drive \
         spawn \"TASK\"`."
    );
    let document = DemoDocument {
        run: RunSummary::from(&run),
    };
    Answer::new(&document, text)
}

fn show(app: &App, place: &DemoPlace) -> Result<(Run, String), Problem> {
    let settings = place.settings()?;
    let wiring = Wiring::in_state(&place.state, &place.environment, &settings, &place.repo)?;
    place.make_repository(&wiring)?;
    let open = wiring.forge(&settings, &place.repo)?;
    let id = wiring.new_run()?;
    let request = request(&settings, place, &wiring, &id, open.remote.clone())?;
    let progress = Progress::new(app.output());
    let conversation = wiring.conversation(&open, &settings)?;
    let gate = OwnVerifier::in_environment(app, &place.environment);
    let world = World {
        gate: Some(&gate),
        ..wiring.world(Some(&conversation), &progress)
    };
    let cruises = CruiseService {
        journal: wiring.journal(),
        whoami: &wiring.whoami,
        performer: &world,
        cancel: app.cancel()?,
        hints: None,
    };
    cruises.enter(&id, request)?;
    let desk = wiring.local_forge(&place.repo)?;
    let person = Person {
        app,
        wiring: &wiring,
        desk: &desk,
        id: &id,
    };
    let run = scope(|threads| {
        let owner = threads.spawn(|| cruises.resume(&id));
        let acted = person.acts();
        if acted.is_err() {
            app.cancel()?
                .cancel(drive_engine::cancel::Urgency::Graceful);
        }
        let run = owner.join().unwrap_or_else(|_| {
            Err(Problem::new(Kind::Internal, "the demonstration panicked")
                .hint("this is a bug in drive; please report it"))
        });
        acted?;
        run
    })?;
    let failure = run
        .outcome
        .as_ref()
        .and_then(|outcome| outcome.failure.clone());
    match failure {
        Some(problem) => Err(problem),
        None => Ok((run, page(&desk)?)),
    }
}

/// The person of the demonstration: comments when everything seems done, reads the reply, and approves.
struct Person<'a> {
    app: &'a App,
    wiring: &'a Wiring,
    desk: &'a LocalForge,
    id: &'a RunId,
}

impl Person<'_> {
    fn acts(&self) -> Result<(), Problem> {
        self.until_quiet(1)?;
        self.app
            .output()
            .narrate(format_args!("\n  (hours later, a person) {REMARK}\n"));
        self.desk.comment(
            ONLY_PR,
            &PersonalComment {
                author: None,
                body: REMARK,
                target: CommentTarget::Conversation,
            },
        )?;
        self.until_quiet(2)?;
        self.app.output().narrate(
            "\n  (the same person approves the plan)\n\n\
             2. The tasks. Two agents build side by side, because their tasks touch different files.\n",
        );
        let approved = drive_core::forge::ReviewState::Approved;
        self.desk.personal_review(ONLY_PR, None, approved, "")?;
        self.until_built()
    }

    /// Waits until nothing is open after this many fixer rounds.
    fn until_quiet(&self, rounds: u32) -> Result<(), Problem> {
        self.until(|root| {
            let Some(plan) = planning_run(root) else {
                return Ok(false);
            };
            // The planning run may not have started yet.
            let Some(run) = self.wiring.store.load(&plan)? else {
                return Ok(false);
            };
            let is_watching = match &run.flow {
                Flow::Phase { phase } => phase.stage == Stage::Watching,
                Flow::Awaiting | Flow::Spawn { .. } | Flow::Cruise { .. } => false,
            };
            let is_quiet = cruise_status(&run)
                .is_some_and(|status| status.rounds >= rounds && status.pending_comments == 0);
            Ok(is_watching && is_quiet)
        })
    }

    /// Reports the progress of the tasks until the cruise ends. If the machine cannot verify them,
    /// the demonstration cannot continue.
    fn until_built(&self) -> Result<(), Problem> {
        let mut is_told = false;
        self.until(|root| {
            let Flow::Cruise { build } = &root.flow else {
                return Ok(false);
            };
            let failed = build.tasks.iter().find_map(|(id, task)| match &task.state {
                TaskState::Waiting {
                    diagnosis: Some(why),
                } => Some((id, &why.what)),
                TaskState::Waiting { diagnosis: None }
                | TaskState::Building { .. }
                | TaskState::Landing { .. }
                | TaskState::Landed { .. }
                | TaskState::Blocked { .. }
                | TaskState::Skipped => None,
            });
            let again = build.tasks.iter().find(|(_, task)| task.runs.len() > 1);
            let again = again.map(|(id, _)| id).or(failed.map(|(id, _)| id));
            if let (Some(id), false) = (again, is_told) {
                is_told = true;
                self.app.output().narrate(format_args!(
                    "\n3. The train. Task `{id}` did not pass the tests, so it did not land. An agent \
                     gets the reason\n   and tries again; only verified trees reach the branch.\n"
                ));
            }
            match waits_for_person(root) {
                Some(why) if root.is_active() => Err(Problem::new(
                    Kind::TasksFailed,
                    format!("the demonstration cannot continue without a person: {why}"),
                )
                .hint("see what this machine lacks for verification with `drive doctor`")),
                Some(_) | None => Ok(false),
            }
        })
    }

    /// Waits until this is true of the cruise, or the cruise has ended.
    fn until(&self, mut holds: impl FnMut(&Run) -> Result<bool, Problem>) -> Result<(), Problem> {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until && self.app.cancel()?.asked().is_none() {
            let run = self.wiring.journal().require(self.id)?;
            if holds(&run)? || !run.is_active() {
                return Ok(());
            }
            sleep(GLANCE);
        }
        Err(
            Problem::new(Kind::DemoSlow, "the demonstration did not finish in time")
                .hint("try again when the machine is less busy: `drive demo`"),
        )
    }
}

fn request(
    settings: &Settings,
    place: &DemoPlace,
    wiring: &Wiring,
    id: &RunId,
    remote: Option<RemoteName>,
) -> Result<Request, Problem> {
    let agent = settings.spawn_team.primary_llm.clone();
    let terms = usual_terms(settings, &place.repo)?;
    let order = SpawnOrder {
        kind: RunKind::Cruise(Box::new(terms.clone())),
        task: TASK.to_owned(),
        repo: place.repo.clone(),
        base: None,
        branch: None,
        agent,
        max_escalations: settings.spawn.max_escalations,
        publish: Publish::PullRequest { remote },
        after_end: AfterEnd::Remove,
    };
    let planning = start::request(order, settings, id, &wiring.git)?;
    let plan = PlanFrom::Phase {
        request: Box::new(planning.clone()),
    };
    let terms = build_terms(settings, &terms, plan, Level::Functional);
    Ok(Request {
        kind: RunKind::Build(Box::new(terms)),
        ..planning
    })
}

/// The pull request with its conversation, without hidden markers.
fn page(desk: &LocalForge) -> Result<String, Problem> {
    let pr = desk.fetch(ONLY_PR)?;
    let mut text = format!(
        "#{} {} ({} to {})\n",
        pr.number, pr.title, pr.branch, pr.base
    );
    for comment in desk.comments(ONLY_PR)? {
        let author = comment.author.login.as_deref().unwrap_or("unknown");
        let body = visible(&comment.body);
        if body.trim().is_empty() {
            let _ = writeln!(text, "  {author} approved it");
            continue;
        }
        let place = match (&comment.path, comment.line) {
            (Some(path), Some(line)) => format!(" on {path}:{line}"),
            (_, _) => String::new(),
        };
        // A reply outside a thread begins with a quote.
        let said = body
            .lines()
            .find(|line| !line.starts_with('>') && !line.trim().is_empty());
        let _ = writeln!(text, "  {author}{place}: {}", said.unwrap_or_default());
    }
    Ok(text)
}
