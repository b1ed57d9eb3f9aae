//! The merge queue of a forge: what it takes out again is noticed, and not waited for.

use super::super::super::model::{Left, LeftBy, PostKey};
use super::PhaseFlow;

impl PhaseFlow<'_> {
    /// The forge took the commit out of its merge queue without merging it: its checks failed there, or a
    /// person took it out. Drive puts nothing back: it does not know why.
    pub(super) fn left_queue(&mut self) {
        let Some(head) = self.state.whole.queued.take() else {
            return;
        };
        let short = head.short();
        let why = format!("the merge queue took {short} out without merging it");
        let said = format!(
            "Not merged: {why}. Read the checks of the queue, then add it again or close this pull request."
        );
        self.say(PostKey::Aside(format!("dequeued/{head}")), said);
        self.state.whole.left = Some(Left {
            why,
            by: LeftBy::Decision,
        });
        self.active();
    }
}
