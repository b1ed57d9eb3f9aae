//! Waits for the forge: its limits, its pauses, and turns for writes.

use super::client::Client;
use super::refusal::{rate_limited, writes_used_up};
use drive_core::forge::rate_limit;
use drive_core::problem::{Kind, Problem};
use drive_core::time::{Timestamp, after};
use drive_engine::CancelToken;
use drive_engine::cancel::Urgency;
use std::time::Duration;

/// How soon a writer that got no turn asks again: well before the last booked one is over.
const ASK_AGAIN: Duration = Duration::from_secs(10);
/// A wait that a first stop request does not end: about the interval between writes.
const SHORT_WAIT: Duration = Duration::from_secs(3);

impl Client {
    /// Makes all users of this token pause, then waits.
    pub(super) fn pause_all(&self, until: Timestamp) -> Result<(), Problem> {
        if let Some(mut budget) = self.budget()? {
            budget.paused_until = Some(until);
            self.around
                .budgets
                .store(self.credential.identity(), &budget)?;
        }
        self.wait_until(until)
    }

    pub(super) fn await_turn(&self) -> Result<(), Problem> {
        match self.budget()?.and_then(|budget| budget.paused_until) {
            Some(until) => self.wait_until(until),
            None => Ok(()),
        }
    }

    /// When the next write will be sent, if that is more than a moment ahead.
    pub(super) fn writes_wait_until(&self) -> Option<Timestamp> {
        let now = self.now();
        let budgets = &self.around.budgets;
        // If the budget cannot be read now, the write itself will report that.
        let turn = budgets.next_write(self.credential.identity(), now).ok();
        let paused = self.budget().ok().flatten().and_then(|it| it.paused_until);
        let until = turn.max(paused)?;
        (until > after(now, SHORT_WAIT)).then_some(until)
    }

    /// Waits for a turn to write. If many turns are booked, it asks again for a while.
    pub(super) fn await_write(&self) -> Result<(), Problem> {
        let (mut waited, patience) = (Duration::ZERO, after(self.now(), rate_limit::LONGEST_WAIT));
        loop {
            let budgets = &self.around.budgets;
            match budgets.book_write(self.credential.identity(), self.now())? {
                rate_limit::Turn::Booked(at) => return self.wait_until(at),
                rate_limit::Turn::TooFar(at)
                    if at > patience || waited >= rate_limit::LONGEST_WAIT =>
                {
                    return Err(writes_used_up(at));
                }
                rate_limit::Turn::TooFar(_) => {
                    self.pause(ASK_AGAIN)?;
                    waited += ASK_AGAIN;
                }
            }
        }
    }

    pub(super) fn wait_until(&self, until: Timestamp) -> Result<(), Problem> {
        let wait = until.duration_since(self.now());
        let Ok(wait) = Duration::try_from(wait) else {
            return Ok(());
        };
        if wait > rate_limit::LONGEST_WAIT {
            return Err(rate_limited(until));
        }
        if wait.is_zero() {
            Ok(())
        } else {
            self.pause_for_turn(wait)
        }
    }

    /// Waits for a near turn even after a first stop request, because a stopped run still posts
    /// that on its pull request. A longer wait ends.
    fn pause_for_turn(&self, wait: Duration) -> Result<(), Problem> {
        let is_short = wait <= SHORT_WAIT;
        let cancel = CancelToken::new();
        let child = cancel.clone();
        let _guard = self.around.cancel.on_cancel(move |urgency| {
            if urgency == Urgency::Now || !is_short {
                child.cancel(urgency);
            }
        });
        self.pause_unless(wait, &cancel)
    }

    /// Waits, unless a stop is requested.
    pub(super) fn pause(&self, wait: Duration) -> Result<(), Problem> {
        self.pause_unless(wait, &self.around.cancel)
    }

    fn pause_unless(&self, wait: Duration, cancel: &CancelToken) -> Result<(), Problem> {
        self.around.pause.pause(wait, cancel);
        match cancel.asked() {
            None => Ok(()),
            Some(_) => Err(Problem::new(
                Kind::Interrupted,
                "interrupted while waiting for the forge",
            )
            .hint("run the command again")),
        }
    }
}
