use super::lock::lock;
use super::machine::DriveProcess;
use crate::CancelToken;
use crate::ports::Notifier;
use drive_core::Problem;
use drive_core::run::Notice;
use std::sync::{Arc, Mutex};

/// A notifier that records its notices.
#[derive(Clone)]
pub struct FakeNotifier {
    told: Arc<Mutex<Vec<Notice>>>,
    process: DriveProcess,
}

impl FakeNotifier {
    pub(super) fn new(process: DriveProcess) -> Self {
        Self {
            told: Arc::default(),
            process,
        }
    }

    pub(super) fn of(&self, process: DriveProcess) -> Self {
        Self {
            process,
            ..self.clone()
        }
    }

    /// The recorded notices, in order.
    pub fn told(&self) -> Vec<Notice> {
        lock(&self.told).clone()
    }
}

impl Notifier for FakeNotifier {
    fn notify(&self, notice: &Notice, _: &CancelToken) -> Result<(), Problem> {
        self.process.check()?;
        lock(&self.told).push(notice.clone());
        Ok(())
    }
}
