//! Continues a run that was stopped, lost its owner or used up its budget, and gives a new task to
//! one that ended.

use crate::cancel::CancelToken;
use crate::executor::{Executor, OnStop, Performer, Until};
use crate::journal::Journal;
use crate::lease::{Lease, Whoami, held_by};
use crate::ports::Liveness;
use drive_core::agent::Budget;
use drive_core::ids::{DedupeKey, RunId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{
    Event, NotContinuable, NotResumable, OutcomeStatus, Run, require_continuable, require_resumable,
};

/// Fails unless the run can continue with this additional budget and has no live owner. An owner
/// that cannot be checked keeps the run until its lease expires.
pub fn check(
    run: &Run,
    granted: Option<Budget>,
    journal: Journal<'_>,
    whoami: &dyn Whoami,
) -> Result<(), Problem> {
    require_unowned(run, journal, whoami)?;
    require_resumable(run, granted).map_err(|why| refused(run, why))
}

/// Like `check`, for a run that gets a new task.
pub fn check_more(run: &Run, journal: Journal<'_>, whoami: &dyn Whoami) -> Result<(), Problem> {
    require_unowned(run, journal, whoami)?;
    require_continuable(run).map_err(|why| not_continued(run, why))
}

fn require_unowned(run: &Run, journal: Journal<'_>, whoami: &dyn Whoami) -> Result<(), Problem> {
    let owner = journal.store.owner(&run.id)?;
    match owner.filter(|owner| whoami.liveness(owner) == Liveness::Alive) {
        Some(owner) => Err(held_by(&run.id, &owner, whoami)),
        None => Ok(()),
    }
}

/// Continues a run as its owner, and executes it to its end.
pub fn resume(
    run: &RunId,
    granted: Option<Budget>,
    journal: Journal<'_>,
    whoami: &dyn Whoami,
    performer: &dyn Performer,
    cancel: &CancelToken,
) -> Result<Run, Problem> {
    let lease = own(run, journal, whoami)?;
    // Another process may have resumed it between the check and the lease.
    let now = journal.require(run)?;
    require_resumable(&now, granted).map_err(|why| refused(&now, why))?;
    let event = Event::Resumed { granted };
    fly(&event, &lease, journal, whoami, performer, cancel)
}

/// Gives an ended run a new task on its branch, as its owner, and executes it to its end.
pub fn give_more(
    run: &RunId,
    task: String,
    journal: Journal<'_>,
    whoami: &dyn Whoami,
    performer: &dyn Performer,
    cancel: &CancelToken,
) -> Result<Run, Problem> {
    let lease = own(run, journal, whoami)?;
    let now = journal.require(run)?;
    require_continuable(&now).map_err(|why| not_continued(&now, why))?;
    let event = Event::Continued { task };
    fly(&event, &lease, journal, whoami, performer, cancel)
}

fn own<'s>(run: &RunId, journal: Journal<'s>, whoami: &dyn Whoami) -> Result<Lease<'s>, Problem> {
    Lease::acquire(journal.store, journal.clock, whoami, run)?
        .map_err(|owner| held_by(run, &owner, whoami))
}

fn fly(
    event: &Event,
    lease: &Lease<'_>,
    journal: Journal<'_>,
    whoami: &dyn Whoami,
    performer: &dyn Performer,
    cancel: &CancelToken,
) -> Result<Run, Problem> {
    let dedupe = DedupeKey::new(format!("resumed/{}", lease.token().0));
    journal.deliver(lease.run(), event, &dedupe, Some(lease.token()))?;
    Executor {
        journal,
        whoami,
        performer,
        cancel,
        on_stop: OnStop::End,
        until: Until::Ended,
        hints: None,
    }
    .fly(lease)
}

fn not_continued(run: &Run, why: NotContinuable) -> Problem {
    let id = &run.id;
    let refused =
        |message: String, hint: String| Problem::new(Kind::RunNotResumable, message).hint(hint);
    match why {
        NotContinuable::Active => refused(
            format!("run `{id}` has not ended yet"),
            format!("see its progress with `drive runs show {id}`, or stop it with `drive runs stop {id}`"),
        ),
        NotContinuable::Child => refused(
            format!("run `{id}` is part of a cruise"),
            "write a comment on the pull request of the cruise, or run `drive cruise fix --comment TEXT`"
                .to_owned(),
        ),
        NotContinuable::Cruise => refused(
            format!("run `{id}` is a cruise"),
            format!("ask for more with `drive cruise fix {id} --comment TEXT`, or start a new cruise"),
        ),
        NotContinuable::NoWork => refused(
            format!("run `{id}` left no commit to build on"),
            format!("start it again with `drive runs retry {id}`"),
        ),
        NotContinuable::OverBudget => {
            let overrun = run.budget().overrun(run.spent.usage, run.spent.cost);
            let overrun = overrun.map_or(String::new(), |overrun| overrun.to_string());
            Problem::new(Kind::BudgetExceeded, format!("run `{id}` {overrun}"))
                .hint("start a new run, which has a budget of its own, with `drive spawn`")
        }
    }
}

fn refused(run: &Run, why: NotResumable) -> Problem {
    let id = &run.id;
    match why {
        NotResumable::Active => Problem::new(
            Kind::RunNotResumable,
            format!("run `{id}` has not ended yet"),
        )
        .hint(format!("see its progress with `drive runs show {id}`")),
        NotResumable::OverBudget => {
            let overrun = run.budget().overrun(run.spent.usage, run.spent.cost);
            let overrun = overrun.map_or(String::new(), |overrun| overrun.to_string());
            Problem::new(Kind::BudgetExceeded, format!("run `{id}` {overrun}")).hint(format!(
                "grant more and continue with `drive runs extend {id} {}`",
                run.extension()
            ))
        }
        NotResumable::Over(status) => {
            let how = match status {
                OutcomeStatus::Succeeded => "succeeded",
                OutcomeStatus::Failed => "failed",
                OutcomeStatus::TimedOut => "timed out",
                OutcomeStatus::Cancelled => "was cancelled",
                OutcomeStatus::NeedsHuman => "needs a decision of a person",
            };
            let failure = run.outcome.as_ref().and_then(|one| one.failure.as_ref());
            let failure = failure.map_or(String::new(), |why| format!(": {}", why.message));
            Problem::new(Kind::RunNotResumable, format!("run `{id}` {how}{failure}")).hint(format!(
                "only a run that was stopped, killed or used up its budget continues; `drive runs \
                 show {id}` shows what this one did"
            ))
        }
    }
}
