//! Takes over the children of the runs that this process owns.

use super::Dispatch;
use super::owned_run::Held;
use crate::executor::OnStop;
use crate::lease::Lease;
use drive_core::ids::RunId;
use drive_core::problem::Problem;
use drive_core::run::{Child, ChildStage, Run};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Dispatch<'_> {
    /// Becomes the owner of a run's children. A child that another process owns is left alone; it
    /// reports to its parent's journal.
    pub(super) fn accept_children(&mut self, run: &Run) -> Result<(), Problem> {
        let live = |(_, child): &(&RunId, &Child)| match child.stage {
            ChildStage::Started | ChildStage::Stopping => true,
            ChildStage::Starting | ChildStage::Ended => false,
        };
        let children: BTreeSet<RunId> = run
            .children
            .iter()
            .filter(live)
            .map(|c| c.0.clone())
            .collect();
        let executor = self.executor;
        let journal = executor.journal;
        let lets_go = self.stopping && executor.on_stop == OnStop::LetGo;
        for child in &children {
            let is_owned = self.flights.contains_key(child) || self.resting.contains(child);
            if is_owned || lets_go {
                continue;
            }
            let lease = Lease::acquire(journal.store, journal.clock, executor.whoami, child)?;
            if let Ok(lease) = lease {
                self.accept(Held::Own(Arc::new(lease)), Some(run.id.clone()));
            }
        }
        if let Some(flight) = self.flights.get_mut(&run.id) {
            flight.children = children;
        }
        Ok(())
    }
}
