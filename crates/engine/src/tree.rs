//! Delivers messages between parents and children to the other run's journal.
//!
//! Every attempt to deliver a message uses the same key, so a crash between the delivery and its
//! result repeats nothing.

use crate::journal::Journal;
use drive_core::ids::{DedupeKey, EffectKey, RunId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{EffectResult, Event, RunMessage};
use std::thread::sleep;
use std::time::Duration;

/// How often a delivery is tried, and the pause between two tries. If the journal is unavailable
/// for longer, the failure cannot be stored either, and the next owner delivers.
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
            // A report must not create a run whose journal is gone.
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
        // A parent that gets no report waits forever, so the delivery is retried if the journal is
        // busy or the disk is full for a moment.
        tries += 1;
        if tries >= MOST_TRIES || problem.kind == Kind::IllegalEvent {
            return Err(problem);
        }
        sleep(PAUSE);
    }
}
