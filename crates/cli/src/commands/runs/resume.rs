//! `drive runs resume`: continues a run that was stopped, killed or used up its budget.

use super::pick;
use crate::answer::Outcome;
use crate::app::App;
use crate::commands::cruise::resume_cruise;
use crate::commands::preflight::require_ready;
use crate::commands::verify::OwnVerifier;
use crate::progress::Progress;
use crate::run_report;
use crate::wiring::Wiring;
use drive_core::agent::Budget;
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Publish, Request, Run, is_cruise, require_resumable};
use drive_engine::CancelToken;
use drive_engine::forge::Conversation;
use drive_engine::lease;
use drive_engine::perform::World;
use drive_engine::ports::{Place, VersionControl};
use drive_engine::resume;

/// Continues a run until it ends.
pub(super) fn run(app: &App, wiring: &Wiring, id: Option<&str>) -> Outcome {
    let is_free = |run: &Run| {
        let owner = lease::living_owner(&wiring.store, &wiring.whoami, &run.id);
        owner.is_ok_and(|owner| owner.is_none())
    };
    let fits = |run: &Run| {
        let is_left = is_cruise(run) && run.is_active() || require_resumable(run, None).is_ok();
        run.parent().is_none() && is_left && is_free(run)
    };
    let found = pick::only(app, id, "continued", fits)?;
    if is_cruise(&found) {
        return resume_cruise(app, found.id.as_str());
    }
    go_on(app, &found, None)
}

/// The services to continue or repeat a run in its repository.
pub(super) struct Ready {
    pub(super) wiring: Wiring,
    pub(super) conversation: Option<Conversation>,
}

impl Ready {
    /// Creates the services for a run's repository, with its current settings.
    pub(super) fn new(app: &App, run: &Run, request: &Request) -> Result<Self, Problem> {
        let folder = &request.repo;
        if !folder.is_dir() {
            return Err(repository_gone(run, request));
        }
        let settings = app.settings_at(folder)?.settings;
        let wiring = Wiring::new(app, &settings, folder)?;
        let conversation = match &request.publish {
            Publish::BranchOnly => None,
            Publish::PullRequest { .. } => {
                let open = wiring.forge(&settings, folder)?;
                app.output()
                    .detail(format_args!("forge: {}", open.choice.why));
                Some(wiring.conversation(&open, &settings)?)
            }
        };
        Ok(Self {
            wiring,
            conversation,
        })
    }

    /// Executes a run with these services, and shows progress.
    pub(super) fn fly(
        &self,
        app: &App,
        work: impl FnOnce(&World<'_>, &CancelToken) -> Result<Run, Problem>,
    ) -> Result<Run, Problem> {
        let progress = Progress::new(app.output());
        let gate = OwnVerifier::of(app);
        let world = World {
            gate: Some(&gate),
            ..self.wiring.world(self.conversation.as_ref(), &progress)
        };
        let cancel = app.cancel()?;
        progress.ticking(cancel, "stopping and saving work", || work(&world, cancel))
    }
}

/// Continues a team or spawn, with the additional budget if a person granted one.
pub(super) fn go_on(app: &App, run: &Run, granted: Option<Budget>) -> Outcome {
    let request = run.request.clone().ok_or_else(|| no_request(run))?;
    let folder = &request.repo;
    let ready = Ready::new(app, run, &request)?;
    let wiring = &ready.wiring;
    resume::check(run, granted, wiring.journal(), &wiring.whoami)?;
    require_branch(wiring, run, &request)?;
    wiring.require_agents(agents(&request), &request.task, app)?;
    if let Some(talk) = &ready.conversation {
        require_ready(app, talk.forge.as_ref(), &wiring.git, &request)?;
    }
    app.output()
        .narrate(format_args!("continuing run {}", run.id));
    let run = ready.fly(app, |world, cancel| {
        let journal = wiring.journal();
        resume::resume(&run.id, granted, journal, &wiring.whoami, world, cancel)
    })?;
    run_report::answer(&run, wiring.changes(&run, folder).as_ref(), None)
}

/// Every agent of a run, without duplicates.
pub(super) fn agents(request: &Request) -> Vec<&str> {
    let mut agents = vec![request.agent.as_str()];
    if let Some(terms) = request.kind.phase_terms() {
        agents.extend([terms.reviewer.as_str(), terms.fixer.as_str()]);
        agents.extend(terms.review.refuter.as_deref());
    }
    agents.sort_unstable();
    agents.dedup();
    agents
}

pub(super) fn require_branch(wiring: &Wiring, run: &Run, request: &Request) -> Result<(), Problem> {
    let Some(branch) = &run.work.branch else {
        return Ok(());
    };
    let place = Place::Checkout(&request.repo);
    if wiring.git.resolve(place, &branch.full()).is_ok() {
        return Ok(());
    }
    let id = &run.id;
    let problem = Problem::new(
        Kind::BranchNotFound,
        format!("branch `{branch}` of run `{id}` no longer exists"),
    );
    Err(match &run.work.head_sha {
        Some(head) => problem.hint(format!(
            "restore it with `git branch {branch} {head}`, then run `drive runs resume {id}`"
        )),
        None => problem.hint("start a new run"),
    })
}

pub(super) fn no_request(run: &Run) -> Problem {
    Problem::new(
        Kind::RunNotResumable,
        format!("run `{}` was stopped before it started", run.id),
    )
    .hint("start it again with `drive spawn` or `drive spawn-team`")
}

fn repository_gone(run: &Run, request: &Request) -> Problem {
    Problem::new(
        Kind::RepositoryGone,
        format!(
            "repository `{}` of run `{}` no longer exists",
            request.repo.display(),
            run.id
        ),
    )
    .hint("move it back; the branches of the run are in it")
}
