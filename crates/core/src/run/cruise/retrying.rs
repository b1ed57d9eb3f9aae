//! What failed and is tried again.

use super::super::effect::Effect;
use super::{Flight, RETRY, Retry};
use crate::ids::EffectKey;
use crate::time::after;
use crate::{Class, Problem};
use std::time::Duration;

/// How often something the phase cannot do without is tried before the cruise fails, while there is no
/// pull request that people rely on.
const MOST_TRIES: u32 = 10;
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

impl Flight<'_> {
    /// Tries something again after a pause. What may stand already keeps its name, so that it is
    /// found instead of made twice.
    pub(super) fn try_again(&mut self, key: &EffectKey, mut effect: Effect, problem: &Problem) {
        if let Effect::OnForge { proof, .. } = &mut effect {
            proof.get_or_insert_with(|| key.as_str().to_owned());
        }
        self.cruise.retry = Some(Retry {
            effect,
            why: problem.to_string(),
        });
        let at = after(self.now, pause(self.cruise.tries));
        self.cruise.tries += 1;
        self.run.timers.insert(RETRY.to_owned(), at);
    }

    /// The same for what the phase cannot do without. Once there is a pull request, it is tried until
    /// it works or silence ends the phase; before that, at some point it fails.
    pub(super) fn try_again_or_fail(&mut self, key: &EffectKey, effect: Effect, problem: Problem) {
        let is_open = self.run.work.pull_request.is_some();
        let is_enough = !is_open && self.cruise.tries >= MOST_TRIES;
        if is_enough || is_final(&problem) {
            return self.fail(problem);
        }
        self.try_again(key, effect, &problem);
    }

    /// A person asks: what waits for its next try gets it now.
    pub(super) fn try_now(&mut self) {
        if let Some(retry) = self.cruise.retry.take() {
            self.run.timers.remove(RETRY);
            self.cruise.tries = 0;
            self.run.decide(retry.effect);
        }
    }
}

fn pause(tries: u32) -> Duration {
    let factor = 1u32 << tries.min(10);
    (FIRST_PAUSE * factor).min(LONGEST_PAUSE)
}

/// Whether trying again cannot help.
pub(super) fn is_final(problem: &Problem) -> bool {
    problem.class != Class::Environment || problem.kind == "sandboxGone"
}
