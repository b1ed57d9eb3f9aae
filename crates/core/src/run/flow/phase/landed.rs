//! A task with a pull request of its own: it stays open and people are heard until the cruise landed it.

use super::super::super::model::{
    ClosingPost, DoneWhen, ForgeAct, Landable, OutcomeStatus, PhaseEnd, Remark, ReviewOf,
};
use super::super::kit::no_commit;
use super::PhaseFlow;
use super::ending::post;
use crate::ids::CommitSha;
use crate::review::LastWord;

/// The author of what a verification of several tasks found.
const TRAIN: &str = "verification";

impl PhaseFlow<'_> {
    /// Every review is through, and nothing is left to fix.
    pub(super) fn wait_to_land(&mut self) {
        if self.state.concludes {
            if self.state.injected.is_empty() && !self.hear_first() {
                self.finish_landed();
            }
            return;
        }
        let head = self.head();
        if matches!(&self.state.landable, Landable::Ready { head: ready } if Some(ready) == head.as_ref())
            && self.objection().is_none()
        {
            return;
        }
        if self.review_again() {
            return self.proceed();
        }
        if self.hear_first() || self.wait_for_checks() {
            return;
        }
        // Its parent was told that only a person is missing.
        let is_told = matches!(&self.state.landable, Landable::Unapproved { head: told } if Some(told) == head.as_ref());
        if is_told || !self.check_base() {
            self.offer_to_land();
        }
    }

    /// Tells the parent how the reviewed commit stands: it can land, or a person must approve it.
    pub(super) fn offer_to_land(&mut self) {
        let Some(head) = self.head() else {
            return self.fail(no_commit());
        };
        let given = &self.state.watch;
        let mut given = given.approvals.iter().chain(&given.granted);
        let is_approved = given.any(|one| one.head == head);
        let is_free = self.objection().is_none() && self.state.ledger.questions().next().is_none();
        let needs_person = matches!(self.terms.done, DoneWhen::Landed { approve: true });
        let word = self.last_word();
        if word != LastWord::Approved && !is_approved {
            return self.finish_reviewed();
        }
        self.state.landable = if is_free && (is_approved || !needs_person) {
            Landable::Ready { head }
        } else {
            if !is_free {
                self.say_objections();
            }
            Landable::Unapproved { head }
        };
        self.state.watch.backoff.reset();
    }

    /// What keeps the commit from landing is a fixer's work, and people can read it.
    pub(super) fn mend(&mut self, head: &CommitSha, why: String) {
        if self.head().as_ref() != Some(head) {
            // The next commit is judged by itself.
            self.state.landable = Landable::NotYet;
            return self.go_on();
        }
        let first = why.lines().next().unwrap_or_default();
        let said = format!("{} does not land yet. {first}", head.short());
        self.say(&format!("train/{head}"), said);
        self.state.landable = Landable::NotYet;
        self.state.findings.push(Remark {
            author: TRAIN.to_owned(),
            review: ReviewOf {
                domain: None,
                round: 0,
            },
            file: None,
            line: None,
            body: why,
        });
        self.active();
        self.go_on();
    }

    /// Its commits are on the branch of the cruise.
    pub(super) fn finish_landed(&mut self) {
        let Some(head) = self.head() else {
            return self.fail(no_commit());
        };
        self.state.end = Some(PhaseEnd::Merged);
        let mut posts: Vec<ClosingPost> = self.last_texts().into_iter().map(post).collect();
        posts.push(ClosingPost {
            act: ForgeAct::PostComment {
                body: format!(
                    "{} landed on the branch of the cruise, as part of a tree that passed \
                     verification. To change it now, comment on the pull request of the plan.",
                    head.short()
                ),
            },
            key: Some(format!("landed/{head}")),
        });
        self.close_with(posts, OutcomeStatus::Succeeded, None);
    }

    /// Whether only its parent can bring the phase forward.
    pub(super) fn waits_for_parent(&self) -> bool {
        match self.terms.done {
            DoneWhen::Asked => true,
            DoneWhen::Landed { .. } => matches!(self.state.landable, Landable::Ready { .. }),
            DoneWhen::Reviewed { .. } | DoneWhen::Approved { .. } | DoneWhen::Merged { .. } => {
                false
            }
        }
    }
}
