//! Starts runs: turns the options of `spawn`, `spawn-team` and `cruise run` into a request, and executes
//! a run to its end.

use crate::cancel::CancelToken;
use crate::executor::{Executor, OnStop, Performer, Until};
use crate::journal::Journal;
use crate::lease::{Lease, Whoami, held_by};
use crate::perform::branch_exists;
use crate::ports::{Place, VersionControl};
use drive_core::default_branch_name::default_branch_name;
use drive_core::ids::{BranchName, DedupeKey, RemoteName, RunId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{AfterEnd, Event, Publish, Request, Run, RunKind};
use drive_core::settings::{Settings, TeamMode};
use std::path::PathBuf;

/// The longest task in bytes; it is more than any agent accepts on standard input.
pub const LONGEST_TASK: usize = 8 * 1024 * 1024;

/// What the user asked for.
#[derive(Clone, Debug)]
pub struct SpawnOrder {
    /// The command and its own options.
    pub kind: RunKind,
    /// The task, checked by [`check_task`].
    pub task: String,
    /// A folder of the repository.
    pub repo: PathBuf,
    /// Revision to start from; `None` is the checked-out commit.
    pub base: Option<String>,
    /// Branch to create; `None` derives a name from the task.
    pub branch: Option<BranchName>,
    /// Name of the agent in the settings.
    pub agent: String,
    /// How many permission requests are allowed.
    pub max_escalations: u32,
    /// Whether to open a pull request.
    pub publish: Publish,
    /// Whether the sandbox is removed at the end.
    pub after_end: AfterEnd,
}

/// Checks an order and converts it to a request with these settings. Creates nothing.
pub fn request(
    order: SpawnOrder,
    settings: &Settings,
    run: &RunId,
    history: &dyn VersionControl,
) -> Result<Request, Problem> {
    let repository = history.discover(&order.repo)?;
    let place = Place::Checkout(&order.repo);
    let (base_sha, base_branch) = match order.base.as_deref() {
        None | Some("HEAD") => (repository.head_sha.clone(), repository.branch.clone()),
        Some(base) => {
            let is_there = |full: String| history.resolve(place, &full).is_ok();
            let branch = base_branch(base, &order.publish, &is_there);
            (history.resolve(place, base)?, branch)
        }
    };
    if base_branch.is_none() && order.publish != Publish::BranchOnly {
        return Err(Problem::new(
            Kind::NoBaseBranch,
            "no base branch to open a pull request against",
        )
        .hint("start from a branch with `--base BRANCH`, or pass `--no-pr`"));
    }
    require_pull_request(&order)?;
    let branch = match order.branch {
        Some(branch) => {
            require_free(history, place, order.publish.remote(), &branch)?;
            branch
        }
        None => default_branch_name(&order.task, run)?,
    };
    Ok(Request {
        kind: order.kind,
        task: order.task,
        git_dir: Some(repository.common_dir.clone()),
        repo: repository.top.unwrap_or(repository.common_dir),
        base_sha,
        base_branch,
        branch,
        agent: order.agent,
        model: None,
        idle_timeout: settings.spawn.idle_timeout.get(),
        total_timeout: settings.spawn.total_timeout.get(),
        budget: settings.budget.of_run(),
        max_escalations: order.max_escalations,
        publish: order.publish,
        after_end: order.after_end,
        copy: settings.sandbox.copy.clone(),
        seed: settings.sandbox.seed.clone(),
        notify: !settings.notify.command.is_empty(),
        prompts: None,
        parent: None,
    })
}

/// Refuses a branch name that exists on the remote, because the run must not move that branch. If the remote
/// cannot be read, nothing is refused here; a run that publishes checks the remote before it begins.
fn require_free(
    history: &dyn VersionControl,
    place: Place<'_>,
    remote: Option<&RemoteName>,
    branch: &BranchName,
) -> Result<(), Problem> {
    let Some(remote) = remote else {
        return Ok(());
    };
    match history.remote_head(place, remote, branch) {
        Ok(Some(_)) => Err(branch_exists(branch, Some(remote))),
        Ok(None) | Err(_) => Ok(()),
    }
}

/// The base branch of the pull request: `base` itself if it is a branch, or the branch behind a
/// remote-tracking branch of the forge's remote.
fn base_branch(
    base: &str,
    publish: &Publish,
    is_there: &dyn Fn(String) -> bool,
) -> Option<BranchName> {
    if is_there(format!("refs/heads/{base}")) {
        return BranchName::parse(base).ok();
    }
    let Publish::PullRequest {
        remote: Some(remote),
    } = publish
    else {
        return None;
    };
    let branch = base.strip_prefix(remote.as_str())?.strip_prefix('/')?;
    let branch = BranchName::parse(branch).ok()?;
    is_there(format!("refs/remotes/{base}")).then_some(branch)
}

/// Journals the request and executes the run to its end.
pub fn execute(
    request: Request,
    run: &RunId,
    journal: Journal<'_>,
    whoami: &dyn Whoami,
    performer: &dyn Performer,
    cancel: &CancelToken,
) -> Result<Run, Problem> {
    // The lease is taken first, so that recovery in another process never mistakes this run for an orphan.
    let lease = Lease::acquire(journal.store, journal.clock, whoami, run)?
        .map_err(|owner| held_by(run, &owner, whoami))?;
    let is_cruise = matches!(request.kind, RunKind::Cruise(_) | RunKind::Build(_));
    let event = Event::Requested {
        request: Box::new(request),
    };
    journal.deliver(run, &event, &DedupeKey::new("request"), Some(lease.token()))?;
    Executor {
        journal,
        whoami,
        performer,
        cancel,
        on_stop: if is_cruise {
            OnStop::LetGo
        } else {
            OnStop::End
        },
        until: Until::Ended,
        hints: None,
    }
    .fly(&lease)
}

/// Refuses `--no-pr` if the flow needs a pull request.
fn require_pull_request(order: &SpawnOrder) -> Result<(), Problem> {
    match &order.kind {
        RunKind::Team(terms)
            if terms.mode == TeamMode::Github && order.publish == Publish::BranchOnly =>
        {
            Err(Problem::new(
                Kind::ModeNeedsPullRequest,
                "mode `github` needs a pull request, but `--no-pr` opens none",
            )
            .hint("leave out `--no-pr`, or pass `--mode pingpong`"))
        }
        RunKind::Cruise(_) if order.publish == Publish::BranchOnly => Err(Problem::new(
            Kind::CruiseNeedsPullRequest,
            "a cruise needs a pull request, but there is no forge to open it on",
        )
        .hint("set `kind` in `[forge]`; `local` needs nothing")),
        RunKind::Team(_) | RunKind::Cruise(_) | RunKind::Build(_) | RunKind::Spawn => Ok(()),
    }
}

/// Refuses a task that is empty or too long. Front ends call it first.
pub fn check_task(task: &str) -> Result<(), Problem> {
    if task.trim().is_empty() {
        return Err(Problem::new(Kind::TaskEmpty, "the task is empty").hint(
            "say what to do: `drive spawn \"fix the login\"`, or `-` to read it from stdin",
        ));
    }
    if task.len() > LONGEST_TASK {
        return Err(Problem::new(
            Kind::TaskTooLarge,
            format!(
                "the task has {} bytes; the limit is {LONGEST_TASK}",
                task.len()
            ),
        )
        .hint("put the text into a file of the repository and name that file in the task"));
    }
    Ok(())
}
