//! Retries of a phase: failed effects, and agents whose model is unavailable.

use super::super::super::model::{Effect, HoldFor, Pause, Retry, Timer};
use super::super::outage;
use super::super::retry::{is_final, keep_key, pause};
use super::PhaseFlow;
use crate::agent::{AgentOutcome, Ending};
use crate::ids::EffectKey;
use crate::problem::{Kind, Problem};
use crate::time::after;

/// How often a necessary effect is tried while no pull request is open.
const MOST_TRIES: u32 = 10;
/// The same limit for an unwatched phase, where only the person who started it waits.
const MOST_TRIES_UNWATCHED: u32 = 3;

impl PhaseFlow<'_> {
    /// Retries a failed effect after a pause, under the same idempotency key.
    pub(in crate::run) fn try_again(
        &mut self,
        key: &EffectKey,
        mut effect: Effect,
        problem: &Problem,
    ) {
        keep_key(&mut effect, key);
        self.state.retry = Some(Retry {
            effect,
            why: problem.to_string(),
        });
        let at = after(self.now, pause(self.state.tries));
        self.state.tries += 1;
        self.run.timers.insert(Timer::Retry, at);
    }

    /// Like `try_again`, for an effect that the phase needs: it fails after too many tries.
    pub(in crate::run) fn try_again_or_fail(
        &mut self,
        key: &EffectKey,
        effect: Effect,
        problem: Problem,
    ) {
        let is_enough = self.is_enough(&problem);
        let is_unpublished = self.run.work.pull_request.is_none();
        if is_enough || (is_unpublished && self.state.tries >= MOST_TRIES) {
            return self.fail(problem);
        }
        self.try_again(key, effect, &problem);
    }

    /// Whether to stop retrying: a retry cannot help, or the phase is unwatched and used up its
    /// retries or lost its branch. A watched phase retries until the inactivity timeout.
    pub(in crate::run) fn is_enough(&self, problem: &Problem) -> bool {
        let is_deleted = problem.kind == Kind::BranchDeleted;
        let is_impatient = is_deleted || self.state.tries >= MOST_TRIES_UNWATCHED;
        is_final(problem) || (is_impatient && !self.terms.is_watched())
    }

    /// Retries a failed effect now, because a person asked for it.
    pub(in crate::run) fn try_now(&mut self) {
        if let Some(retry) = self.state.retry.take() {
            self.run.timers.remove(&Timer::Retry);
            self.state.tries = 0;
            self.run.decide(retry.effect);
        }
    }

    /// Pauses reviews if the reviewer's model is away, so that the outage costs time and no
    /// verdict. Returns whether it does.
    pub(in crate::run) fn hold_for_outage(&mut self, agent: &str, outcome: &AgentOutcome) -> bool {
        let problem = outcome.problem(agent);
        match problem.filter(|_| self.is_held_outage(&outcome.ending)) {
            Some(problem) => {
                let why = problem.to_string();
                self.hold(HoldFor::Reviewer, why, Some(&outcome.ending));
            }
            None => return false,
        }
        true
    }

    /// Whether the phase waits for the end of this outage.
    pub(in crate::run) fn is_held_outage(&self, ending: &Ending) -> bool {
        let is_watched = self.terms.is_watched();
        let is_open = is_watched && self.run.work.pull_request.is_some();
        let is_patient = is_open || outage::is_patient(self.state.counts.failures);
        let is_soon = is_watched || outage::resets_soon(ending, self.now);
        is_patient && is_soon && outage::is_outage(ending)
    }

    /// Starts a pause in which no agent is started.
    pub(in crate::run) fn hold(&mut self, what: HoldFor, why: String, ending: Option<&Ending>) {
        let until = outage::held_until(self.state.counts.failures, ending, self.now);
        self.state.counts.failures += 1;
        self.state.pause = Some(Pause::Hold { what, why });
        self.run.timers.insert(Timer::Hold, until);
    }
}
