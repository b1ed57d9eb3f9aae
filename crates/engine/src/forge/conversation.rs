//! A forge, combined with what drive needs to post on it and to decide whom to trust.

use super::permissions::Permissions;
use super::poll_coalescer::PollCoalescer;
use crate::ports::{Clock, Forge, Polled, Since};
use drive_core::Problem;
use drive_core::forge::marker::MarkerKey;
use drive_core::forge::trust::Trusted;
use drive_core::ids::PrNumber;
use drive_core::run::{Flow, Run};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Drive's access to a forge, for posting and polling.
pub struct Conversation {
    /// The forge.
    pub forge: Arc<dyn Forge>,
    /// The key that signs the markers of posts.
    pub key: MarkerKey,
    /// Trusted authors besides those with write permission.
    pub trusted: Trusted,
    /// Permissions of other authors.
    pub permissions: Permissions,
    coalescer: PollCoalescer,
}

impl Conversation {
    /// A conversation on this forge.
    pub fn new(
        forge: Arc<dyn Forge>,
        key: MarkerKey,
        trusted: Trusted,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            permissions: Permissions::new(forge.clone(), clock),
            coalescer: PollCoalescer::new({
                let forge = forge.clone();
                move |watched, since| forge.poll(watched, since)
            }),
            forge,
            key,
            trusted,
        }
    }

    /// Registers the pull request of a run, for as long as the run is active.
    pub fn follow(&self, run: &Run) {
        if let (Some(pr), Flow::Phase { phase }) = (&run.work.pull_request, &run.flow) {
            let read_to = phase.watch.cursor.filter(|_| run.is_active());
            self.coalescer.follow(pr.number, read_to);
        }
    }

    /// The pull requests on which a poll for another run found something.
    pub fn take_touched(&self) -> BTreeSet<PrNumber> {
        self.coalescer.take_touched()
    }

    /// Returns what changed on a pull request. Concurrent calls share one poll of the repository.
    pub fn poll(&self, pr: PrNumber, since: Since) -> Result<Polled, Problem> {
        self.coalescer.poll(pr, since)
    }
}
