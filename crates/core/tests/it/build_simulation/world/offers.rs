//! Runs of tasks with pull requests of their own: they offer a commit, and take it back when somebody
//! comments on it.

use super::{World, name};
use crate::common::problem;
use drive_core::ids::{CommitSha, RunId, TaskId};
use drive_core::run::{Ask, ChildState, OutcomeStatus};

/// What such a run did last.
#[derive(Clone, Default)]
pub(super) struct Offer {
    /// The commit that it offers.
    pub(super) head: Option<CommitSha>,
    /// Its newest commit.
    made: Option<CommitSha>,
    is_concluded: bool,
}

impl World {
    /// It works, waits, hears somebody, or ends.
    pub(super) fn offer(&mut self, child: &RunId, task: TaskId, base: &CommitSha) {
        let mut offer = self.offers.get(child).cloned().unwrap_or_default();
        let ended = |status, failure| ChildState::Ended { status, failure };
        if self.rng.percent(5) {
            self.children.remove(child);
            let state = ended(OutcomeStatus::Failed, Some(problem()));
            return self.tell(child, state, offer.made);
        }
        if offer.is_concluded && self.rng.percent(80) {
            self.children.remove(child);
            let state = ended(OutcomeStatus::Succeeded, None);
            return self.tell(child, state, offer.made);
        }
        if offer.head.is_some() {
            if self.rng.percent(90) {
                return;
            }
            // Somebody says something.
            offer.head = None;
        } else {
            self.commits += 1;
            let from = offer.made.clone().unwrap_or_else(|| base.clone());
            let mut contents = self.contents[&from].clone();
            contents.retain(|(one, _)| *one != task || from == *base);
            contents.insert((task, self.commits));
            let head = CommitSha::new(name(&format!("head {}", self.commits)));
            self.contents.insert(head.clone(), contents);
            offer.head = Some(head.clone());
            offer.made = Some(head);
        }
        let made = offer.made.clone();
        self.offers.insert(child.clone(), offer);
        self.tell(child, ChildState::Working, made);
    }

    /// What its parent asks of such a run.
    pub(super) fn asked(&mut self, child: &RunId, ask: &Ask) {
        let Some(offer) = self.offers.get_mut(child) else {
            return;
        };
        match ask {
            Ask::Conclude => offer.is_concluded = true,
            Ask::Mend { .. } => offer.head = None,
            _ => {}
        }
    }
}
