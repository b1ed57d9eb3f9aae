//! Chooses the next step after the worker finished a step or a comment arrived.

use super::super::super::model::{
    DoneWhen, HoldFor, MergeStep, OutcomeStatus, Pause, PlanApproval, PlanCheck, Stage,
};
use super::super::kit::show_hint;
use super::PhaseFlow;
use crate::problem::{Kind, Problem};
use crate::review::{LastWord, Move};

/// How many polls with news after the last review an unwatched phase handles before it ends.
const MOST_LATE_ROUNDS: u32 = 10;

impl PhaseFlow<'_> {
    /// Polls once more after the worker finished a step, then continues. The poll backoff restarts.
    pub(in crate::run) fn close_batch(&mut self) {
        self.state.watch.fresh = false;
        self.state.watch.backoff.reset();
        self.proceed();
    }

    /// Continues if the worker is idle.
    pub(in crate::run) fn go_on(&mut self) {
        if matches!(self.state.stage, Stage::Watching | Stage::Polling) {
            self.proceed();
        }
    }

    /// Starts the next step: it merges other people's commits first, then handles comments, then
    /// reviews, then ends; else it watches.
    pub(in crate::run) fn proceed(&mut self) {
        if self.must_poll() {
            self.state.stage = Stage::Polling;
            return self.poll();
        }
        self.state.stage = Stage::Watching;
        if self.run.work.head_sha.is_none() || self.state.pushed.is_none() {
            // The first agent was stopped, its model was away, or the budget was used up.
            if self.state.pause.is_none() {
                self.make();
            }
            return;
        }
        if self.holds(HoldFor::EveryAgent) {
            return;
        }
        // The next agent must see the commit that the author of a comment saw.
        let waits = self.terms.done() == DoneWhen::Asked && !self.has_work();
        // A run without work ignores that tasks land on its branch.
        let moved = if waits {
            None
        } else {
            self.state.watch.moved.take()
        };
        if let Some(head) = moved.filter(|head| self.state.pushed.as_ref() != Some(head)) {
            return self.catch_up(head);
        }
        // A stop left a commit that was never published, so nobody else can see it.
        if self.state.pushed != self.run.work.head_sha {
            return self.take_in();
        }
        if self.drop_plan() {
            return;
        }
        let is_late = self.state.counts.late_rounds > MOST_LATE_ROUNDS;
        if self.has_work() && is_late && !self.terms.is_watched() {
            return self.stop_late();
        }
        if self.has_work() {
            match (self.is_barred(), self.limit_reached()) {
                (true, _) => {}
                (false, Some(limit)) => return self.limit_hit(limit),
                (false, None) => return self.fix(),
            }
        } else if self.state.next == Move::Fix {
            self.state.next = self.after_fix();
        }
        if let (Move::Review { .. }, None) = (&self.state.next, self.state.limit()) {
            match self.limit_reached() {
                _ if self.holds(HoldFor::Reviewer) => {}
                Some(limit) => return self.limit_hit(limit),
                None => return self.read_diff(),
            }
        }
        // An update under way must not overwrite the final description.
        if self.is_describing() {
            return;
        }
        match (self.terms.done(), &self.state.next) {
            (DoneWhen::Approved(PlanApproval { auto_approve, .. }), next) => {
                let may_review = *next == Move::Done && self.state.limit().is_none();
                if let Some(approved) = self.approved() {
                    if !self.hear_first() && !self.check_base() {
                        self.finish_approved(&approved);
                    }
                } else if auto_approve && may_review && self.review_again() {
                    self.proceed();
                } else if auto_approve && may_review && self.last_word() == LastWord::Approved {
                    self.say_objections();
                }
            }
            (DoneWhen::Asked, _) => self.end_if_asked(),
            (DoneWhen::Reviewed { .. }, Move::Done) => self.conclude(),
            (DoneWhen::Landed { .. }, Move::Done) => self.wait_to_land(),
            (DoneWhen::Merged { .. }, Move::Done) => self.conclude_whole(),
            (
                DoneWhen::Reviewed { .. } | DoneWhen::Merged { .. } | DoneWhen::Landed { .. },
                Move::Review { .. } | Move::Fix,
            ) => {}
        }
    }

    /// Ends the phase if the parent asked for it. Open comments are left to the next run.
    fn end_if_asked(&mut self) {
        let is_posted = self.state.injected.is_empty();
        if self.state.concludes && is_posted && !self.hear_first() {
            self.leave(OutcomeStatus::Succeeded, None);
        }
    }

    /// Whether no fixer may start. A plan that fixers did not correct waits for a person's comment.
    fn is_barred(&self) -> bool {
        match &self.state.pause {
            Some(Pause::Limit { .. }) => true,
            Some(Pause::Unsound { .. }) => !self.state.ledger.has_waiting(),
            Some(Pause::Hold { .. }) | None => false,
        }
    }

    /// Whether the phase pauses for this reason.
    pub(in crate::run) fn holds(&self, what: HoldFor) -> bool {
        match &self.state.pause {
            Some(Pause::Hold { what: held, .. }) => *held == what,
            Some(Pause::Limit { .. } | Pause::Unsound { .. }) | None => false,
        }
    }

    /// Ends the phase once every review is done and nothing is left to fix.
    fn conclude(&mut self) {
        if self.review_again() {
            return self.proceed();
        }
        if !self.hear_first() && !self.wait_for_checks() && !self.check_base() {
            self.finish_reviewed();
        }
    }

    /// Whether the pull request must be polled before the next step. An unwatched phase polls after
    /// its comments are handled, and does not wait for people.
    fn must_poll(&self) -> bool {
        if self.state.watch.fresh || self.run.work.pull_request.is_none() {
            return false;
        }
        self.terms.is_watched() || !self.has_work()
    }

    /// Ends the phase because new comments kept arriving after the last review, so a person has to decide.
    fn stop_late(&mut self) {
        let message =
            format!("new comments came after each of the last {MOST_LATE_ROUNDS} fixer rounds");
        let problem = Problem::new(Kind::CommentsOpen, message).hint(format!(
            "read what is open with {}, then decide yourself",
            show_hint(self.run)
        ));
        self.stop(OutcomeStatus::NeedsHuman, problem);
    }

    /// Whether comments or findings wait, or the plan is not valid.
    pub(in crate::run) fn has_work(&self) -> bool {
        self.state.ledger.has_waiting()
            || !self.state.findings.is_empty()
            || matches!(self.state.plan, PlanCheck::Invalid { .. })
    }

    /// Whether the phase waits at a limit, for a person who watches it or for its parent. Other
    /// phases end there and can be resumed with a larger limit, so that the command returns.
    pub(in crate::run) fn waits_at_limits(&self) -> bool {
        self.terms.is_watched() || self.run.parent().is_some()
    }

    /// Pauses at a limit that keeps the next agent from starting; a merge in progress waits as
    /// well. Only a watched pull request gets a comment about it.
    pub(in crate::run) fn limit_hit(&mut self, limit: String) {
        if !self.waits_at_limits() {
            return self.stop_over_budget();
        }
        self.state.pause = Some(Pause::Limit { why: limit });
        let is_told = self.terms.is_watched() && self.run.work.pull_request.is_some();
        let (stage, step) = if is_told {
            (Stage::PostingLimit, MergeStep::PostingLimit)
        } else {
            (Stage::Watching, MergeStep::Held)
        };
        if let Stage::Merging { merge, .. } = &mut self.state.stage {
            merge.step = step
        } else {
            self.state.stage = stage
        }
        if is_told {
            self.post_limit()
        } else {
            self.active()
        }
    }
}
