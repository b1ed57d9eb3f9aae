//! Hints that something happened on a pull request: its run polls before its timer. A hint that is not
//! heard costs time, never a comment.

use super::Dispatch;
use drive_core::ids::{PrNumber, RunId};
use drive_core::run::{Event, Timer};

impl Dispatch<'_> {
    /// Takes up webhooks, and what polls for other runs have shown.
    pub(super) fn hear(&mut self) {
        self.hear_webhooks();
        self.hear_polls();
    }

    fn hear_webhooks(&mut self) {
        let Some(hints) = self.executor.hints else {
            return;
        };
        let heard = hints.log.newer_than(self.heard, hints.repository);
        let mut words = Vec::new();
        for hint in heard.unwrap_or_default() {
            self.heard = self.heard.max(hint.number);
            for id in self.watching(hint.nudge.pr) {
                let timer = Timer::Poll;
                let dedupe = format!("hint/{}", hint.number);
                words.extend(self.word(&id, Event::Woken { timer }, dedupe));
            }
        }
        self.tell(words);
    }

    fn hear_polls(&mut self) {
        let mut words = Vec::new();
        for pr in self.executor.performer.touched() {
            for id in self.watching(pr) {
                let owner = self.flights.get(&id).map(|flight| flight.lease.token().0);
                self.wakes += 1;
                let dedupe = format!("touched/{}/{}", owner.unwrap_or_default(), self.wakes);
                let timer = Timer::Poll;
                words.extend(self.word(&id, Event::Woken { timer }, dedupe));
            }
        }
        self.tell(words);
    }

    /// The runs that watch a pull request.
    fn watching(&self, pr: PrNumber) -> Vec<RunId> {
        let watching = self.flights.iter();
        let watching = watching.filter(|(_, flight)| flight.pr == Some(pr));
        watching.map(|(id, _)| id.clone()).collect()
    }
}
