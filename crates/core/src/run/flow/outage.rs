//! Outages: a model that is away, overloaded or used up costs time and no try.

use crate::agent::{Ending, Failure};
use crate::time::{Timestamp, after};
use std::time::Duration;

/// The first pause after an agent that failed; it doubles.
const FIRST_HOLD: Duration = Duration::from_secs(30);
const LONGEST_HOLD: Duration = Duration::from_secs(15 * 60);
/// Outages in a row that a run without watchers waits for: some hours.
const MOST_OUTAGES: u32 = 20;
/// The longest usage limit that a run without watchers waits for.
const LONGEST_WAIT: Duration = Duration::from_secs(6 * 3600);

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
        | Failure::DiskLimit { .. }
        | Failure::OutputLimit
        | Failure::Cancelled
        | Failure::Infra => false,
    }
}

/// Whether another outage is waited for after so many in a row.
pub(super) fn is_patient(outages: u32) -> bool {
    outages < MOST_OUTAGES
}

/// Whether a person who waits for the run will wait for the end of this usage limit too.
pub(super) fn resets_soon(ending: &Ending, now: Timestamp) -> bool {
    resets_at(ending).is_none_or(|reset| reset <= after(now, LONGEST_WAIT))
}

/// When the next agent is started, after so many failures in a row before this one.
pub(super) fn held_until(failures: u32, ending: Option<&Ending>, now: Timestamp) -> Timestamp {
    let doubled = FIRST_HOLD * (1 << failures.min(10));
    let until = after(now, doubled.min(LONGEST_HOLD));
    let reset = ending.and_then(resets_at);
    reset.map_or(until, |reset| until.max(reset))
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
