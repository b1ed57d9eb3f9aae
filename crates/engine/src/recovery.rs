//! Crash recovery: stops what a killed drive process left running, saves its work, removes its
//! sandbox, and reports it.

use crate::cancel::CancelToken;
use crate::executor::{Executor, OnStop, Performer, Until};
use crate::journal::Journal;
use crate::lease::{Lease, Whoami};
use crate::ports::RunFilter;
use drive_core::Problem;
use drive_core::ids::DedupeKey;
use drive_core::run::{Event, Run};

/// How many unfinished runs one command recovers at most.
const SWEEP_LIMIT: u32 = 10_000;

/// The results of recovering runs of dead owners.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Runs that were ended.
    pub ended: Vec<Run>,
    /// Runs that could not be ended now, with the reason.
    pub failed: Vec<(Run, Problem)>,
}

/// Ends every run whose owner is proven dead. Runs whose owner is alive, or cannot be checked, are
/// left alone.
pub fn sweep(
    journal: Journal<'_>,
    whoami: &dyn Whoami,
    performer: &dyn Performer,
    cancel: &CancelToken,
) -> Result<Recovered, Problem> {
    let mut recovered = Recovered::default();
    for run in journal.store.list(RunFilter::Active, SWEEP_LIMIT)? {
        // The run continues with its next owner.
        if run.outlives_its_owner() && !is_orphan(journal, &run)? {
            continue;
        }
        let Ok(lease) = Lease::acquire(journal.store, journal.clock, whoami, &run.id)? else {
            continue;
        };
        let executor = Executor {
            journal,
            whoami,
            performer,
            cancel,
            on_stop: OnStop::End,
            until: Until::Ended,
            hints: None,
        };
        match bring_to_end(journal, &lease, &executor) {
            Ok(Some(run)) => recovered.ended.push(run),
            Ok(None) => {}
            Err(problem) => recovered.failed.push((run, problem)),
        }
    }
    tell_the_rest(journal, whoami, performer, cancel)?;
    Ok(recovered)
}

/// Sends the notices of runs that ended right before their owner was killed.
fn tell_the_rest(
    journal: Journal<'_>,
    whoami: &dyn Whoami,
    performer: &dyn Performer,
    cancel: &CancelToken,
) -> Result<(), Problem> {
    for run in journal.store.list(RunFilter::Untold, SWEEP_LIMIT)? {
        let Ok(lease) = Lease::acquire(journal.store, journal.clock, whoami, &run.id)? else {
            continue;
        };
        let executor = Executor {
            journal,
            whoami,
            performer,
            cancel,
            on_stop: OnStop::End,
            until: Until::Ended,
            hints: None,
        };
        // A notice that cannot be sent now must not make this command fail.
        let _ = executor.fly(&lease);
    }
    Ok(())
}

fn bring_to_end(
    journal: Journal<'_>,
    lease: &Lease<'_>,
    executor: &Executor<'_>,
) -> Result<Option<Run>, Problem> {
    let run = journal.require(lease.run())?;
    // The run may have ended between the listing and the lease.
    if !run.is_active() {
        return Ok(None);
    }
    let (event, name) = if run.outlives_its_owner() {
        (Event::CancelAsked, "orphaned")
    } else {
        (Event::OwnerLost, "ownerLost")
    };
    let dedupe = DedupeKey::new(format!("{name}/{}", lease.token().0));
    journal.deliver(lease.run(), &event, &dedupe, Some(lease.token()))?;
    executor.fly(lease).map(Some)
}

/// Whether the parent of a child run has ended or no longer exists, so that nothing continues the child.
fn is_orphan(journal: Journal<'_>, run: &Run) -> Result<bool, Problem> {
    let Some(parent) = run.parent() else {
        return Ok(false);
    };
    let parent = journal.store.load(&parent.run)?;
    Ok(!parent.is_some_and(|parent| parent.is_active()))
}
