//! A run that this process owns: its lease, its running effects and its timers.

use crate::cancel::{CancelGuard, CancelToken};
use crate::lease::Lease;
use drive_core::ids::{EffectKey, PrNumber, RunId};
use drive_core::run::{Effect, Run, Timer};
use drive_core::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A run that this process owns.
pub(super) struct OwnedRun<'env> {
    pub(super) lease: Held<'env>,
    /// The parent that it reports to.
    pub(super) parent: Option<RunId>,
    /// Its children that have not ended.
    pub(super) children: BTreeSet<RunId>,
    pub(super) under_way: BTreeMap<EffectKey, UnderWay>,
    pub(super) timers: BTreeMap<Timer, Due>,
    /// Its pull request.
    pub(super) pr: Option<PrNumber>,
}

/// The lease of the caller or of a child run.
#[derive(Clone)]
pub(super) enum Held<'env> {
    Lent(&'env Lease<'env>),
    Own(Arc<Lease<'env>>),
}

impl<'env> Deref for Held<'env> {
    type Target = Lease<'env>;

    fn deref(&self) -> &Lease<'env> {
        match self {
            Held::Lent(lease) => lease,
            Held::Own(lease) => lease,
        }
    }
}

pub(super) struct UnderWay {
    pub(super) effect: Effect,
    pub(super) cancel: CancelToken,
    pub(super) _linked: CancelGuard,
}

/// A deadline on both clocks: wall time continues while the machine sleeps, and the monotonic clock
/// continues when the wall clock is set back.
#[derive(Clone, Copy)]
pub(super) struct Due {
    civil: Timestamp,
    steady: Instant,
}

impl OwnedRun<'_> {
    pub(super) fn set_timers(&mut self, run: &Run, now: Timestamp) {
        let known = std::mem::take(&mut self.timers);
        for (name, civil) in &run.timers {
            let same = known.get(name).filter(|due| due.civil == *civil);
            let due = same.copied().unwrap_or_else(|| Due::at(*civil, now));
            self.timers.insert(*name, due);
        }
    }
}

impl Due {
    pub(super) fn at(civil: Timestamp, now: Timestamp) -> Self {
        let left = left(civil, now);
        let steady = Instant::now();
        Self {
            civil,
            steady: steady.checked_add(left).unwrap_or(steady),
        }
    }

    /// The time until the first of the two clocks reaches the deadline.
    pub(super) fn left(&self, now: Timestamp) -> Duration {
        let steady = self.steady.saturating_duration_since(Instant::now());
        steady.min(left(self.civil, now))
    }
}

fn left(civil: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(civil.duration_since(now)).unwrap_or_default()
}
