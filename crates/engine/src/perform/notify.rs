//! Tells a person something, by the program of their settings.

use super::World;
use crate::cancel::{CancelToken, Urgency};
use crate::executor::Task;
use drive_core::problem::Problem;
use drive_core::run::{EffectResult, Note, Notice};

/// The number of the note that the program is about to be started.
const BEGUN: u32 = 1;

impl World<'_> {
    /// At most once: the journal knows that the program is started before it is. An owner that was
    /// killed in between may have told the person, so its successor does not.
    pub(super) fn notify(&self, task: &Task<'_>, notice: &Notice) -> Result<EffectResult, Problem> {
        let open = task.run.notices.get(&task.claimed.key);
        let (Some(notifier), false) = (self.notifier, open.is_some_and(|open| open.begun)) else {
            return Ok(EffectResult::Notified);
        };
        task.note(BEGUN, Note::Launched { argv: Vec::new() })?;
        // A run that stops still tells what it began to tell; only a second request cuts that short.
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
