//! Retries: which failures may be retried, under which key, and after which pause.

use super::super::model::{Effect, PostKey};
use crate::ids::EffectKey;
use crate::problem::{Class, Kind, Problem};
use std::time::Duration;

const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Whether a retry cannot help.
pub(super) fn is_final(problem: &Problem) -> bool {
    problem.class() != Class::Environment || problem.kind == Kind::SandboxGone
}

/// Makes a retried post keep the key of its first try, so that it finds an earlier success.
pub(super) fn keep_key(effect: &mut Effect, key: &EffectKey) {
    if let Effect::OnForge {
        idempotency_key, ..
    } = effect
    {
        idempotency_key.get_or_insert_with(|| PostKey::Step(key.as_str().to_owned()));
    }
}

/// The wait before the next try, after this many failed tries.
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
