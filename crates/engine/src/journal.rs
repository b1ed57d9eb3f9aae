//! The first of the three verbs: [`Journal::deliver`]. What it returns from is durable.

use crate::ports::{Append, Appended, Clock, LeaseToken, Store};
use drive_core::Problem;
use drive_core::ids::{DedupeKey, RunId};
use drive_core::run::{Event, Run, step};

/// Delivers events to runs.
#[derive(Clone, Copy)]
pub struct Journal<'a> {
    /// Where they are kept.
    pub store: &'a dyn Store,
    /// What time it is.
    pub clock: &'a dyn Clock,
}

impl Journal<'_> {
    /// Makes an event durable, once per key, and folds it. Anybody may deliver; what only the
    /// owner may say carries its lease.
    pub fn deliver(
        &self,
        run: &RunId,
        event: &Event,
        dedupe: &DedupeKey,
        fence: Option<LeaseToken>,
    ) -> Result<Appended, Problem> {
        let append = Append {
            run,
            event,
            dedupe,
            at: self.clock.now(),
            fence,
        };
        self.store.append(&append, step)
    }

    /// The state of a run that must be there.
    pub fn require(&self, run: &RunId) -> Result<Run, Problem> {
        self.store.load(run)?.ok_or_else(|| {
            Problem::usage("unknownRun", format!("there is no run `{run}`"))
                .hint("`drive runs list` shows them")
        })
    }
}
