use super::clock::FakeClock;
use super::lock::lock;
use crate::ports::{Clock, Deliveries, KeptNudge, NudgeLog, Nudges};
use drive_core::Problem;
use drive_core::forge::webhook::Nudge;
use drive_core::time::Timestamp;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// Webhook hints and deliveries: one process records them, and all processes can read them.
#[derive(Clone)]
pub struct FakeNudges {
    kept: Arc<Mutex<Vec<KeptNudge>>>,
    deliveries: Arc<Mutex<BTreeSet<String>>>,
    clock: FakeClock,
}

impl FakeNudges {
    /// Creates an empty log.
    pub fn new(clock: FakeClock) -> Self {
        Self {
            kept: Arc::default(),
            deliveries: Arc::default(),
            clock,
        }
    }
}

impl Nudges for FakeNudges {
    fn nudge(&self, mut nudge: Nudge) -> Result<(), Problem> {
        nudge.repository = nudge.repository.to_lowercase();
        let mut kept = lock(&self.kept);
        let number = kept.len() as u64 + 1;
        kept.push(KeptNudge {
            number,
            nudge,
            at: self.clock.now(),
        });
        Ok(())
    }
}

impl NudgeLog for FakeNudges {
    fn newer_than(&self, number: u64, repository: &str) -> Result<Vec<KeptNudge>, Problem> {
        let repository = repository.to_lowercase();
        let mut kept = lock(&self.kept).clone();
        kept.retain(|one| one.number > number && one.nudge.repository == repository);
        Ok(kept)
    }
}

impl Deliveries for FakeNudges {
    fn is_first(&self, id: &str, _: Timestamp) -> Result<bool, Problem> {
        Ok(lock(&self.deliveries).insert(id.to_owned()))
    }
}
