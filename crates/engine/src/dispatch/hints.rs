//! Hints that something happened on a pull request: its run polls before its timer. A lost hint
//! costs time, never a comment.

use super::Dispatch;
use drive_core::ids::{PrNumber, RunId};
use drive_core::run::{Event, Timer};

impl Dispatch<'_> {
    /// Reads webhook hints that another process received, and pull requests on which polls for
    /// other runs found something.
    pub(super) fn hear(&mut self) {
        for pr in self.executor.performer.touched() {
            self.wakes += 1;
            self.hint(pr, format!("touched/{}", self.wakes));
        }
        let Some(hints) = self.executor.hints else {
            return;
        };
        let heard = hints.log.newer_than(self.heard, hints.repository);
        for hint in heard.unwrap_or_default() {
            self.heard = self.heard.max(hint.number);
            self.hint(hint.nudge.pr, format!("hint/{}", hint.number));
        }
    }

    /// Marks the runs that watch a pull request, so that they poll it.
    fn hint(&mut self, pr: PrNumber, name: String) {
        let flights = self.flights.iter();
        let watching = flights.filter(|(_, flight)| flight.pr == Some(pr));
        let watching: Vec<(RunId, String)> = watching
            .map(|(id, flight)| (id.clone(), format!("{name}/{}", flight.lease.token().0)))
            .collect();
        self.hinted.extend(watching);
    }

    /// Triggers polls for hints before their timers. A running poll may have started too early, so
    /// its run is woken once it waits for the next one.
    pub(super) fn follow_hints(&mut self) {
        let mut words = Vec::new();
        for (id, name) in std::mem::take(&mut self.hinted) {
            let timers = self.flights.get(&id).map(|flight| &flight.timers);
            match timers.map(|timers| timers.contains_key(&Timer::Poll)) {
                Some(true) => {
                    let timer = Timer::Poll;
                    words.extend(self.word(&id, Event::Woken { timer }, name));
                }
                Some(false) => drop(self.hinted.insert(id, name)),
                None => {}
            }
        }
        self.tell(words);
    }
}
