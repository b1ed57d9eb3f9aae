//! Notifies a person with the program of their settings.

use super::World;
use crate::cancel::{CancelToken, Urgency};
use crate::executor::Task;
use drive_core::problem::Problem;
use drive_core::run::{EffectResult, Note, Notice};

/// The number of the note that the program is about to be started.
const BEGUN: u32 = 1;

impl World<'_> {
    /// Sends a notice at most once: the journal records the start of the program before it starts.
    /// An owner that was killed in between may have sent the notice, so its successor does not.
    pub(super) fn notify(&self, task: &Task<'_>, notice: &Notice) -> Result<EffectResult, Problem> {
        let open = task.run.notices.get(&task.claimed.key);
        let (Some(notifier), false) = (self.notifier, open.is_some_and(|open| open.begun)) else {
            return Ok(EffectResult::Notified);
        };
        task.note(BEGUN, Note::Launched { argv: Vec::new() })?;
        // A stopping run still finishes a notice it began; only a second stop request interrupts it.
        let cancel = CancelToken::new();
        let inner = cancel.clone();
        let _linked = task.cancel.on_cancel(move |urgency| {
            if urgency == Urgency::Now {
                inner.cancel(urgency);
            }
        });
        notifier.notify(notice, &cancel)?;
        Ok(EffectResult::Notified)
    }
}
