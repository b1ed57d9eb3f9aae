//! Stops a run on a person's request: its owner, or this process if there is none, saves the work
//! and ends it.

use crate::cancel::CancelToken;
use crate::executor::{Executor, OnStop, Performer, Until};
use crate::journal::Journal;
use crate::lease::{Lease, Whoami};
use crate::ports::Liveness;
use drive_core::ids::{DedupeKey, RunId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Event, Run};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long to wait for the owner, whose agent gets a grace period and whose work is saved.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How often the journal is read meanwhile.
const GLANCE: Duration = Duration::from_millis(100);

/// Asks a run to stop and waits up to `patience` until it has ended. `name` makes the delivery
/// idempotent. No process gets a signal: the owner reads the request in the journal, and if it dies
/// meanwhile, this process replaces it.
pub fn stop(
    run: &RunId,
    name: &str,
    patience: Duration,
    journal: Journal<'_>,
    whoami: &dyn Whoami,
    performer: &dyn Performer,
    cancel: &CancelToken,
) -> Result<Run, Problem> {
    let dedupe = DedupeKey::new(format!("stop/{name}"));
    journal.deliver(run, &Event::CancelAsked, &dedupe, None)?;
    let until = Instant::now() + patience;
    loop {
        let now = journal.require(run)?;
        if !now.is_active() {
            return Ok(now);
        }
        if let Some(lease) = free_lease(run, journal, whoami)? {
            let executor = Executor {
                journal,
                whoami,
                performer,
                cancel,
                on_stop: OnStop::End,
                until: Until::Ended,
                hints: None,
            };
            return executor.fly(&lease);
        }
        if cancel.asked().is_some() {
            return Err(Problem::new(
                Kind::Interrupted,
                format!("stopped waiting for run `{run}` to end"),
            )
            .hint(was_asked(run)));
        }
        if Instant::now() >= until {
            return Err(Problem::new(
                Kind::OwnerSlow,
                format!("the owner of run `{run}` has not ended it yet"),
            )
            .hint(was_asked(run)));
        }
        sleep(GLANCE);
    }
}

/// The lease of a run without a live owner.
fn free_lease<'a>(
    run: &RunId,
    journal: Journal<'a>,
    whoami: &dyn Whoami,
) -> Result<Option<Lease<'a>>, Problem> {
    let owner = journal.store.owner(run)?;
    if owner.is_some_and(|owner| whoami.liveness(&owner) == Liveness::Alive) {
        return Ok(None);
    }
    Ok(Lease::acquire(journal.store, journal.clock, whoami, run)?.ok())
}

fn was_asked(run: &RunId) -> String {
    format!("it was asked to stop; check with `drive runs show {run}`")
}
