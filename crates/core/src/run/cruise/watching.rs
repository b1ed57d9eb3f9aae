//! The watch: looks at the pull request with growing pauses, and is set back by anything new.

use super::super::effect::{Effect, EffectResult};
use super::super::forge_act::{ForgeAct, ForgeAnswer, Seen};
use super::super::outcome::OutcomeStatus;
use super::super::request::CruiseTerms;
use super::ending::Ends;
use super::{Flight, INACTIVITY, POLL, Word};
use crate::Problem;
use crate::forge::{CommentRef, PrState};
use crate::phase::Backoff;
use crate::review::Move;
use crate::time::{Timestamp, after};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// How often a forge that cannot be asked is asked before silence ends the phase all the same: for
/// some hours.
const LAST_LOOKS: u32 = 50;
/// How many approvals are remembered.
const MOST_APPROVALS: usize = 100;

/// What the watch knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Watch {
    /// The pause before the next look.
    pub backoff: Backoff,
    /// When something last happened.
    pub last_activity: Timestamp,
    /// Up to where the pull request was read.
    pub cursor: Option<Timestamp>,
    /// Whether it was looked at since the worker ended what it did last.
    pub fresh: bool,
    /// Set once nothing has happened for too long: one more look without news ends the phase. So
    /// many of these looks have failed.
    #[serde(default)]
    pub closing: Option<u32>,
    /// Whether a look was asked for while one was under way.
    pub again: bool,
    /// Comments that are to get their 👀.
    pub eyes: VecDeque<CommentRef>,
    /// Approvals that stood on the forge when it was last asked, each with the head it was given for.
    pub approvals: Vec<Approved>,
    /// Approvals from the command line, each with the head it was given for.
    #[serde(default)]
    pub granted: Vec<Approved>,
    /// Why the last look failed.
    pub trouble: Option<String>,
    /// The commit that the pull request shows, where it is not the one that was pushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<String>,
    /// The last of these that was looked into. A forge that goes on showing it tells nothing new,
    /// until something else was pushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caught: Option<String>,
}

/// One approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approved {
    /// Who gave it.
    pub by: String,
    /// The commit it was given for.
    pub head: String,
}

impl Watch {
    pub(super) fn new(terms: &CruiseTerms, now: Timestamp) -> Self {
        Self {
            backoff: Backoff::new(terms.poll_initial, terms.poll_max),
            last_activity: now,
            cursor: None,
            fresh: true,
            closing: None,
            again: false,
            eyes: VecDeque::new(),
            approvals: Vec::new(),
            granted: Vec::new(),
            trouble: None,
            moved: None,
            caught: None,
        }
    }

    /// Remembers an approval from the command line; the newest are enough.
    pub(super) fn grant(&mut self, approved: Approved) {
        if !self.granted.contains(&approved) {
            self.granted.push(approved);
        }
        let too_many = self.granted.len().saturating_sub(MOST_APPROVALS);
        self.granted.drain(..too_many);
    }

    /// These approvals stand on the forge now: what was there and is not any more was taken back.
    /// Says whether one is new.
    fn stand(&mut self, approvals: Vec<Approved>) -> bool {
        let is_new = approvals.iter().any(|one| !self.approvals.contains(one));
        self.approvals = approvals;
        is_new
    }
}

