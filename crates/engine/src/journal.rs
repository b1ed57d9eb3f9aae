//! [`Journal::deliver`]: stores an event and its consequences in one transaction. The event is
//! durable when it returns.

use crate::ports::{Append, Appended, Clock, LeaseToken, Store};
use drive_core::ids::{DedupeKey, RunId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Event, Run, step};

/// Delivers events to runs.
#[derive(Clone, Copy)]
pub struct Journal<'a> {
    /// The store of events.
    pub store: &'a dyn Store,
    /// The clock.
    pub clock: &'a dyn Clock,
}

/// An event that the owner of a run delivers.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    /// The run.
    pub run: RunId,
    /// The event.
    pub event: Event,
    /// The key that identifies the event when it is delivered again.
    pub dedupe: DedupeKey,
    /// The owner's lease.
    pub fence: LeaseToken,
}

impl Journal<'_> {
    /// Stores an event durably, once per key, and folds it. Any process may deliver; events
    /// reserved for the owner carry its lease.
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

    /// Delivers many events in one durable write, each under its owner's lease.
    pub fn deliver_all(&self, words: &[Word]) -> Result<Vec<Result<Appended, Problem>>, Problem> {
        let at = self.clock.now();
        let appends: Vec<Append<'_>> = words
            .iter()
            .map(|word| Append {
                run: &word.run,
                event: &word.event,
                dedupe: &word.dedupe,
                at,
                fence: Some(word.fence),
            })
            .collect();
        self.store.append_all(&appends, step)
    }

    /// The state of a run, which must exist.
    pub fn require(&self, run: &RunId) -> Result<Run, Problem> {
        self.store.load(run)?.ok_or_else(|| {
            Problem::new(Kind::UnknownRun, format!("no run `{run}`"))
                .hint("list runs with `drive runs list`")
        })
    }
}
