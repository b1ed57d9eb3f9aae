use super::lock::lock;
use crate::verify::{KeptReports, Reports};
use drive_core::Problem;
use drive_core::ids::RunId;
use drive_core::verify::{VerdictKey, Verification};
use std::cmp::Reverse;
use std::sync::{Arc, Mutex};

/// Verification reports, in the order they were saved.
#[derive(Clone, Default)]
pub struct FakeReports {
    saved: Arc<Mutex<Vec<Verification>>>,
    known: Arc<Mutex<Vec<(VerdictKey, RunId)>>>,
}

impl Reports for FakeReports {
    fn save(&self, report: &Verification) -> Result<(), Problem> {
        let mut saved = lock(&self.saved);
        saved.retain(|one| one.run_id != report.run_id);
        saved.push(report.clone());
        Ok(())
    }

    fn known(&self, key: &VerdictKey) -> Option<Verification> {
        let known = lock(&self.known);
        let (_, run) = known.iter().find(|(one, _)| one == key)?;
        self.load(run)
    }

    fn remember(&self, key: &VerdictKey, run: &RunId) -> Result<(), Problem> {
        let mut known = lock(&self.known);
        known.retain(|(one, _)| one != key);
        known.push((key.clone(), run.clone()));
        Ok(())
    }

    fn forget(&self, key: &VerdictKey) -> Result<(), Problem> {
        lock(&self.known).retain(|(one, _)| one != key);
        Ok(())
    }
}

impl KeptReports for FakeReports {
    fn newest(&self, most: usize) -> Vec<Verification> {
        let mut reports = lock(&self.saved).clone();
        reports.reverse();
        reports.sort_by_key(|report| Reverse(report.timing.started_at));
        reports.truncate(most);
        reports
    }

    fn load(&self, run: &RunId) -> Option<Verification> {
        let saved = lock(&self.saved);
        saved.iter().find(|report| report.run_id == *run).cloned()
    }
}
