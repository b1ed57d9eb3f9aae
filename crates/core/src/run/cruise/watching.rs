//! The watch: looks at the pull request with growing pauses, and is set back by anything new.

use super::super::effect::{Effect, EffectResult};
use super::super::forge_act::{ForgeAct, ForgeAnswer, Seen};
use super::super::outcome::OutcomeStatus;
use super::super::request::CruiseTerms;
use super::{Flight, INACTIVITY, POLL, Word};
use crate::Problem;
use crate::forge::{CommentRef, PrState};
use crate::phase::Backoff;
use crate::time::{Timestamp, after};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

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
    /// Whether it was looked at since the last agent ended.
    pub fresh: bool,
    /// Whether a look was asked for while one was under way.
    pub again: bool,
    /// Comments that are to get their 👀.
    pub eyes: VecDeque<CommentRef>,
    /// Approvals, each with the head it was given for.
    pub approvals: Vec<Approved>,
    /// Why the last look failed.
    pub trouble: Option<String>,
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
            again: false,
            eyes: VecDeque::new(),
            approvals: Vec::new(),
            trouble: None,
        }
    }

    /// Remembers an approval. Says whether it is new.
    pub(super) fn approve(&mut self, approved: Approved) -> bool {
        if self.approvals.contains(&approved) || self.approvals.len() >= MOST_APPROVALS {
            return false;
        }
        self.approvals.push(approved);
        true
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
        self.on_forge(ForgeAct::Look { since }, None);
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
        }
        self.cruise.watch.fresh = true;
        let pause = self.cruise.watch.backoff.next_wait();
        self.run
            .timers
            .insert(POLL.to_owned(), after(self.now, pause));
        if std::mem::take(&mut self.cruise.watch.again) {
            self.look();
        }
        self.post_injected();
        self.react_next();
        self.go_on();
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
        for approved in seen.approvals {
            news |= self.cruise.watch.approve(approved);
        }
        for one in seen.ignored {
            if !self.cruise.record.ignored.contains(&one) {
                self.cruise.record.ignored.push(one);
            }
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
                .hint("its branch stays; reopen it and run `drive cruise run` again to go on");
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

    /// Nothing happened for too long. An agent at work is not silence.
    pub(super) fn silence(&mut self) {
        let works = self
            .run
            .pending
            .values()
            .any(|effect| matches!(effect, Effect::RunAgent { .. }));
        if works {
            let end = after(self.now, self.terms.inactivity_timeout);
            self.run.timers.insert(INACTIVITY.to_owned(), end);
            return;
        }
        let body = super::texts::timed_out(self.terms.inactivity_timeout);
        let problem = Problem::work("inactive", body.clone()).hint(
            "the pull request is still open; `inactivity_timeout` in `[cruise]` gives more time",
        );
        let word = Word {
            act: ForgeAct::PostComment { body },
            proof: Some("timeout".to_owned()),
        };
        self.end_with(vec![word], OutcomeStatus::TimedOut, Some(problem));
    }
}
