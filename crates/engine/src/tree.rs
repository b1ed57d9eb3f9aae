//! Delivers what parents and children tell each other to the other run's journal.
//!
//! Every message has a key that is the same for each attempt, so a crash after the delivery and before
//! its result repeats nothing.

use crate::journal::Journal;
use drive_core::Problem;
use drive_core::ids::{DedupeKey, EffectKey, RunId};
use drive_core::run::{EffectResult, Event, RunMessage};

/// Delivers a message of the run `from`, decided under `key`, to the run `to`.
pub(crate) fn deliver(
    journal: &Journal<'_>,
    (from, key): (&RunId, &EffectKey),
    to: &RunId,
    message: &RunMessage,
) -> Result<EffectResult, Problem> {
    let (event, dedupe) = match message {
        RunMessage::StartRun { request } => {
            let request = request.clone();
            (Event::Requested { request }, "request".to_owned())
        }
        RunMessage::AskRun { ask } => {
            let ask = ask.clone();
            (Event::Asked { ask }, format!("ask/{from}/{key}"))
        }
        RunMessage::StopRun => (Event::CancelAsked, format!("stop/{from}/{key}")),
        RunMessage::ReportToParent { report } => {
            // A report must not bring a run into being whose journal is gone.
            journal.require(to)?;
            let event = Event::ChildReported {
                child: from.clone(),
                report: report.clone(),
            };
            (event, format!("report/{from}/{}", report.number))
        }
    };
    journal.deliver(to, &event, &DedupeKey::new(dedupe), None)?;
    Ok(EffectResult::Delivered)
}
