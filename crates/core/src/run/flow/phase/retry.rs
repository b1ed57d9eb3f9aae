//! Retries: failed effects, and agents whose model is unavailable.

use super::super::super::model::{Effect, HoldFor, Pause, Retry, Timer};
use super::PhaseFlow;
use crate::agent::{AgentOutcome, Ending, Failure};
use crate::ids::EffectKey;
use crate::problem::Kind;
use crate::time::{Timestamp, after};
use crate::{Class, Problem};
use std::time::Duration;

/// How often something a phase cannot do without is tried, while no pull request is open.
const MOST_TRIES: u32 = 10;
/// The limit for an unwatched phase, where only the person who started it waits.
const MOST_TRIES_UNWATCHED: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// The first pause after an agent that failed; it doubles.
const FIRST_HOLD: Duration = Duration::from_secs(30);
const LONGEST_HOLD: Duration = Duration::from_secs(15 * 60);
/// Outages in a row that an unwatched phase waits for: some hours.
const MOST_OUTAGES: u32 = 20;
/// The longest usage limit that an unwatched phase waits for.
const LONGEST_WAIT: Duration = Duration::from_secs(6 * 3600);

impl PhaseFlow<'_> {
    /// Tries something again after a pause, under the same idempotency key.
    pub(in crate::run) fn try_again(
        &mut self,
        key: &EffectKey,
        mut effect: Effect,
        problem: &Problem,
    ) {
        if let Effect::OnForge {
            idempotency_key, ..
        } = &mut effect
        {
            idempotency_key.get_or_insert_with(|| key.as_str().to_owned());
        }
        self.state.retry = Some(Retry {
            effect,
            why: problem.to_string(),
        });
        let at = after(self.now, pause(self.state.tries));
        self.state.tries += 1;
        self.run.timers.insert(Timer::Retry, at);
    }

    /// The same for what the phase cannot do without.
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

    /// Whether to stop retrying: a retry cannot help, or an unwatched phase used up its retries. A
    /// watched phase retries until the inactivity timeout.
    pub(in crate::run) fn is_enough(&self, problem: &Problem) -> bool {
        let is_impatient = !self.terms.is_watched() && self.state.tries >= MOST_TRIES_UNWATCHED;
        is_impatient || is_final(problem)
    }

    /// A person asks: what waits for its next try gets it now.
    pub(in crate::run) fn try_now(&mut self) {
        if let Some(retry) = self.state.retry.take() {
            self.run.timers.remove(&Timer::Retry);
            self.state.tries = 0;
            self.run.decide(retry.effect);
        }
    }

    /// Pauses reviews where the reviewer's model is away, so that it costs time and no verdict.
    /// Returns whether it does.
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
        let is_patient = is_open || self.state.counts.failures < MOST_OUTAGES;
        let is_soon = is_watched || self.resets_soon(ending);
        is_patient && is_soon && is_outage(ending)
    }

    /// Whether a person who waits for the run will wait for the end of this usage limit too.
    fn resets_soon(&self, ending: &Ending) -> bool {
        resets_at(ending).is_none_or(|reset| reset <= after(self.now, LONGEST_WAIT))
    }

    /// Starts no agent until a pause has ended.
    pub(in crate::run) fn hold(&mut self, what: HoldFor, why: String, ending: Option<&Ending>) {
        let doubled = FIRST_HOLD * (1 << self.state.counts.failures.min(10));
        self.state.counts.failures += 1;
        let mut until = after(self.now, doubled.min(LONGEST_HOLD));
        if let Some(reset) = ending.and_then(resets_at) {
            until = until.max(reset);
        }
        self.state.pause = Some(Pause::Hold { what, why });
        self.run.timers.insert(Timer::Hold, until);
    }
}

fn pause(tries: u32) -> Duration {
    let factor = 1u32 << tries.min(10);
    (FIRST_PAUSE * factor).min(LONGEST_PAUSE)
}

/// When a usage limit ends, where the agent said.
fn resets_at(ending: &Ending) -> Option<Timestamp> {
    match ending {
        Ending::Failed {
            reason: Failure::UsageLimit { resets_at },
            ..
        } => *resets_at,
        Ending::Failed { .. } | Ending::Succeeded => None,
    }
}

/// Whether trying again cannot help.
pub(super) fn is_final(problem: &Problem) -> bool {
    problem.class() != Class::Environment || problem.kind == Kind::SandboxGone
}

/// Whether the agent's model was away, overloaded or used up, so that the work itself did not fail.
pub(super) fn is_outage(ending: &Ending) -> bool {
    let Ending::Failed { reason, .. } = ending else {
        return false;
    };
    match reason {
        Failure::UsageLimit { .. } | Failure::Model { status: None } => true,
        Failure::Model {
            status: Some(status),
        } => matches!(status, 408 | 429 | 500..),
        Failure::Reported
        | Failure::LoginExpired
        | Failure::NoVerdict { .. }
        | Failure::Garbage
        | Failure::Escalations { .. }
        | Failure::Budget { .. }
        | Failure::TimedOut { .. }
        | Failure::MemoryLimit
        | Failure::ProcessLimit
        | Failure::OutputLimit
        | Failure::Cancelled
        | Failure::Infra => false,
    }
}
