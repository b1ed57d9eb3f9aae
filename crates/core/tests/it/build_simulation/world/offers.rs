//! Runs of tasks with their own pull requests: they offer a commit, and withdraw it when a person
//! comments on it.

use super::{World, name};
use drive_core::ids::{CommitSha, RunId, TaskId};
use drive_core::problem::{Kind, Problem};
use drive_core::run::{self, Ask, ChildState, HeldTask, OutcomeStatus};

/// The last actions of such a run.
#[derive(Clone, Default)]
pub(super) struct Offer {
    /// The offered commit.
    pub(super) head: Option<CommitSha>,
    /// Its newest commit.
    made: Option<CommitSha>,
    /// The commit that landed.
    landed: Option<CommitSha>,
}

impl World {
    /// Lets the run work, wait, handle a comment, or end.
    pub(super) fn offer(&mut self, child: &RunId, task: TaskId, base: &CommitSha) {
        let mut offer = self.offers.get(child).cloned().unwrap_or_default();
        let ended = |status, failure| ChildState::Ended { status, failure };
        if self.rng.percent(5) {
            self.children.remove(child);
            offer.head = None;
            self.offers.insert(child.clone(), offer.clone());
            // A person closes its pull request, nobody reacts, or the work fails.
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
            // A person comments.
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

    /// Asserts that a landing names every pull request from which its commits come, so that each is read.
    pub(super) fn require_read(&self, commit: &CommitSha, from: &CommitSha, offers: &[run::Offer]) {
        let (new, old) = (&self.contents[commit], &self.contents[from]);
        for (child, offer) in &self.offers {
            let (Some((task, _)), Some(head)) = (self.children.get(child), &offer.head) else {
                continue;
            };
            let is_new = |one: &(TaskId, u64)| one.0 == *task && !old.contains(one);
            let is_its = self.contents[head]
                .iter()
                .any(|one| is_new(one) && new.contains(one));
            let is_read = offers
                .iter()
                .any(|one| one.run == *child && one.head == *head);
            assert!(is_read || !is_its, "{child} lands unread");
        }
    }

    /// A person comments right before a landing, so the task waits until its run has answered.
    pub(super) fn somebody_objects(&mut self, offers: &[run::Offer]) -> Option<HeldTask> {
        let live = offers
            .iter()
            .filter(|one| self.children.contains_key(&one.run));
        let one = live.clone().next()?.clone();
        if !self.rng.percent(10) {
            return None;
        }
        self.refused.insert(one.head.clone());
        Some(HeldTask {
            task: one.task,
            head: one.head,
            why: "1 unread comment".to_owned(),
        })
    }

    /// Handles a request of the parent to such a run.
    pub(super) fn asked(&mut self, child: &RunId, ask: &Ask) {
        let Some(offer) = self.offers.get_mut(child) else {
            return;
        };
        match ask {
            Ask::Landed { head } => offer.landed = Some(head.clone()),
            Ask::Mend { head, .. } | Ask::Hear { head } if offer.head.as_ref() == Some(head) => {
                offer.head = None
            }
            _ => {}
        }
    }
}
