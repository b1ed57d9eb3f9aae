//! What comes next, once the worker has ended something or somebody has spoken.

use super::{Flight, PlanCheck, Stage};
use crate::review::Move;

impl Flight<'_> {
    /// The worker ended something: one more look closes the batch, then it goes on. Once nothing is
    /// left to do, the pauses start short again.
    pub(super) fn close_batch(&mut self) {
        self.cruise.watch.fresh = false;
        self.cruise.watch.backoff.reset();
        self.proceed();
    }

    /// What comes next, where the worker waits for something to do.
    pub(super) fn go_on(&mut self) {
        if matches!(self.cruise.stage, Stage::Watching | Stage::Listening) {
            self.proceed();
        }
    }

    /// What comes next: others' commits first, then comments, then the next review, then approval,
    /// else the watch.
    pub(super) fn proceed(&mut self) {
        if !self.cruise.watch.fresh {
            self.cruise.stage = Stage::Listening;
            return self.look();
        }
        self.cruise.stage = Stage::Watching;
        // Whoever works or looks next must see what the author of a comment saw.
        let moved = self.cruise.watch.moved.take();
        if let Some(head) = moved.filter(|head| self.cruise.pushed.as_ref() != Some(head)) {
            return self.catch_up(head);
        }
        if self.cruise.hold.is_some() {
            return;
        }
        if self.has_work() {
            match (self.cruise.limit.is_some(), self.limit_reached()) {
                (true, _) => {}
                (false, Some(limit)) => return self.tell_limit(limit),
                (false, None) => return self.fix(),
            }
        } else if let Move::Fix { .. } = self.cruise.next {
            self.cruise.next = self.cruise.review.fixed();
        }
        if let (Move::Review { .. }, None) = (&self.cruise.next, &self.cruise.limit) {
            return match self.limit_reached() {
                Some(limit) => self.tell_limit(limit),
                None => self.read_diff(),
            };
        }
        // The last description must not be overtaken by an earlier one.
        if let (Some(approved), false) = (self.approved(), self.is_describing()) {
            self.finish(&approved);
        }
    }

    /// Comments wait, or the plan is not sound.
    pub(super) fn has_work(&self) -> bool {
        self.cruise.ledger.has_waiting() || matches!(self.cruise.plan, PlanCheck::Invalid { .. })
    }
}
