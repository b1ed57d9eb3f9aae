//! Continues a run that was stopped, lost its owner or used up its budget.

use crate::cancel::CancelToken;
use crate::executor::{Executor, OnStop, Performer, Until};
use crate::journal::Journal;
use crate::lease::{Lease, Whoami, held_by};
use crate::ports::Liveness;
use drive_core::agent::Budget;
use drive_core::ids::{DedupeKey, RunId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Event, NotResumable, OutcomeStatus, Run, require_resumable};

/// Fails unless the run can go on with so much more budget, and has no live owner. One that cannot be
/// asked keeps the run until its lease expires: the lease tells.
pub fn check(
    run: &Run,
    granted: Option<Budget>,
    journal: Journal<'_>,
    whoami: &dyn Whoami,
) -> Result<(), Problem> {
    let owner = journal.store.owner(&run.id)?;
    match owner.filter(|owner| whoami.liveness(owner) == Liveness::Alive) {
        Some(owner) => Err(held_by(&run.id, &owner, whoami)),
        None => require_resumable(run, granted).map_err(|why| refused(run, why)),
    }
}

/// Lets a run go on, as its owner, and executes it to its end.
pub fn resume(
    run: &RunId,
    granted: Option<Budget>,
    journal: Journal<'_>,
    whoami: &dyn Whoami,
    performer: &dyn Performer,
    cancel: &CancelToken,
) -> Result<Run, Problem> {
    let lease = Lease::acquire(journal.store, journal.clock, whoami, run)?
        .map_err(|owner| held_by(run, &owner, whoami))?;
    // Another process may have resumed it between the check and the lease.
    let now = journal.require(run)?;
    require_resumable(&now, granted).map_err(|why| refused(&now, why))?;
    let dedupe = DedupeKey::new(format!("resumed/{}", lease.token().0));
    let event = Event::Resumed { granted };
    journal.deliver(run, &event, &dedupe, Some(lease.token()))?;
    Executor {
        journal,
        whoami,
        performer,
        cancel,
        on_stop: OnStop::End,
        until: Until::Ended,
        hints: None,
    }
    .fly(&lease)
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
