//! Webhook hints that another process received.

use super::Dispatch;
use drive_core::run::{Event, Timer};

impl Dispatch<'_> {
    /// Reads webhook hints.
    pub(super) fn hear(&mut self) {
        let Some(hints) = self.executor.hints else {
            return;
        };
        // A hint that is not heard costs time, never a comment.
        let heard = hints.log.newer_than(self.heard, hints.repository);
        for hint in heard.unwrap_or_default() {
            self.heard = self.heard.max(hint.number);
            let flights = self.flights.iter();
            let looking = flights.filter(|(_, flight)| flight.pr == Some(hint.nudge.pr));
            let looking = looking.map(|(id, _)| (id.clone(), hint.number));
            self.hinted.extend(looking);
        }
    }

    /// A hint triggers a poll before its timer. A poll under way may have read too early: its run is
    /// woken once it waits for the next one.
    pub(super) fn follow_hints(&mut self) {
        let mut words = Vec::new();
        for (id, number) in std::mem::take(&mut self.hinted) {
            let timers = self.flights.get(&id).map(|flight| &flight.timers);
            match timers.map(|timers| timers.contains_key(&Timer::Poll)) {
                Some(true) => {
                    let timer = Timer::Poll;
                    words.extend(self.word(&id, Event::Woken { timer }, format!("hint/{number}")));
                }
                Some(false) => drop(self.hinted.insert(id, number)),
                None => {}
            }
        }
        self.tell(words);
    }
}
