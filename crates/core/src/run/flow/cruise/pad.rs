//! The scratchpad of a cruise: notes that landed tasks leave for all others.

use super::super::super::model::PadNote;
use crate::agent::answer::Handoff;
use crate::ids::TaskId;

/// How many notes the scratchpad holds.
const MOST_NOTES: usize = 100;

/// What a task that landed leaves for all others is kept, each thing once.
pub(super) fn note(pad: &mut Vec<PadNote>, task: &TaskId, handoff: Option<&Handoff>) {
    for text in handoff.iter().flat_map(|handoff| &handoff.notes) {
        if pad.iter().all(|one| one.text != *text) {
            pad.push(PadNote {
                task: task.clone(),
                text: text.clone(),
            });
        }
    }
    let over = pad.len().saturating_sub(MOST_NOTES);
    pad.drain(..over);
}
