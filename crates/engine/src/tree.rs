//! Delivers messages between parents and children to the other run's journal.
//!
//! Every message has a key that is the same for each attempt, so a crash after the delivery and before
//! its result repeats nothing.

use crate::journal::Journal;
use drive_core::ids::{DedupeKey, EffectKey, RunId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{EffectResult, Event, RunMessage};
use std::thread::sleep;
use std::time::Duration;

/// How often a delivery is tried, and the pause between two tries. A longer outage of the journal keeps
/// the failure out of it as well: then the next owner delivers.
const MOST_TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_millis(100);

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
    let dedupe = DedupeKey::new(dedupe);
    let mut tries = 0;
    loop {
        let problem = match journal.deliver(to, &event, &dedupe, None) {
            Ok(_) => return Ok(EffectResult::Delivered),
            Err(problem) => problem,
        };
        // A parent that is never told waits for ever, so a journal that is busy or a disk that is full
        // for a moment is tried again.
        tries += 1;
        if tries >= MOST_TRIES || problem.kind == Kind::IllegalEvent {
            return Err(problem);
        }
        sleep(PAUSE);
    }
}