impl Flight<'_> {
    /// Looks at the pull request now. One look at a time.
    pub(super) fn look(&mut self) {
        if self.is_looking() {
            self.cruise.watch.again = true;
            return;
        }
        self.run.timers.remove(POLL);
        let since = self.cruise.watch.cursor;
        // One that counts later than it was seen may have been taken back meanwhile.
        let approvals = !self.cruise.watch.approvals.is_empty();
        self.on_forge(ForgeAct::Look { since, approvals }, None);
    }

    fn is_looking(&self) -> bool {
        self.run.pending.values().any(|effect| {
            matches!(
                effect,
                Effect::OnForge {
                    act: ForgeAct::Look { .. },
                    ..
                }
            )
        })
    }

    pub(super) fn looked(&mut self, result: EffectResult) {
        let mut failed = false;
        if let EffectResult::OnForge {
            answer: ForgeAnswer::Looked { seen },
        } = result
        {
            self.cruise.watch.trouble = None;
            if self.saw(*seen) {
                return;
            }
        } else if let EffectResult::Failed { problem } = result {
            // A forge that cannot be asked now is asked again.
            self.cruise.watch.trouble = Some(problem.to_string());
            failed = true;
        }
        let again = std::mem::take(&mut self.cruise.watch.again);
        if !failed && again {
            // What was asked for meanwhile must not be judged by what was seen before.
            self.look();
        } else if self.is_over(failed) {
            return self.time_out();
        } else {
            let pause = self.cruise.watch.backoff.next_wait();
            let at = after(self.now, pause);
            self.run.timers.insert(POLL.to_owned(), at);
        }
        if failed {
            return;
        }
        self.post_injected();
        self.react_next();
        self.describe_again();
        if !again {
            self.cruise.watch.fresh = true;
            self.go_on();
        }
    }

    /// Takes up what was seen. Says whether the phase is over.
    fn saw(&mut self, seen: Seen) -> bool {
        self.cruise.watch.cursor = seen.next;
        let mut news = false;
        for comment in &seen.comments {
            if self.cruise.ledger.see(comment, self.now) {
                self.cruise.watch.eyes.push_back(comment.key.comment());
                news = true;
            }
        }
        for proof in &seen.answered {
            self.cruise.ledger.proven(proof);
        }
        if let Some(approvals) = seen.approvals {
            news |= self.cruise.watch.stand(approvals);
        }
        self.cruise.record.overheard(&seen.comments, seen.ignored);
        if let Some(head) = seen.head {
            let known = [&self.cruise.pushed, &self.cruise.watch.caught];
            let is_known = known.into_iter().any(|one| one.as_ref() == Some(&head));
            self.cruise.watch.moved = (!is_known).then_some(head);
        }
        if news {
            self.cruise.watch.backoff.reset();
            self.active();
        }
        match seen.state {
            Some(PrState::Merged) => self.leave(OutcomeStatus::Succeeded, None),
            Some(PrState::Closed) => {
                let problem = Problem::work(
                    "pullRequestClosed",
                    "the pull request was closed without a merge",
                )
                .hint(
                    "its commits are on its branch in this repository; a cruise that is over does \
                     not go on, even when the pull request is reopened: `drive cruise run` starts \
                     a new one",
                );
                self.leave(OutcomeStatus::Cancelled, Some(problem));
            }
            Some(PrState::Open) | None => return false,
        }
        true
    }

    /// Puts the next 👀, one at a time. It is a courtesy: failing costs nothing.
    pub(super) fn react_next(&mut self) {
        let is_busy = self.run.pending.values().any(|effect| {
            matches!(
                effect,
                Effect::OnForge {
                    act: ForgeAct::React { .. },
                    ..
                }
            )
        });
        if is_busy {
            return;
        }
        if let Some(comment) = self.cruise.watch.eyes.pop_front() {
            self.on_forge(ForgeAct::React { comment }, None);
        }
    }

    /// Nothing happened for too long. What the cruise does by itself is not silence, and somebody
    /// may have spoken since the last look.
    pub(super) fn silence(&mut self) {
        if self.is_at_work() {
            return self.wait_for_silence();
        }
        self.cruise.watch.closing = Some(0);
        self.look();
    }

    /// Whether the last look ends the phase.
    fn is_over(&mut self, failed: bool) -> bool {
        let Some(failures) = self.cruise.watch.closing else {
            return false;
        };
        if self.is_at_work() || (!failed && self.will_go_on()) {
            self.wait_for_silence();
            return false;
        }
        self.cruise.watch.closing = Some(failures + 1);
        !failed || failures + 1 >= LAST_LOOKS
    }

    /// Whether something is being done, or will be when a pause ends.
    fn is_at_work(&self) -> bool {
        let is_watch = |effect: &Effect| {
            matches!(
                effect,
                Effect::OnForge {
                    act: ForgeAct::Look { .. }
                        | ForgeAct::React { .. }
                        | ForgeAct::UpdateBody { .. },
                    ..
                }
            )
        };
        let is_held = self.cruise.hold.is_some() && self.has_work();
        // What goes on failing is no work: else a try at the wrong instant would win it another day.
        let is_failing = self.cruise.tries > 0;
        is_held || !(is_failing || self.run.pending.values().all(is_watch))
    }

    /// Whether the worker has something to do once it was looked.
    fn will_go_on(&self) -> bool {
        let is_free = self.cruise.retry.is_none() && self.cruise.limit.is_none();
        is_free && (self.has_work() || !matches!(self.cruise.next, Move::Done(_)))
    }

    /// From now on, silence is counted anew.
    pub(super) fn wait_for_silence(&mut self) {
        self.cruise.watch.closing = None;
        let end = after(self.now, self.terms.inactivity_timeout);
        self.run.timers.insert(INACTIVITY.to_owned(), end);
    }

    fn time_out(&mut self) {
        let body = super::texts::timed_out(self.terms.inactivity_timeout);
        let problem = Problem::work("inactive", body.clone()).hint(
            "the pull request is still open; `inactivity_timeout` in `[cruise]` gives more time",
        );
        let word = Word {
            act: ForgeAct::PostComment { body },
            proof: Some("timeout".to_owned()),
        };
        self.end_with(Ends {
            words: vec![word],
            status: OutcomeStatus::TimedOut,
            failure: Some(problem),
        });
    }
}
