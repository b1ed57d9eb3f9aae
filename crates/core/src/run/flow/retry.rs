//! Retries: which failures are worth another try, under which key, and after which pause.

use super::super::model::{Effect, PostKey};
use crate::ids::EffectKey;
use crate::problem::{Class, Kind, Problem};
use std::time::Duration;

const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Whether trying again cannot help.
pub(super) fn is_final(problem: &Problem) -> bool {
    problem.class() != Class::Environment || problem.kind == Kind::SandboxGone
}

/// Lets the next try find what this one may have done: a post keeps the key of its first try.
pub(super) fn keep_key(effect: &mut Effect, key: &EffectKey) {
    if let Effect::OnForge {
        idempotency_key, ..
    } = effect
    {
        idempotency_key.get_or_insert_with(|| PostKey::Step(key.as_str().to_owned()));
    }
}

/// How long to wait after so many failed tries before this one.
pub(super) fn pause(tries: u32) -> Duration {
    let factor = 1u32 << tries.min(10);
    (FIRST_PAUSE * factor).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_five_minutes() {
        let seconds = |tries| pause(tries).as_secs();
        let first: Vec<u64> = (0..7).map(seconds).collect();
        assert_eq!(first, [5, 10, 20, 40, 80, 160, 300]);
        assert_eq!(seconds(u32::MAX), 300);
    }
}
