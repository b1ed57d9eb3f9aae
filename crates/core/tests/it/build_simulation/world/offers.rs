//! Runs of tasks with pull requests of their own: they offer a commit, and take it back when somebody
//! comments on it.

use super::{World, name};
use drive_core::ids::{CommitSha, RunId, TaskId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{Ask, ChildState, OutcomeStatus};

/// What such a run did last.
#[derive(Clone, Default)]
pub(super) struct Offer {
    /// The commit that it offers.
    pub(super) head: Option<CommitSha>,
    /// Its newest commit.
    made: Option<CommitSha>,
    /// The commit that landed.
    landed: Option<CommitSha>,
}

impl World {
    /// It works, waits, hears somebody, or ends.
    pub(super) fn offer(&mut self, child: &RunId, task: TaskId, base: &CommitSha) {
        let mut offer = self.offers.get(child).cloned().unwrap_or_default();
        let ended = |status, failure| ChildState::Ended { status, failure };
        if self.rng.percent(5) {
            self.children.remove(child);
            offer.head = None;
            self.offers.insert(child.clone(), offer.clone());
            // Somebody closes its pull request, nobody comes, or the work fails.
            let (status, kind) = match self.rng.below(3) {
                0 => (OutcomeStatus::Cancelled, Kind::PullRequestClosed),
                1 => (OutcomeStatus::TimedOut, Kind::Inactive),
                _ => (OutcomeStatus::Failed, Kind::NotApproved),
            };
            let state = ended(status, Some(Problem::new(kind, "it ended")));
            return self.tell(child, state, offer.made);
        }
        let is_over = offer.landed.is_some() && offer.landed == offer.made;
        if is_over && self.rng.percent(80) {
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
        if let (Some(made), None) = (&made, &offer.head) {
            self.refused.insert(made.clone());
        }
        self.offers.insert(child.clone(), offer);
        self.tell(child, ChildState::Working, made);
    }

    /// What its parent asks of such a run.
    pub(super) fn asked(&mut self, child: &RunId, ask: &Ask) {
        let Some(offer) = self.offers.get_mut(child) else {
            return;
        };
        match ask {
            Ask::Landed { head } => offer.landed = Some(head.clone()),
            Ask::Mend { head, .. } if offer.head.as_ref() == Some(head) => offer.head = None,
            _ => {}
        }
    }
}
