//! A task with its own pull request: the pull request stays open and comments are taken up until
//! the cruise landed the task.

use super::super::super::model::{
    ClosingPost, DoneWhen, ForgeAct, Landable, OutcomeStatus, PhaseEnd, PostKey, Reading, Remark,
    ReviewOf,
};
use super::super::kit::no_commit;
use super::super::public_text::public;
use super::PhaseFlow;
use super::ending::post;
use super::texts::landed_comment;
use crate::ids::CommitSha;
use crate::review::LastWord;

/// The author of findings from the verification of several tasks.
const TRAIN: &str = "verification";

impl PhaseFlow<'_> {
    /// Waits for the task to land: every review is done, and no work is left.
    pub(super) fn wait_to_land(&mut self) {
        let head = self.head();
        if head.is_some() && self.state.landed == head {
            if self.state.injected.is_empty() && !self.hear_first() {
                self.finish_landed();
            }
            return;
        }
        let is_offered = |offered: &CommitSha| Some(offered) == head.as_ref();
        match &self.state.landable {
            Landable::Ready { head } if is_offered(head) => {
                if !self.may_land(head) {
                    let head = head.clone();
                    self.state.landable = Landable::Unapproved { head };
                }
            }
            // The parent already knows that a person's approval is missing.
            Landable::Unapproved { head } if is_offered(head) && !self.may_land(head) => {}
            Landable::Ready { .. } | Landable::Unapproved { .. } | Landable::NotYet => {
                if self.review_again() {
                    return self.proceed();
                }
                if !self.hear_first() && !self.wait_for_checks() && !self.check_base() {
                    self.offer_to_land();
                }
            }
        }
    }

    /// Whether nobody objects to the commit, and a person approved it if that is required.
    fn may_land(&self, head: &CommitSha) -> bool {
        let needs_person = matches!(self.terms.done(), DoneWhen::Landed { approve: true });
        self.state.held_back().is_none() && (!needs_person || self.is_approved_by_person(head))
    }

    fn is_approved_by_person(&self, head: &CommitSha) -> bool {
        let given = &self.state.watch;
        let mut given = given.approvals.iter().chain(&given.granted);
        given.any(|one| one.head == *head)
    }

    /// Reports to the parent whether the reviewed commit can land or a person must decide.
    pub(super) fn offer_to_land(&mut self) {
        let Some(head) = self.head() else {
            return self.fail(no_commit());
        };
        let is_approved = self.is_approved_by_person(&head);
        if self.last_word() != LastWord::Approved && !is_approved {
            return self.finish_reviewed();
        }
        if self.failed_checks().is_some() {
            return self.finish_checked();
        }
        self.state.landable = if self.may_land(&head) {
            Landable::Ready { head }
        } else {
            self.say_held(&head);
            Landable::Unapproved { head }
        };
        self.state.watch.backoff.reset();
    }

    /// Posts on the pull request what prevents the commit from landing.
    fn say_held(&mut self, head: &CommitSha) {
        let Some(why) = self.state.held_back() else {
            return;
        };
        let by: Vec<&str> = self
            .state
            .watch
            .objections
            .iter()
            .map(|one| one.by.as_str())
            .collect();
        let key = if by.is_empty() {
            PostKey::Aside(format!("held/{head}"))
        } else {
            PostKey::Objection(format!("held/{head}/{}", by.join("/")))
        };
        let why = public(&why, self.run);
        let said = format!(
            "{} does not land yet: {why}. It lands once that is settled.",
            head.short()
        );
        self.say(key, said);
    }

    /// Handles an objection that came right before the commit landed: it is offered again after
    /// everything was read and there are no more objections.
    pub(super) fn hear_again(&mut self, head: &CommitSha) {
        if self.head().as_ref() == Some(head) {
            self.state.landable = Landable::NotYet;
        }
        self.state.watch.last_reading = None;
        self.state.watch.wants = Reading::Whole;
        self.state.watch.fresh = false;
        self.active();
        self.go_on();
    }

    /// Turns the reason why the commit cannot land into a finding for a fixer, and posts it.
    pub(super) fn mend(&mut self, head: &CommitSha, why: String) {
        if self.head().as_ref() != Some(head) {
            // The commit is outdated; the next one is judged by itself.
            self.state.landable = Landable::NotYet;
            return self.go_on();
        }
        if self.state.landable == Landable::NotYet {
            // A fixer is already working on it.
            return;
        }
        let first = why.lines().next().unwrap_or_default();
        let said = format!("{} does not land yet. {first}", head.short());
        self.say(PostKey::Aside(format!("train/{head}")), said);
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

    /// Ends the phase: its commits are on the branch of the cruise.
    pub(super) fn finish_landed(&mut self) {
        self.state.end = Some(PhaseEnd::Merged);
        let body = landed_comment(self.state.landed.as_ref(), &self.state.ledger);
        let mut posts: Vec<ClosingPost> = self.last_texts().into_iter().map(post).collect();
        posts.push(ClosingPost {
            act: ForgeAct::PostComment { body },
            key: Some(PostKey::Step("landed".to_owned())),
        });
        self.close_with(posts, OutcomeStatus::Succeeded, None);
    }

    /// Whether only the parent can advance the phase.
    pub(super) fn waits_for_parent(&self) -> bool {
        match self.terms.done() {
            DoneWhen::Asked => true,
            DoneWhen::Landed { .. } => matches!(self.state.landable, Landable::Ready { .. }),
            DoneWhen::Reviewed { .. } | DoneWhen::Approved(_) | DoneWhen::Merged { .. } => false,
        }
    }
}
