//! Outages: an agent's model is away, overloaded or over its usage limit. They cost time but no try.

use crate::agent::{Ending, Failure};
use crate::time::{Timestamp, after};
use std::time::Duration;

/// The first pause after a failed agent; it doubles each time.
const FIRST_HOLD: Duration = Duration::from_secs(30);
const LONGEST_HOLD: Duration = Duration::from_secs(15 * 60);
/// How many outages in a row an unwatched run waits for; that takes some hours.
const MOST_OUTAGES: u32 = 20;
/// The longest wait for a usage limit in an unwatched run.
const LONGEST_WAIT: Duration = Duration::from_secs(6 * 3600);

/// Whether the agent failed because its model was away, overloaded or over its usage limit, and not
/// because of the work.
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

/// Whether to wait for another outage after this many in a row.
pub(super) fn is_patient(outages: u32) -> bool {
    outages < MOST_OUTAGES
}

/// Whether the usage limit resets soon enough for a person who waits for the run.
pub(super) fn resets_soon(ending: &Ending, now: Timestamp) -> bool {
    resets_at(ending).is_none_or(|reset| reset <= after(now, LONGEST_WAIT))
}

/// When to start the next agent, after this many earlier failures in a row.
pub(super) fn held_until(failures: u32, ending: Option<&Ending>, now: Timestamp) -> Timestamp {
    let doubled = FIRST_HOLD * (1 << failures.min(10));
    let until = after(now, doubled.min(LONGEST_HOLD));
    let reset = ending.and_then(resets_at);
    reset.map_or(until, |reset| until.max(reset))
}

/// When the usage limit resets, if the agent reported it.
fn resets_at(ending: &Ending) -> Option<Timestamp> {
    match ending {
        Ending::Failed {
            reason: Failure::UsageLimit { resets_at },
            ..
        } => *resets_at,
        Ending::Failed { .. } | Ending::Succeeded => None,
    }
}
